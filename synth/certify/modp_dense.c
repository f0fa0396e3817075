// Meanings of the dense rows: sums of products; attention from keyed hashes and sums. In attention
// a score's weight is a keyed hash of the score, the row's weights are divided by their sum, and
// the logsumexp is a keyed hash of that sum, so that cuts of batch, heads and queries are exact.

#include "synth/certify/modp_model.h"
#include "synth/plan/search_limits.h"

#define MUST(p, call)                                                                              \
    if (!((p) = (call))) return false

enum { WEIGHT = 0x2001, LSE, OVER, DROP };

// Local entries of dim dx of x by those of dim ds of s.
static int32_t *entries(mp *m, const mp_part *s, int ds, const mp_part *x, int dx)
{
    mp_part a = {.rank = 1, .ix = {s->ix[ds]}}, b = {.rank = 1, .ix = {x->ix[dx]}};
    return mp_align(m, &a, 1, &b, 1, NULL, NULL);
}

// Both parts hold the same entries of a factor that is summed over.
static bool same_entries(mp *m, const mp_part *a, int da, const mp_part *b, int db)
{
    return (a->ix[da]->l == b->ix[db]->l && a->ix[da]->g == b->ix[db]->g) ||
           mp_fail(m, "its operands are cut differently where it sums");
}

static bool linear(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0], *w = &c->in[1];
    mp_part *y = &c->out[0];
    int lead = y->rank - 1, kd = c->attr[0].i ? 1 : 0;
    if (x->rank != y->rank || w->rank != 2 || c->attr[0].i > 1)
        return mp_fail(m, "has operands of other dims");
    int32_t *rows, *k, *n, *bias = NULL;
    MUST(rows, mp_align(m, y, lead, x, lead, NULL, NULL));
    if (!same_entries(m, x, lead, w, kd)) return false;
    MUST(k, entries(m, x, lead, w, kd));
    MUST(n, entries(m, y, lead, w, !kd));
    if (c->n_in > 2) MUST(bias, entries(m, y, lead, &c->in[2], 0));
    int64_t nk = x->ix[lead]->l, nn = y->ix[lead]->l, wide = w->ix[1]->l;
    for (int64_t r = 0; r < mp_count(y, lead); r++)
        for (int64_t j = 0; j < nn; j++) {
            mp_wide s = bias ? mp_get(&c->in[2], bias[j]) : 0;
            const uint64_t *row = x->v + rows[r] * nk;
            for (int64_t i = 0; i < nk; i++) {
                s += (mp_wide)row[i] * w->v[kd ? n[j] * wide + k[i] : k[i] * wide + n[j]];
                if (i % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
            }
            y->v[r * nn + j] = mp_narrow(s);
        }
    return true;
}

static bool linear_dw(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0], *dy = &c->in[1];
    mp_part *y = &c->out[0];
    int lead = x->rank - 1;
    if (dy->rank != x->rank || y->rank != 2) return mp_fail(m, "has operands of other dims");
    int32_t *rows, *k, *n;
    for (int d = 0; d < lead; d++)
        if (!same_entries(m, x, d, dy, d)) return false;
    MUST(rows, mp_align(m, x, lead, dy, lead, NULL, NULL));
    MUST(k, entries(m, y, 0, x, lead));
    MUST(n, entries(m, y, 1, dy, lead));
    int64_t nk = y->ix[0]->l, nn = y->ix[1]->l;
    int64_t many = mp_count(x, lead), wx = x->ix[lead]->l, wd = dy->ix[lead]->l;
    for (int64_t i = 0; i < nk; i++)
        for (int64_t j = 0; j < nn; j++) {
            mp_wide s = 0;
            for (int64_t r = 0; r < many; r++) {
                s += (mp_wide)x->v[r * wx + k[i]] * dy->v[rows[r] * wd + n[j]];
                if (r % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
            }
            y->v[i * nn + j] = mp_narrow(s);
        }
    return true;
}

