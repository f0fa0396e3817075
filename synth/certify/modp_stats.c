// Meanings of reductions, lookups, softmax, cross entropy and norms. exp, log and rsqrt are keyed
// hashes of one element, 1/n is the field's, indices are integers.

#include "synth/certify/modp_model.h"

enum { EXP = 0x1001, LOG, RSTD, RRMS };

// Offsets of x by the rows of s (its first `lead` dims); the operand has nx such dims.
static int32_t *by_row(mp *m, const mp_part *s, int lead, const mp_part *x, int nx)
{
    if (nx < 0 || nx > x->rank) {
        mp_fail(m, "an operand has too few dims");
        return NULL;
    }
    return mp_align(m, s, lead, x, nx, NULL, NULL);
}

// Local entries of x's last dim by those of s's last dim.
static int32_t *by_entry(mp *m, const mp_part *s, const mp_part *x)
{
    mp_part a = {.rank = 1, .ix = {s->ix[s->rank - 1]}, .n = s->ix[s->rank - 1]->l};
    mp_part b = {.rank = 1, .ix = {x->ix[x->rank - 1]}, .n = x->ix[x->rank - 1]->l};
    return mp_align(m, &a, 1, &b, 1, NULL, NULL);
}

#define MUST(p, call)                                                                              \
    if (!((p) = (call))) return false

static int64_t last(const mp_part *x)
{
    return x->rank > 0 ? x->ix[x->rank - 1]->l : 1;
}

static bool sum_dims(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    int map[IR_MAX_RANK], k = 0;
    bool gone[IR_MAX_RANK] = {false}, keep = c->attr[1].i;
    for (int i = 0; i < c->attr[0].n; i++)
        gone[c->attr[0].v[i]] = true;
    for (int d = 0; d < x->rank; d++) {
        if (!gone[d] || keep) map[k++] = gone[d] ? -1 : d;
    }
    if (k != y->rank) return mp_fail(m, "sums over other dims");
    int32_t *at;
    MUST(at, mp_align(m, x, x->rank, y, y->rank, map, NULL));
    for (int64_t e = 0; e < x->n; e++)
        y->v[at[e]] = mp_add(y->v[at[e]], mp_get(x, e));
    return true;
}

static bool row_sums(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    int lead = x->rank - 1;
    int64_t w = last(x);
    int32_t *at, *b = NULL, *col = NULL;
    MUST(at, by_row(m, x, lead, y, y->rank));
    if (c->op == IR_OP_row_m2 || c->op == IR_OP_row_expsum)
        MUST(b, by_row(m, x, lead, &c->in[1], c->in[1].rank));
    if (c->op == IR_OP_row_dot) {
        MUST(b, by_row(m, x, lead, &c->in[1], c->in[1].rank - 1));
        MUST(col, by_entry(m, x, &c->in[1]));
    }
    for (int64_t e = 0; c->op == IR_OP_row_max && e < y->n; e++)
        y->v[e] = MP_LEAST;
    uint64_t over_n = mp_inverse(mp_int(x->ix[lead]->g));
    for (int64_t r = 0; r < mp_count(x, lead); r++) {
        uint64_t s = y->v[at[r]], t;
        for (int64_t i = 0; i < w; i++) {
            uint64_t v = mp_get(x, r * w + i);
            switch ((int)c->op) {
            case IR_OP_row_sum:
                s = mp_add(s, v);
                break;
            case IR_OP_row_sq:
                s = mp_add(s, mp_mul(v, v));
                break;
            case IR_OP_row_max:
                s = mp_more(v, s) ? v : s;
                break;
            case IR_OP_row_m2:
                t = mp_sub(v, mp_mul(mp_get(&c->in[1], b[r]), over_n));
                s = mp_add(s, mp_mul(t, t));
                break;
            case IR_OP_row_expsum:
                s = mp_add(s, mp_hash(m, EXP, mp_sub(v, mp_get(&c->in[1], b[r]))));
                break;
            default:
                s = mp_add(s,
                           mp_mul(v, mp_get(&c->in[1], (int64_t)b[r] * last(&c->in[1]) + col[i])));
            }
        }
        y->v[at[r]] = s;
    }
    return true;
}

