// Meanings of pointwise ops, optimizer ops and views. What is no sum or product is a keyed hash of
// the elements it reads: comparisons too, whose two values would often agree by chance. A choice
// (where, dropout) is a coefficient: what holds for all coefficients holds for 0 and 1.

#include <string.h>

#include "synth/certify/modp_model.h"

static uint64_t attr_key(const mp *m, const mp_call *c)
{
    uint64_t key = (uint64_t)c->op;
    for (int i = 0; i < ir_op_of(c->op)->n_attr; i++)
        key = mp_mix(key ^ mp_const(m, c->attr[i].f) ^ (uint64_t)c->attr[i].i);
    return key;
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

typedef struct points {
    mp *m;
    const mp_call *c;
    int32_t *at[3];  // by operand: which element of it an element of the output reads
    uint64_t key, k; // of the attributes; the scalar of scale and add_scalar
    int64_t *global; // dropout
    bool rounds;     // cast: to an integer from a float, or to a truth value
} points;

static uint64_t element(const points *x, int64_t e)
{
    const mp_call *c = x->c;
    uint64_t v, p = mp_get(&c->in[0], x->at[0][e]);
    uint64_t q = c->n_in > 1 ? mp_get(&c->in[1], x->at[1][e]) : 0;
    switch ((int)c->op) {
    case IR_OP_add:
        return mp_add(p, q);
    case IR_OP_sub:
        return mp_sub(p, q);
    case IR_OP_mul:
        return mp_mul(p, q);
    case IR_OP_div:
        return mp_mul(p, mp_inverse(q));
    case IR_OP_eq:
    case IR_OP_ne:
    case IR_OP_lt:
    case IR_OP_le:
    case IR_OP_gt:
    case IR_OP_ge:
    case IR_OP_logical_and:
    case IR_OP_logical_or:
        return mp_hash(x->m, mp_mix(x->key ^ p), q);
    case IR_OP_logical_not:
        return mp_hash(x->m, x->key, p);
    case IR_OP_where: // the choice is a coefficient: p of the one and 1 - p of the other
        v = mp_get(&c->in[2], x->at[2][e]);
        return mp_add(v, mp_mul(p, mp_sub(q, v)));
    case IR_OP_cast:
        return x->rounds ? mp_hash(x->m, x->key, p) : p;
    case IR_OP_detach:
    case IR_OP_send:
    case IR_OP_step_stat: // of a step
        return p;
    case IR_OP_neg:
        return mp_sub(0, p);
    case IR_OP_scale:
        return mp_mul(p, x->k);
    case IR_OP_add_scalar:
        return mp_add(p, x->k);
    case IR_OP_dropout:
        return mp_mul(p, mp_hash(x->m, x->key, (uint64_t)x->global[e]));
    default:
        hb_assert(false);
        return 0;
    }
}

static bool pointwise(mp *m, const mp_call *c)
{
    points x = {.m = m, .c = c, .key = attr_key(m, c)};
    mp_part *y = &c->out[0];
    for (int i = 0; i < c->n_in; i++) {
        x.at[i] = mp_align(m, y, y->rank, &c->in[i], c->in[i].rank, NULL, NULL);
        if (!x.at[i]) return false;
    }
    if (c->op == IR_OP_scale || c->op == IR_OP_add_scalar) x.k = mp_const(m, c->attr[0].f);
    if (c->op == IR_OP_dropout) x.global = mp_global(m, y);
    if (c->op == IR_OP_cast) {
        ir_dtype from = c->in[0].dtype;
        x.rounds =
            y->dtype != from && !is_float(y->dtype) && (is_float(from) || y->dtype == IR_BOOL);
    }
    for (int64_t e = 0; e < y->n; e++)
        y->v[e] = element(&x, e);
    return true;
}

// y = h(x)
static bool function(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    const mp_part *x = &c->in[0];
    uint64_t key = attr_key(m, c);
    int32_t *at = mp_align(m, y, y->rank, x, x->rank, NULL, NULL);
    for (int64_t e = 0; at && e < y->n; e++)
        y->v[e] = mp_hash(m, key, mp_get(x, at[e]));
    return at;
}

// y = dy h(x)
static bool slope(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    const mp_part *dy = &c->in[0], *x = &c->in[1];
    uint64_t key = attr_key(m, c);
    int32_t *at = mp_align(m, y, y->rank, dy, dy->rank, NULL, NULL);
    int32_t *of = at ? mp_align(m, y, y->rank, x, x->rank, NULL, NULL) : NULL;
    for (int64_t e = 0; of && e < y->n; e++)
        y->v[e] = mp_mul(mp_get(dy, at[e]), mp_hash(m, key, mp_get(x, of[e])));
    return of;
}

// Optimizer rows: operands are parameter, moments, gradient, [clip factor]; docs of the kernels.
static bool update(mp *m, const mp_call *c)
{
    const ir_attr *p = c->attr;
    int g = c->op == IR_OP_sgd ? 1 : c->op == IR_OP_momentum ? 2 : 3;
    int32_t *at[5] = {NULL};
    for (int i = 0; i < c->n_in; i++)
        if (!(at[i] =
                  mp_align(m, &c->out[0], c->out[0].rank, &c->in[i], c->in[i].rank, NULL, NULL)))
            return false;
    uint64_t rate = mp_mul(m->rate, mp_const(m, p[0].f));
    for (int64_t e = 0; e < c->out[0].n; e++) {
        uint64_t v[5] = {0};
        for (int i = 0; i < c->n_in; i++)
            v[i] = mp_get(&c->in[i], at[i][e]);
        uint64_t u = c->n_in > g + 1 ? mp_mul(v[g + 1], v[g]) : v[g], step = 0, a = v[0];
        if (c->op == IR_OP_sgd) {
            step = mp_add(u, mp_mul(mp_const(m, p[1].f), a));
        } else if (c->op == IR_OP_momentum) {
            uint64_t mu = mp_const(m, p[1].f);
            u = mp_add(u, mp_mul(mp_const(m, p[3].f), a));
            uint64_t b = mp_add(mp_mul(mu, v[1]), u);
            step = p[2].i ? mp_add(u, mp_mul(mu, b)) : b;
            c->out[1].v[e] = b;
        } else {
            uint64_t b1 = mp_const(m, p[1].f), b2 = mp_const(m, p[2].f), wd = mp_const(m, p[4].f);
            if (!p[5].i) u = mp_add(u, mp_mul(wd, a));
            uint64_t b = mp_add(mp_mul(b1, v[1]), mp_mul(mp_sub(1, b1), u));
            uint64_t s = mp_add(mp_mul(b2, v[2]), mp_mul(mp_sub(1, b2), mp_mul(u, u)));
            c->out[1].v[e] = b;
            c->out[2].v[e] = s;
            step = mp_mul(b, mp_hash(m, IR_OP_adam ^ mp_const(m, p[3].f), s));
            if (p[5].i) step = mp_add(step, mp_mul(wd, a));
        }
        c->out[0].v[e] = mp_sub(a, mp_mul(rate, step));
    }
    return true;
}

// What a message holds: any fixed function of the message and the element.
static bool received(mp *m, const mp_call *c)
{
    mp_part *y = &c->out[0];
    uint64_t key =
        mp_mix((uint64_t)c->op ^ mp_mix((uint64_t)c->attr[2].i << 32 ^ (uint64_t)c->attr[3].i));
    int64_t *global = mp_global(m, y);
    for (int64_t e = 0; e < y->n; e++)
        y->v[e] = mp_hash(m, key, (uint64_t)global[e]);
    return true;
}

// y[.., i, ..] = x[.., i + shift, ..] along dim d; where x ends, y stays as it is.
static bool move(mp *m, mp_part *y, const mp_part *x, int d, int64_t shift)
{
    int64_t by[IR_MAX_RANK] = {0};
    if (x->rank != y->rank || d < 0 || d >= y->rank) return mp_fail(m, "has views of other dims");
    by[d] = shift;
    int32_t *at = mp_align(m, y, y->rank, x, x->rank, NULL, by);
    for (int64_t e = 0; at && e < y->n; e++)
        if (at[e] >= 0) y->v[e] = x->v[at[e]];
    return at != NULL;
}

static bool view(mp *m, const mp_call *c)
{
    const mp_part *x = &c->in[0];
    mp_part *y = &c->out[0];
    int d = (int)c->attr[0].i, map[IR_MAX_RANK];
    int64_t at = 0;
    int32_t *from;
    switch ((int)c->op) {
    case IR_OP_reshape:
        if (x->n != y->n)
            return mp_fail(m, "%lld elements become %lld", (long long)x->n, (long long)y->n);
        memcpy(y->v, x->v, sizeof *y->v * (size_t)y->n);
        return true;
    case IR_OP_transpose:
        if (x->rank != y->rank || c->attr[0].n != y->rank) return mp_fail(m, "has other dims");
        for (int i = 0; i < y->rank; i++)
            map[c->attr[0].v[i]] = i;
        if (!(from = mp_align(m, y, y->rank, x, x->rank, map, NULL))) return false;
        for (int64_t e = 0; e < y->n; e++)
            y->v[e] = x->v[from[e]];
        return true;
    case IR_OP_expand:
        if (!(from = mp_align(m, y, y->rank, x, x->rank, NULL, NULL))) return false;
        for (int64_t e = 0; e < y->n; e++)
            y->v[e] = x->v[from[e]];
        return true;
    case IR_OP_split:
        for (int i = 0; i < c->n_out; i++) {
            if (!move(m, &c->out[i], x, d, at)) return false;
            at += c->out[i].ix[d]->g;
        }
        return true;
    case IR_OP_concat:
        for (int i = 0; i < c->n_in; i++) {
            if (!move(m, y, &c->in[i], d, -at)) return false;
            at += c->in[i].ix[d]->g;
        }
        return true;
    case IR_OP_slice: // shrunken sizes: an entry before the start, if there is one
        at = c->attr[1].i;
        if (at > 0 && at + y->ix[d]->g > x->ix[d]->g) at = 1;
        return move(m, y, x, d, at);
    case IR_OP_pad:
        at = c->attr[1].i;
        if (at > 0 && at + x->ix[d]->g > y->ix[d]->g) at = 1;
        for (int64_t e = 0; e < y->n; e++)
            y->v[e] = mp_const(m, c->attr[3].f);
        return move(m, y, x, d, -at);
    case IR_OP_full:
        for (int64_t e = 0; e < y->n; e++)
            y->v[e] = mp_const(m, c->attr[1].f);
        return true;
    default:
        return false;
    }
}

static mp_meaning *of_elements(ir_op op)
{
    switch ((int)op) {
    case IR_OP_add:
    case IR_OP_sub:
    case IR_OP_mul:
    case IR_OP_div:
    case IR_OP_where:
    case IR_OP_eq:
    case IR_OP_ne:
    case IR_OP_lt:
    case IR_OP_le:
    case IR_OP_gt:
    case IR_OP_ge:
    case IR_OP_logical_and:
    case IR_OP_logical_or:
    case IR_OP_logical_not:
    case IR_OP_cast:
    case IR_OP_neg:
    case IR_OP_scale:
    case IR_OP_add_scalar:
    case IR_OP_detach:
    case IR_OP_send:
    case IR_OP_step_stat:
    case IR_OP_dropout:
        return pointwise;
    case IR_OP_pow_scalar:
    case IR_OP_exp:
    case IR_OP_log:
    case IR_OP_sqrt:
    case IR_OP_rsqrt:
    case IR_OP_tanh:
    case IR_OP_sigmoid:
    case IR_OP_relu:
    case IR_OP_clamp:
    case IR_OP_sin:
    case IR_OP_cos:
    case IR_OP_abs:
    case IR_OP_softplus:
    case IR_OP_gelu:
    case IR_OP_silu:
    case IR_OP_clip_scale:
        return function;
    case IR_OP_tanh_bwd:
    case IR_OP_sigmoid_bwd:
    case IR_OP_relu_bwd:
    case IR_OP_clamp_bwd:
    case IR_OP_abs_bwd:
    case IR_OP_gelu_bwd:
    case IR_OP_silu_bwd:
        return slope;
    default:
        return NULL;
    }
}

mp_meaning *mp_point(ir_op op)
{
    switch ((int)op) {
    case IR_OP_sgd:
    case IR_OP_momentum:
    case IR_OP_adam:
        return update;
    case IR_OP_reshape:
    case IR_OP_transpose:
    case IR_OP_expand:
    case IR_OP_split:
    case IR_OP_concat:
    case IR_OP_slice:
    case IR_OP_pad:
    case IR_OP_full:
        return view;
    case IR_OP_recv:
        return received;
    default:
        return of_elements(op);
    }
}