static bool matmul(mp *m, const mp_call *c)
{
    const mp_part *a = &c->in[0], *b = &c->in[1];
    mp_part *y = &c->out[0];
    int lead = y->rank - 2, la = a->rank - 2, lb = b->rank - 2;
    if (lead < 0 || la < 0 || lb < 0) return mp_fail(m, "has operands of other dims");
    int64_t trans = c->attr[0].i;
    int am = trans == 2 ? la + 1 : la, ak = trans == 2 ? la : la + 1;
    int bk = trans == 1 ? lb + 1 : lb, bn = trans == 1 ? lb : lb + 1;
    int32_t *ba, *bb, *row, *col, *k;
    MUST(ba, mp_align(m, y, lead, a, la, NULL, NULL));
    MUST(bb, mp_align(m, y, lead, b, lb, NULL, NULL));
    MUST(row, entries(m, y, lead, a, am));
    MUST(col, entries(m, y, lead + 1, b, bn));
    if (!same_entries(m, a, ak, b, bk)) return false;
    MUST(k, entries(m, a, ak, b, bk));
    int64_t nm = y->ix[lead]->l, nn = y->ix[lead + 1]->l, nk = a->ix[ak]->l;
    int64_t a1 = a->ix[la + 1]->l, b1 = b->ix[lb + 1]->l;
    int64_t as = a->ix[la]->l * a1, bs = b->ix[lb]->l * b1;
    for (int64_t e = 0; e < mp_count(y, lead); e++)
        for (int64_t i = 0; i < nm; i++)
            for (int64_t j = 0; j < nn; j++) {
                mp_wide s = 0;
                for (int64_t q = 0; q < nk; q++) {
                    int64_t x = ba[e] * as + (trans == 2 ? q * a1 + row[i] : row[i] * a1 + q);
                    int64_t z = bb[e] * bs + (trans == 1 ? col[j] * b1 + k[q] : k[q] * b1 + col[j]);
                    s += (mp_wide)a->v[x] * b->v[z];
                    if (q % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
                }
                y->v[(e * nm + i) * nn + j] = mp_narrow(s);
            }
    return true;
}

static uint64_t product(const uint64_t *a, const uint64_t *b, int64_t n)
{
    mp_wide s = 0;
    for (int64_t i = 0; i < n; i++) {
        s += (mp_wide)a[i] * b[i];
        if (i % SYN_MODP_FOLD == SYN_MODP_FOLD - 1) s = mp_fold(s);
    }
    return mp_narrow(s);
}

// Attention of one row of queries, forward and backward alike.
typedef struct attention {
    const mp_part *q, *k, *v, *mask;
    int64_t e, d, nk;
    uint64_t scale, key;
    bool causal, drops;
} attention;

static int64_t near(const mp_part *x, int d, int64_t global) // local entry; a dim of 1 is for all
{
    return x->ix[d]->g == 1 ? 0 : x->ix[d]->of[global];
}

// The mask has the entries of the queries and keys, or one for all.
static bool masks(mp *m, const mp_part *mask, const mp_part *q, const mp_part *k)
{
    if (mask->rank != 4) return mp_fail(m, "has a mask of other dims");
    for (int d = 0; d < 4; d++)
        if (mask->ix[d]->g != 1 && !mp_same(m, mask, d, d < 3 ? q : k, d < 3 ? d : 2)) return false;
    return true;
}

// Weight of key j for query (b, h, i), all local; 0 where it may not look. *keep: dropout.
static void weight(mp *m, const attention *t, int64_t b, int64_t h, int64_t i, int64_t kv,
                   int64_t j, uint64_t *w, uint64_t *keep)
{
    const mp_part *q = t->q, *k = t->k;
    int64_t at[4] = {q->ix[0]->at[b], q->ix[1]->at[h], q->ix[2]->at[i], k->ix[2]->at[j]};
    *w = 0;
    *keep = 1;
    if (t->causal && at[3] > at[2]) return;
    uint64_t s = product(q->v + ((b * q->ix[1]->l + h) * q->ix[2]->l + i) * t->e,
                         k->v + (kv * t->nk + j) * t->e, t->e);
    s = mp_mul(s, t->scale);
    if (t->mask) {
        int64_t o = 0;
        for (int d = 0; d < 4; d++) {
            o = o * t->mask->ix[d]->l + near(t->mask, d, at[d]);
        }
        s = mp_add(s, mp_get(t->mask, o));
    }
    *w = mp_hash(m, WEIGHT, s);
    uint64_t id = 0;
    for (int d = 0; d < 4; d++)
        id = mp_mix(id ^ (uint64_t)at[d]);
    if (t->drops) *keep = mp_hash(m, t->key, id);
}

static bool prepare(mp *m, const mp_call *c, int first, attention *t)
{
    const mp_part *mask = c->n_in > first + 3 ? &c->in[c->n_in - 1] : NULL;
    bool back = c->op == IR_OP_sdpa_bwd;
    if (back && c->n_in < 7) mask = NULL;
    *t = (attention){
        .q = &c->in[first], .k = &c->in[first + 1], .v = &c->in[first + 2], .mask = mask};
    for (int i = first; i < first + 3; i++)
        if (c->in[i].rank != 4) return mp_fail(m, "has operands of other dims");
    if (mask && !masks(m, mask, t->q, t->k)) return false;
    if (!same_entries(m, t->q, 3, t->k, 3) || !same_entries(m, t->k, 2, t->v, 2) ||
        !same_entries(m, t->k, 1, t->v, 1) || !same_entries(m, t->k, 0, t->v, 0))
        return false;
    t->e = t->q->ix[3]->l;
    t->d = t->v->ix[3]->l;
    t->nk = t->k->ix[2]->l;
    t->causal = c->attr[0].i;
    t->scale = mp_const(m, c->attr[1].f);
    t->drops = c->attr[2].f > 0;
    t->key = mp_mix(mp_mix(DROP ^ (uint64_t)c->attr[3].i ^ mp_const(m, c->attr[2].f)) ^
                    (uint64_t)c->attr[4].i);
    return true;
}

// Row of k and v for local b and h, -1 after mp_fail.
static int64_t kv_row(mp *m, const attention *t, int64_t b, int64_t h)
{
    const mp_part *q = t->q, *k = t->k;
    int64_t group = q->ix[1]->g / (k->ix[1]->g > 0 ? k->ix[1]->g : 1);
    int64_t g = q->ix[1]->at[h] / (group > 0 ? group : 1);
    int64_t kb = q->ix[0]->g == k->ix[0]->g ? k->ix[0]->of[q->ix[0]->at[b]] : -1;
    int64_t kg = g < k->ix[1]->g ? k->ix[1]->of[g] : -1;
    if (kb >= 0 && kg >= 0) return kb * k->ix[1]->l + kg;
    mp_fail(m, "needs a head that its keys do not hold on this rank");
    return -1;
}

static bool same_parts(mp *m, const mp_part *a, const mp_part *b, int dims)
{
    for (int d = 0; d < dims; d++)
        if (a->rank < dims || b->rank < dims || a->ix[d] != b->ix[d])
            return mp_fail(m, "has operands and outputs cut differently");
    return true;
}

static bool sdpa(mp *m, const mp_call *c)
{
    attention t;
    mp_part *y = &c->out[0];
    if (!prepare(m, c, 0, &t)) return false;
    if (!same_parts(m, t.q, y, 3) || !same_parts(m, t.q, &c->out[1], 3) ||
        !same_entries(m, t.v, 3, y, 3))
        return false;
    int64_t nh = t.q->ix[1]->l, nq = t.q->ix[2]->l;
    for (int64_t r = 0; r < mp_count(t.q, 3); r++) {
        int64_t i = r % nq, h = r / nq % nh, b = r / nq / nh, kv = kv_row(m, &t, b, h);
        if (kv < 0) return false;
        uint64_t sum = 0, *out = y->v + r * t.d;
        for (int64_t j = 0; j < t.nk; j++) {
            uint64_t w, keep;
            weight(m, &t, b, h, i, kv, j, &w, &keep);
            sum = mp_add(sum, w);
            w = mp_mul(w, keep);
            for (int64_t d = 0; d < t.d; d++)
                out[d] = mp_add(out[d], mp_mul(w, t.v->v[(kv * t.nk + j) * t.d + d]));
        }
        uint64_t over = mp_inverse(sum);
        for (int64_t d = 0; d < t.d; d++)
            out[d] = mp_mul(out[d], over);
        c->out[1].v[r] = mp_hash(m, LSE, sum);
    }
    return true;
}

// Operands: gradient, q, k, v, output, logsumexp, [mask]. The weights' divisor is a hash of the
// logsumexp.
static bool sdpa_bwd(mp *m, const mp_call *c)
{
    attention t;
    if (!prepare(m, c, 1, &t)) return false;
    const mp_part *dy = &c->in[0], *y = &c->in[4];
    mp_part *dq = &c->out[0], *dk = &c->out[1], *dv = &c->out[2];
    if (!same_parts(m, t.q, dy, 3) || !same_parts(m, t.q, y, 3) ||
        !same_parts(m, t.q, &c->in[5], 3) || !same_parts(m, t.q, dq, 4) ||
        !same_parts(m, t.k, dk, 4) || !same_parts(m, t.v, dv, 4) || !same_entries(m, dy, 3, y, 3) ||
        !same_entries(m, dy, 3, t.v, 3))
        return false;
    int64_t nh = t.q->ix[1]->l, nq = t.q->ix[2]->l;
    for (int64_t r = 0; r < mp_count(t.q, 3); r++) {
        int64_t i = r % nq, h = r / nq % nh, b = r / nq / nh, kv = kv_row(m, &t, b, h);
        if (kv < 0) return false;
        uint64_t over = mp_hash(m, OVER, c->in[5].v[r]);
        const uint64_t *g = dy->v + r * t.d, *q = t.q->v + r * t.e;
        uint64_t dot = product(g, y->v + r * t.d, t.d);
        for (int64_t j = 0; j < t.nk; j++) {
            uint64_t w, keep;
            weight(m, &t, b, h, i, kv, j, &w, &keep);
            w = mp_mul(w, over);
            int64_t at = kv * t.nk + j;
            uint64_t dw = mp_mul(keep, product(g, t.v->v + at * t.d, t.d));
            uint64_t ds = mp_mul(mp_mul(w, mp_sub(dw, dot)), t.scale), wk = mp_mul(w, keep);
            for (int64_t e = 0; e < t.e; e++) {
                uint64_t *a = &dq->v[r * t.e + e], *z = &dk->v[at * t.e + e];
                *a = mp_add(*a, mp_mul(ds, t.k->v[at * t.e + e]));
                *z = mp_add(*z, mp_mul(ds, q[e]));
            }
            for (int64_t d = 0; d < t.d; d++) {
                uint64_t *z = &dv->v[at * t.d + d];
                *z = mp_add(*z, mp_mul(wk, g[d]));
            }
        }
    }
    return true;
}

mp_meaning *mp_dense(ir_op op)
{
    switch ((int)op) {
    case IR_OP_linear:
        return linear;
    case IR_OP_linear_dw:
        return linear_dw;
    case IR_OP_matmul:
        return matmul;
    case IR_OP_sdpa:
        return sdpa;
    case IR_OP_sdpa_bwd:
        return sdpa_bwd;
    default:
        return NULL;
    }
}