static bool sums_so_far(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    int64_t w = last(y);
    int32_t *at;
    MUST(at, by_row(m, y, y->rank - 1, x, x->rank - 1));
    if (last(x) != w) return mp_fail(m, "has rows of other lengths");
    for (int64_t r = 0; r < mp_count(y, y->rank - 1); r++) {
        uint64_t s = 0;
        for (int64_t k = 0; k < w; k++) {
            int64_t i = c->attr[0].i ? w - 1 - k : k;
            y->v[r * w + i] = s = mp_add(s, mp_get(x, at[r] * w + i));
        }
    }
    return true;
}

static bool softmaxes(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    int lead = y->rank - 1, wide = c->op == IR_OP_softmax_bwd || c->op == IR_OP_log_softmax_bwd;
    int32_t *a, *b, *s, *ca, *cb = NULL;
    MUST(a, by_row(m, y, lead, &c->in[0], c->in[0].rank - 1));
    MUST(ca, by_entry(m, y, &c->in[0]));
    MUST(b, by_row(m, y, lead, &c->in[1], c->in[1].rank - wide));
    if (wide) MUST(cb, by_entry(m, y, &c->in[1]));
    MUST(s, by_row(m, y, lead, &c->in[2], c->in[2].rank));
    for (int64_t r = 0; r < mp_count(y, lead); r++) {
        uint64_t z = mp_get(&c->in[2], s[r]), over = 0;
        if (c->op == IR_OP_softmax_apply) over = mp_inverse(z);
        if (c->op == IR_OP_log_softmax_apply) over = mp_hash(m, LOG, z);
        for (int64_t i = 0; i < last(y); i++) {
            uint64_t p = mp_get(&c->in[0], (int64_t)a[r] * last(&c->in[0]) + ca[i]);
            uint64_t q = mp_get(&c->in[1], wide ? (int64_t)b[r] * last(&c->in[1]) + cb[i] : b[r]);
            uint64_t v;
            if (c->op == IR_OP_softmax_apply)
                v = mp_mul(mp_hash(m, EXP, mp_sub(p, q)), over);
            else if (c->op == IR_OP_softmax_bwd)
                v = mp_mul(q, mp_sub(p, z));
            else if (c->op == IR_OP_log_softmax_apply)
                v = mp_sub(mp_sub(p, q), over);
            else
                v = mp_sub(p, mp_mul(mp_hash(m, EXP, q), z));
            y->v[r * last(y) + i] = v;
        }
    }
    return true;
}

// Local entry of dim d that an index means, -1 if it is not here.
static int64_t held(const mp_part *x, int d, uint64_t index)
{
    int64_t i = (int64_t)index;
    return i < 0 || i >= x->ix[d]->g ? -1 : x->ix[d]->of[i];
}

static bool lookups(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    const mp_part *x = &c->in[0], *ids = &c->in[1];
    int32_t *at, *from, *col;
    if (c->op == IR_OP_embedding) {
        MUST(at, by_row(m, y, y->rank - 1, ids, ids->rank));
        MUST(col, by_entry(m, y, x));
        for (int64_t r = 0; r < mp_count(y, y->rank - 1); r++) {
            int64_t v = held(x, 0, ids->v[at[r]]);
            for (int64_t i = 0; v >= 0 && i < last(y); i++)
                y->v[r * last(y) + i] = x->v[v * last(x) + col[i]];
        }
        return true;
    }
    if (c->op == IR_OP_embedding_bwd) {
        MUST(at, by_row(m, x, x->rank - 1, ids, ids->rank));
        MUST(col, by_entry(m, x, y));
        for (int64_t r = 0; r < mp_count(x, x->rank - 1); r++) {
            int64_t v = held(y, 0, ids->v[at[r]]);
            for (int64_t i = 0; v >= 0 && i < last(x); i++) {
                uint64_t *to = &y->v[v * last(y) + col[i]];
                *to = mp_add(*to, mp_get(x, r * last(x) + i));
            }
        }
        return true;
    }
    MUST(at, by_row(m, y, y->rank, ids, ids->rank)); // target_logit
    MUST(from, by_row(m, y, y->rank, x, x->rank - 1));
    for (int64_t r = 0; r < y->n; r++) {
        int64_t v = held(x, x->rank - 1, ids->v[at[r]]);
        bool none = v < 0 || (int64_t)ids->v[at[r]] == c->attr[0].i;
        y->v[r] = none ? 0 : x->v[from[r] * last(x) + v];
    }
    return true;
}

