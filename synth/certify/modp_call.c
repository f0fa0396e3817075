// One call by itself, on the kept ranks: operands are given as they are said to lie, and what the
// results are is found by comparing with one rank.
//
// A cut operand is the slices of its value, a whole one the value everywhere, a partial sum random
// numbers that add up to it, a partial maximum the value on one rank of the group and less on the
// others. A result may be all of the value on every coordinate of an axis that does not cut it, or
// a partial sum or maximum over it: the first of these that holds for every element. It can be
// partial only over an axis along which an operand is cut or partial, or parts are set to zero:
// else all computed the same. (A count over halves of one axis is half of the value on all ranks,
// and would look like a sum over the other axis.)

#include "synth/certify/modp_model.h"

#include <string.h>

static bool cut_on(const rec_tensor *t, int axis)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis == axis || t->dim[d].axis == SYN_BOTH) return true;
    return false;
}

// First rank that agrees with this one on all axes that are not in the mask.
static int group_of(const mp *m, int rank, unsigned axes)
{
    const int *c = m->coord + rank * MP_COORDS;
    if (m->r->n_axes == 1) return axes & 1u ? 0 : rank;
    return (axes & 1u ? 0 : c[0]) * m->n_kept[1] + (axes & 2u ? 0 : c[1]);
}

static unsigned partial_axes(const mp *m, const char *partial, char *how)
{
    unsigned axes = 0;
    *how = 0;
    for (int a = 0; a < m->r->n_axes; a++)
        if (partial[a]) {
            axes |= 1u << a;
            *how = partial[a];
        }
    return axes;
}

static uint64_t join(char how, uint64_t a, uint64_t b)
{
    return how == 's' ? mp_add(a, b) : mp_more(b, a) ? b : a;
}

static void slice(mp *m, const mp_part *whole, mp_part *p)
{
    int64_t *at = mp_global(m, p);
    p->v = HB_ARRAY(m->tmp, uint64_t, p->n + 1);
    for (int64_t e = 0; e < p->n; e++)
        p->v[e] = whole->v[at[e]];
}

// Parts of a whole value on all ranks, in a state.
static bool give(mp *m, int tensor, const mp_part *whole, const mp_held *h, mp_part *part)
{
    char how;
    unsigned axes = partial_axes(m, h->partial, &how);
    for (int rank = 0; rank < m->n_ranks; rank++) {
        if (!mp_shape(m, tensor, h->tensor, rank, &part[rank])) return false;
        part[rank].index = whole->index;
        slice(m, whole, &part[rank]);
    }
    for (int rank = 0; axes && rank < m->n_ranks; rank++) {
        int first = group_of(m, rank, axes);
        if (first == rank) continue; // it keeps the rest
        int64_t *at = mp_global(m, &part[rank]);
        int member = group_of(m, rank, ~axes); // the same on all ranks that hold the same
        for (int64_t e = 0; e < part[rank].n; e++) {
            uint64_t *v = &part[rank].v[e], *rest = &part[first].v[e];
            uint64_t key = mp_hash(m, 0x7a, (uint64_t)member << 40 ^ (uint64_t)at[e]);
            if (how == 'm') {
                *v = mp_more(*v, key) ? key : MP_LEAST;
                continue;
            }
            *v = key;
            *rest = mp_sub(*rest, key);
        }
    }
    return true;
}

static bool is(mp *m, const mp_part *whole, const mp_part *part, unsigned axes, char how)
{
    for (int rank = 0; rank < m->n_ranks; rank++) {
        if (group_of(m, rank, axes) != rank) continue;
        const mp_part *p = &part[rank];
        int64_t *at = mp_global(m, p);
        uint64_t *sum = p->v;
        if (axes) {
            sum = hb_copy(m->tmp, p->v, sizeof *sum * (size_t)(p->n + 1));
            for (int r = rank + 1; r < m->n_ranks; r++)
                for (int64_t e = 0; group_of(m, r, axes) == rank && e < p->n; e++)
                    sum[e] = join(how, sum[e], part[r].v[e]);
        }
        for (int64_t e = 0; e < p->n; e++)
            if (sum[e] != whole->v[at[e]]) return false;
    }
    return true;
}

// The axes along which an operand differs.
static unsigned unlike_axes(const mp *m, const mp_held *h)
{
    unsigned axes = 0;
    for (int a = 0; a < m->r->n_axes; a++)
        if (h->partial[a] || cut_on(&m->r->tensors.p[h->tensor], a)) axes |= 1u << a;
    return axes;
}

// unlike: axes along which parts may be unlike; max: they may be parts of a maximum, as those of a
// few numbers often look by chance.
static bool find_state(mp *m, const mp_part *whole, const mp_part *part, unsigned unlike, bool max,
                       mp_held *h)
{
    static const char hows[] = "sm";
    unsigned free = unlike;
    memset(h->partial, 0, sizeof h->partial);
    if (is(m, whole, part, 0, 0)) return true;
    for (int a = 0; a < m->r->n_axes; a++)
        if (m->n_kept[a] == 1 || cut_on(&m->r->tensors.p[h->tensor], a)) free &= ~(1u << a);
    for (int k = 0; k < 1 + max; k++)
        for (unsigned axes = 1; axes < 1u << m->r->n_axes; axes++) {
            if ((axes & ~free) || !is(m, whole, part, axes, hows[k])) continue;
            for (int a = 0; a < m->r->n_axes; a++)
                h->partial[a] = axes >> a & 1u ? hows[k] : 0;
            return true;
        }
    return false;
}