// Entries of a row by an index of the row: gather x, ids -> y; gather_bwd dy, ids -> dx.
static bool gathers(mp *m, const mp_call *c)
{
    bool back = c->op == IR_OP_gather_bwd;
    mp_part *y = &c->out[0];
    const mp_part *x = &c->in[0], *ids = &c->in[1], *table = back ? y : x, *row = back ? x : y;
    int lead = y->rank - 1;
    int64_t k = last(row);
    int32_t *from, *at, *col;
    MUST(from, by_row(m, y, lead, x, x->rank - 1));
    MUST(at, by_row(m, y, lead, ids, ids->rank - 1));
    MUST(col, by_entry(m, row, ids));
    for (int64_t r = 0; r < mp_count(y, lead); r++) {
        for (int64_t i = 0; i < k; i++) {
            int64_t v = held(table, table->rank - 1, ids->v[at[r] * last(ids) + col[i]]);
            if (v < 0) continue;
            if (!back) {
                y->v[r * k + i] = x->v[from[r] * last(x) + v];
                continue;
            }
            uint64_t *to = &y->v[r * last(y) + v];
            *to = mp_add(*to, mp_get(x, from[r] * k + i));
        }
    }
    return true;
}

static bool losses(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    const mp_part *in = c->in;
    int64_t ignore = c->op == IR_OP_sumsq ? 0 : c->attr[0].i;
    if (c->op == IR_OP_ce_bwd) {
        int32_t *x, *col, *at[5];
        int lead = y->rank - 1;
        MUST(x, by_row(m, y, lead, &in[0], in[0].rank - 1));
        MUST(col, by_entry(m, y, &in[0]));
        for (int i = 1; i < 5; i++)
            MUST(at[i], by_row(m, y, lead, &in[i], in[i].rank));
        for (int64_t r = 0; r < mp_count(y, lead); r++) {
            int64_t label = (int64_t)in[3].v[at[3][r]];
            uint64_t over = mp_inverse(mp_get(&in[2], at[2][r]));
            uint64_t dy = mp_get(&in[4], at[4][r]), max = mp_get(&in[1], at[1][r]);
            for (int64_t i = 0; label != ignore && i < last(y); i++) {
                uint64_t p = mp_get(&in[0], (int64_t)x[r] * last(&in[0]) + col[i]);
                uint64_t v = mp_mul(mp_hash(m, EXP, mp_sub(p, max)), over);
                if (y->ix[lead]->at[i] == label) v = mp_sub(v, 1);
                y->v[r * last(y) + i] = mp_mul(dy, v);
            }
        }
        return true;
    }
    const mp_part *s = c->op == IR_OP_nll_sum ? &in[3] : &in[0];
    int32_t *at[3] = {NULL};
    for (int i = 0; c->op == IR_OP_nll_sum && i < 3; i++)
        MUST(at[i], mp_align(m, s, s->rank, &in[i], in[i].rank, NULL, NULL));
    uint64_t sum = 0;
    for (int64_t e = 0; e < s->n; e++) {
        if (c->op == IR_OP_sumsq) {
            sum = mp_add(sum, mp_mul(mp_get(s, e), mp_get(s, e)));
            continue;
        }
        if ((int64_t)s->v[e] == ignore) continue;
        if (c->op == IR_OP_count) {
            sum = mp_add(sum, 1);
            continue;
        }
        uint64_t log = mp_hash(m, LOG, mp_get(&in[1], at[1][e]));
        sum = mp_add(sum, mp_sub(mp_add(mp_get(&in[0], at[0][e]), log), mp_get(&in[2], at[2][e])));
    }
    y->v[0] = sum;
    return true;
}

// Operands: norm_apply x, sum, m2, [w], [b]; the others dy, x, sum, m2, (stats, stats), [w].
static bool norms(mp *m, const mp_call *c)
{
    bool apply = c->op == IR_OP_norm_apply, params = c->op == IR_OP_norm_bwd_params;
    const mp_part *in = c->in, *x = &in[!apply], *dy = &in[0];
    int lead = x->rank - 1, first = apply ? 1 : 2;
    int n_stats = c->op == IR_OP_norm_bwd ? 4 : 2, w_at = first + n_stats;
    bool has_w = !params && c->n_in > w_at, has_b = apply && c->n_in > 4;
    int64_t w = last(x);
    int32_t *st[4] = {NULL}, *cw = NULL, *cb = NULL, *rd, *cd, *to = NULL, *to2 = NULL, *co = NULL;
    for (int i = 0; i < n_stats; i++)
        MUST(st[i], by_row(m, x, lead, &in[first + i], in[first + i].rank));
    MUST(rd, by_row(m, x, lead, dy, dy->rank - 1));
    MUST(cd, by_entry(m, x, dy));
    if (has_w) MUST(cw, by_entry(m, x, &in[w_at]));
    if (has_b) MUST(cb, by_entry(m, x, &in[4]));
    bool stats = c->op == IR_OP_norm_bwd_stats;
    if (stats) {
        MUST(to, by_row(m, x, lead, &c->out[0], c->out[0].rank));
        MUST(to2, by_row(m, x, lead, &c->out[1], c->out[1].rank));
    } else if (params) {
        MUST(to, by_entry(m, x, &c->out[0]));
        MUST(to2, by_entry(m, x, &c->out[1]));
    } else {
        MUST(to, by_row(m, x, lead, &c->out[0], c->out[0].rank - 1));
        MUST(co, by_entry(m, x, &c->out[0]));
    }
    uint64_t over_n = mp_inverse(mp_int(x->ix[lead]->g));
    uint64_t key = mp_mix(RSTD ^ mp_const(m, c->attr[0].f));
    uint64_t *y = c->out[0].v, *y1 = c->n_out > 1 ? c->out[1].v : NULL;
    for (int64_t r = 0; r < mp_count(x, lead); r++) {
        uint64_t mean = mp_mul(mp_get(&in[first], st[0][r]), over_n);
        uint64_t rstd = mp_hash(m, key, mp_get(&in[first + 1], st[1][r]));
        for (int64_t i = 0; i < w; i++) {
            uint64_t hat = mp_mul(mp_sub(mp_get(x, r * w + i), mean), rstd);
            uint64_t d = mp_get(dy, (int64_t)rd[r] * last(dy) + cd[i]);
            uint64_t weight = has_w ? mp_get(&in[w_at], cw[i]) : 1, u = mp_mul(d, weight);
            if (apply) {
                uint64_t v = mp_mul(hat, weight);
                y[to[r] * last(&c->out[0]) + co[i]] = has_b ? mp_add(v, mp_get(&in[4], cb[i])) : v;
            } else if (stats) {
                y[to[r]] = mp_add(y[to[r]], u);
                y1[to2[r]] = mp_add(y1[to2[r]], mp_mul(u, hat));
            } else if (params) {
                y[to[i]] = mp_add(y[to[i]], mp_mul(d, hat));
                y1[to2[i]] = mp_add(y1[to2[i]], d);
            } else {
                uint64_t a = mp_mul(mp_get(&in[4], st[2][r]), over_n);
                uint64_t b = mp_mul(hat, mp_mul(mp_get(&in[5], st[3][r]), over_n));
                y[to[r] * last(&c->out[0]) + co[i]] = mp_mul(rstd, mp_sub(mp_sub(u, a), b));
            }
        }
    }
    return true;
}