// What one rank computes from the whole operands.
static bool alone(mp *m, mp_graph *x, const rec_call *k, const ir_node *n, const mp_part **in,
                  mp_part *out)
{
    mp_part a[IR_MAX_IN];
    for (int i = 0; i < k->n_in; i++) {
        in[i] = mp_value(m, x, n->in[i], mp_is_index(n->op, i));
        a[i] = *in[i];
    }
    for (int i = 0; i < k->n_out; i++)
        out[i] = mp_whole_part(m, n->out[i]);
    mp_call c = {(ir_op)k->op, k->attr, k->n_in, k->n_out, a, out};
    return mp_apply(m, m->tmp, &c);
}

bool mp_prove_op(mp *m, mp_graph *x, const rec_call *k, int node, const mp_held *in, mp_held *out)
{
    const ir_node *n = &m->g->nodes.p[node];
    const mp_part *operand[IR_MAX_IN];
    mp_part *part[IR_MAX_IN + IR_MAX_OUT], want[IR_MAX_OUT];
    unsigned unlike = 0;
    if (!m->exact && !mp_pattern_op(m, k, in)) return false;
    if (!alone(m, x, k, n, operand, want)) return false;
    for (int i = 0; i < k->n_in + k->n_out; i++)
        part[i] = HB_ARRAY(m->tmp, mp_part, m->n_ranks);
    for (int i = 0; i < k->n_in; i++) {
        if (!give(m, n->in[i], operand[i], &in[i], part[i])) return false;
        unlike |= unlike_axes(m, &in[i]);
    }
    for (int rank = 0; rank < m->n_ranks; rank++) {
        mp_part a[IR_MAX_IN], b[IR_MAX_OUT];
        for (int i = 0; i < k->n_in; i++)
            a[i] = part[i][rank];
        for (int i = 0; i < k->n_out; i++)
            if (!mp_shape(m, n->out[i], k->out[i], rank, &b[i])) return false;
        mp_call c = {(ir_op)k->op, k->attr, k->n_in, k->n_out, a, b};
        if (!mp_apply(m, m->tmp, &c)) return false;
        for (int i = 0; i < k->n_out; i++)
            part[k->n_in + i][rank] = b[i];
    }
    for (int i = 0; i < k->n_out; i++) {
        out[i].tensor = k->out[i];
        out[i].null = true;
        for (int64_t e = 0; e < want[i].n; e++)
            out[i].null = out[i].null && want[i].v[e] == 0;
        if (!find_state(m, &want[i], part[k->n_in + i], unlike, k->op == IR_OP_row_max, &out[i]))
            return mp_fail(m,
                           "run modulo 2^61-1, leaves parts of %.*s that do not make what one "
                           "rank computes",
                           HB_ARG(m->g->tensors.p[n->out[i]].name));
    }
    return true;
}

bool mp_prove_move(mp *m, mp_graph *x, int t, unsigned axes, char how, unsigned zero,
                   const mp_held *in, mp_held *out)
{
    const mp_part *whole = mp_value(m, x, t, false);
    if (!m->exact && !mp_pattern_move(m, in->tensor, out->tensor, axes, how)) return false;
    mp_part *from = HB_ARRAY(m->tmp, mp_part, m->n_ranks);
    mp_part *to = HB_ARRAY(m->tmp, mp_part, m->n_ranks);
    uint64_t **all = HB_ARRAY(m->tmp, uint64_t *, m->n_ranks);
    if (!give(m, t, whole, in, from)) return false;
    for (int rank = 0; rank < m->n_ranks; rank++) { // put together, added or maximised
        int first = group_of(m, rank, axes);
        if (first == rank) {
            all[rank] = HB_ARRAY(m->tmp, uint64_t, whole->n + 1);
            for (int64_t e = 0; how != 's' && e < whole->n; e++)
                all[rank][e] =
                    how ? MP_LEAST : mp_hash(m, 0x6a, (uint64_t)rank << 40 ^ (uint64_t)e);
        }
        int64_t *at = mp_global(m, &from[rank]);
        for (int64_t e = 0; e < from[rank].n; e++) {
            uint64_t *v = &all[first][at[e]];
            *v = how ? join(how, *v, from[rank].v[e]) : from[rank].v[e];
        }
    }
    for (int rank = 0; rank < m->n_ranks; rank++) { // and taken apart
        if (!mp_shape(m, t, out->tensor, rank, &to[rank])) return false;
        const mp_part group = {.v = all[group_of(m, rank, axes)]};
        slice(m, &group, &to[rank]);
        bool gone = false;
        for (int a = 0; a < m->r->n_axes; a++)
            gone = gone || ((zero >> a & 1u) && m->coord[rank * MP_COORDS + a] != 0);
        if (gone) memset(to[rank].v, 0, sizeof *to[rank].v * (size_t)to[rank].n);
    }
    bool max = in->partial[0] == 'm' || in->partial[1] == 'm';
    return find_state(m, whole, to, unlike_axes(m, in) | zero, max, out) ||
           mp_fail(m, "run modulo 2^61-1, leaves parts of %.*s that do not make it up",
                   HB_ARG(m->g->tensors.p[t].name));
}