// Of [b, c, p]. Operands: batch_m2 x, sum; batch_apply x, sum, m2, w, bias; the others dy, x, sum,
// m2, (stats, stats, w). What is of channels is found by the channel of an element of x.
static bool batch_norms(mp *m, const mp_call *c)
{
    enum { CHANNEL = 1 };
    bool m2 = c->op == IR_OP_batch_m2, apply = c->op == IR_OP_batch_apply;
    bool stats = c->op == IR_OP_batch_bwd_stats, wide = apply || c->op == IR_OP_batch_bwd;
    int first = m2 || apply ? 0 : 1;
    const mp_part *in = c->in, *x = &in[first];
    int32_t *at[IR_MAX_IN], *to[2];
    if (x->rank != 3) return mp_fail(m, "is of other dims than batch, channels, places");
    for (int i = 0; i < c->n_in; i++)
        MUST(at[i], mp_align(m, x, 3, &in[i], in[i].rank, in[i].rank == 1 ? (int[]){CHANNEL} : NULL,
                             NULL));
    for (int i = 0; i < c->n_out; i++)
        MUST(to[i],
             mp_align(m, x, 3, &c->out[i], c->out[i].rank, wide ? NULL : (int[]){CHANNEL}, NULL));
    uint64_t over_n = mp_inverse(mp_mul(mp_int(x->ix[0]->g), mp_int(x->ix[2]->g)));
    uint64_t key = m2 ? 0 : mp_mix(RSTD ^ mp_const(m, c->attr[0].f));
    for (int64_t e = 0; e < x->n; e++) {
#define OF(i) mp_get(&in[i], at[i][e])
        uint64_t *y = &c->out[0].v[to[0][e]];
        uint64_t hat = mp_sub(OF(first), mp_mul(OF(first + 1), over_n));
        if (m2) {
            *y = mp_add(*y, mp_mul(hat, hat));
            continue;
        }
        uint64_t rstd = mp_hash(m, key, OF(first + 2));
        hat = mp_mul(hat, rstd);
        if (apply) {
            *y = mp_add(mp_mul(hat, OF(3)), OF(4));
        } else if (stats) {
            *y = mp_add(*y, OF(0));
            c->out[1].v[to[1][e]] = mp_add(c->out[1].v[to[1][e]], mp_mul(OF(0), hat));
        } else {
            uint64_t u = mp_add(mp_mul(OF(4), over_n), mp_mul(hat, mp_mul(OF(5), over_n)));
            *y = mp_mul(mp_mul(rstd, OF(6)), mp_sub(OF(0), u));
        }
#undef OF
    }
    return true;
}

// Operands: rms_apply x, sq, [w]; the others dy, x, sq, (stats), [w].
static bool rms_norms(mp *m, const mp_call *c)
{
    bool apply = c->op == IR_OP_rms_apply, stats = c->op == IR_OP_rms_bwd_stats;
    bool params = c->op == IR_OP_rms_bwd_params, bwd = c->op == IR_OP_rms_bwd;
    const mp_part *in = c->in, *x = &in[!apply], *dy = &in[0], *sq = &in[apply ? 1 : 2];
    mp_part *y = &c->out[0];
    int lead = x->rank - 1, w_at = apply ? 2 : 3 + bwd;
    bool has_w = !params && c->n_in > w_at;
    int64_t w = last(x);
    int32_t *st, *dot = NULL, *cw = NULL, *rd, *cd, *to = NULL, *co = NULL;
    MUST(st, by_row(m, x, lead, sq, sq->rank));
    if (bwd) MUST(dot, by_row(m, x, lead, &in[3], in[3].rank));
    MUST(rd, by_row(m, x, lead, dy, dy->rank - 1));
    MUST(cd, by_entry(m, x, dy));
    if (has_w) MUST(cw, by_entry(m, x, &in[w_at]));
    if (!params) MUST(to, by_row(m, x, lead, y, stats ? y->rank : y->rank - 1));
    if (!stats) MUST(co, by_entry(m, x, y));
    uint64_t over_n = mp_inverse(mp_int(x->ix[lead]->g));
    uint64_t key = mp_mix(RRMS ^ mp_const(m, c->attr[0].f));
    for (int64_t r = 0; r < mp_count(x, lead); r++) {
        uint64_t rrms = mp_hash(m, key, mp_get(sq, st[r]));
        for (int64_t i = 0; i < w; i++) {
            uint64_t hat = mp_mul(mp_get(x, r * w + i), rrms);
            uint64_t d = mp_get(dy, (int64_t)rd[r] * last(dy) + cd[i]);
            uint64_t weight = has_w ? mp_get(&in[w_at], cw[i]) : 1, u = mp_mul(d, weight);
            if (apply) {
                y->v[to[r] * last(y) + co[i]] = mp_mul(hat, weight);
            } else if (stats) {
                y->v[to[r]] = mp_add(y->v[to[r]], mp_mul(u, hat));
            } else if (params) {
                y->v[co[i]] = mp_add(y->v[co[i]], mp_mul(d, hat));
            } else {
                uint64_t b = mp_mul(hat, mp_mul(mp_get(&in[3], dot[r]), over_n));
                y->v[to[r] * last(y) + co[i]] = mp_mul(rrms, mp_sub(u, b));
            }
        }
    }
    return true;
}

// A row is whole on a rank, entries in the order of the dim.
static bool rotary(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    int lead = y->rank - 1;
    int64_t d = last(y);
    bool pairs = c->attr[0].i, back = c->attr[1].i;
    int32_t *at[3];
    for (int i = 0; i < 3; i++) {
        MUST(at[i], by_row(m, y, lead, &c->in[i], c->in[i].rank - 1));
        if (last(&c->in[i]) != d || y->ix[lead]->g != d || d % 2)
            return mp_fail(m, "rows of rotary are cut or of odd length");
    }
    for (int64_t r = 0; r < mp_count(y, lead); r++)
        for (int64_t i = 0; i < d / 2; i++) {
            int64_t p = pairs ? 2 * i : i, q = pairs ? 2 * i + 1 : i + d / 2;
            uint64_t a = mp_get(&c->in[0], at[0][r] * d + p);
            uint64_t b = mp_get(&c->in[0], at[0][r] * d + q);
            uint64_t cp = mp_get(&c->in[1], at[1][r] * d + p);
            uint64_t cq = mp_get(&c->in[1], at[1][r] * d + q);
            uint64_t sp = mp_get(&c->in[2], at[2][r] * d + p);
            uint64_t sq = mp_get(&c->in[2], at[2][r] * d + q);
            uint64_t ac = mp_mul(a, cp), bc = mp_mul(b, cq);
            y->v[r * d + p] = back ? mp_add(ac, mp_mul(b, sq)) : mp_sub(ac, mp_mul(b, sp));
            y->v[r * d + q] = back ? mp_sub(bc, mp_mul(a, sp)) : mp_add(bc, mp_mul(a, sq));
        }
    return true;
}

mp_meaning *mp_stat(ir_op op)
{
    switch ((int)op) {
    case IR_OP_sum:
        return sum_dims;
    case IR_OP_row_sum:
    case IR_OP_row_max:
    case IR_OP_row_m2:
    case IR_OP_row_sq:
    case IR_OP_row_expsum:
    case IR_OP_row_dot:
        return row_sums;
    case IR_OP_cumsum:
        return sums_so_far;
    case IR_OP_softmax_apply:
    case IR_OP_softmax_bwd:
    case IR_OP_log_softmax_apply:
    case IR_OP_log_softmax_bwd:
        return softmaxes;
    case IR_OP_embedding:
    case IR_OP_embedding_bwd:
    case IR_OP_target_logit:
        return lookups;
    case IR_OP_gather:
    case IR_OP_gather_bwd:
        return gathers;
    case IR_OP_nll_sum:
    case IR_OP_count:
    case IR_OP_ce_bwd:
    case IR_OP_sumsq:
        return losses;
    case IR_OP_norm_apply:
    case IR_OP_norm_bwd_stats:
    case IR_OP_norm_bwd:
    case IR_OP_norm_bwd_params:
        return norms;
    case IR_OP_batch_m2:
    case IR_OP_batch_apply:
    case IR_OP_batch_bwd_stats:
    case IR_OP_batch_bwd:
        return batch_norms;
    case IR_OP_rms_apply:
    case IR_OP_rms_bwd_stats:
    case IR_OP_rms_bwd:
    case IR_OP_rms_bwd_params:
        return rms_norms;
    case IR_OP_rotary:
        return rotary;
    default:
        return NULL;
    }
}
