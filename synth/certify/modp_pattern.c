// Where shrunken sizes would not do: what is asked of a call at the sizes it has.
//
// The small run decides a call by which parts of a factor are equal, empty, or sums of others
// (docs/theory.md section 6). Some calls hang on more than that: views on where a piece begins,
// attention on which heads share keys, parts over both axes on how they meet those of one axis,
// and what orders numbers on a sum it would have to see first. They are decided here, on the
// record's own dims and tables, and what is not one of these patterns is refused.

#include "synth/certify/modp_model.h"

// The cut of a dim; on an axis of one coordinate there is none.
static int cut_at(const mp *m, int tensor, int d)
{
    int axis = m->r->tensors.p[tensor].dim[d].axis;
    bool both = axis == SYN_BOTH && m->r->n_axes == SYN_MAX_AXES;
    if (axis < 0 || (both ? m->r->n_ranks : m->r->size[axis]) == 1) return -1;
    return m->cut[tensor][d];
}

static int64_t dim_size(const rec_dim *d)
{
    return d->outer * d->n * d->inner;
}

// --- views

typedef struct spot { // a cut factor in the bytes of a tensor: what stands before and behind it
    int cut;
    int64_t before, behind;
} spot;

static int spots_of(const mp *m, int tensor, spot *out)
{
    const rec_tensor *t = &m->r->tensors.p[tensor];
    int n = 0;
    for (int d = 0; d < t->rank; d++) {
        spot s = {cut_at(m, tensor, d), t->dim[d].outer, t->dim[d].inner};
        if (s.cut < 0) continue;
        for (int k = 0; k < d; k++)
            s.before *= dim_size(&t->dim[k]);
        for (int k = d + 1; k < t->rank; k++)
            s.behind *= dim_size(&t->dim[k]);
        if (t->dim[d].n == 1) s.before = s.behind = 1; // any place is as good
        out[n++] = s;
    }
    return n;
}

// The same cuts at the same places: then the bytes of every part are the same run by run.
static bool reshapes(mp *m, int x, int y)
{
    spot a[IR_MAX_RANK], b[IR_MAX_RANK];
    int n = spots_of(m, x, a), many = spots_of(m, y, b), found = 0;
    for (int i = 0; i < n; i++)
        for (int k = 0; k < many; k++)
            if (a[i].cut == b[k].cut && a[i].before == b[k].before && a[i].behind == b[k].behind) {
                found++;
                break;
            }
    return (n == many && found == n) || mp_fail(m, "reshapes parts that are cut elsewhere");
}

// Dim d of `part` lies in that of `big` from entry `at` on: both whole, or the same cut of pieces
// of which a whole number stands before.
static bool lies_in(mp *m, int big, int part, int64_t d, int64_t at)
{
    const rec_tensor *x = &m->r->tensors.p[big], *y = &m->r->tensors.p[part];
    if (d < 0 || d >= x->rank || d >= y->rank) return mp_fail(m, "has views of other dims");
    int cut = cut_at(m, big, (int)d);
    const rec_dim *a = &x->dim[d], *b = &y->dim[d];
    if (cut != cut_at(m, part, (int)d)) return mp_fail(m, "takes a piece of parts cut otherwise");
    return cut < 0 || (a->inner == b->inner && at % (a->n * a->inner) == 0) ||
           mp_fail(m, "takes a piece across the parts of a cut");
}

static bool views(mp *m, const rec_call *k)
{
    int64_t at = 0;
    switch (k->op) {
    case IR_OP_reshape:
        return reshapes(m, k->in[0], k->out[0]);
    case IR_OP_slice:
        return lies_in(m, k->in[0], k->out[0], k->attr[0].i, k->attr[1].i);
    case IR_OP_pad:
        return lies_in(m, k->out[0], k->in[0], k->attr[0].i, k->attr[1].i);
    case IR_OP_split:
    case IR_OP_concat:
        for (int i = 0; i < (k->op == IR_OP_split ? k->n_out : k->n_in); i++) {
            int big = k->op == IR_OP_split ? k->in[0] : k->out[0];
            int part = k->op == IR_OP_split ? k->out[i] : k->in[i];
            if (!lies_in(m, big, part, k->attr[0].i, at)) return false;
            at += dim_size(&m->r->tensors.p[part].dim[k->attr[0].i]);
        }
        return true;
    default:
        return true;
    }
}

// --- attention

// A cut of kv heads is one of the query heads too, so that every part has its own keys.
static bool heads(mp *m, int q, int k)
{
    const rec_tensor *s = &m->r->tensors.p[q], *t = &m->r->tensors.p[k];
    if (s->rank != 4 || t->rank != 4) return mp_fail(m, "has operands of other dims");
    if (cut_at(m, k, 1) < 0) return true;
    const rec_dim *a = &s->dim[1], *b = &t->dim[1];
    bool same = cut_at(m, q, 1) == cut_at(m, k, 1) && a->outer == b->outer &&
                a->inner * dim_size(b) == b->inner * dim_size(a);
    return same || mp_fail(m, "has heads cut otherwise than their keys");
}

// --- operands

bool mp_is_index(ir_op op, int slot)
{
    switch ((int)op) {
    case IR_OP_embedding:
    case IR_OP_embedding_bwd:
    case IR_OP_gather:
    case IR_OP_gather_bwd:
    case IR_OP_target_logit:
    case IR_OP_expert_linear:
    case IR_OP_expert_linear_dw:
    case IR_OP_to_rooms:
    case IR_OP_from_rooms:
    case IR_OP_room_linear:
    case IR_OP_room_linear_dw:
        return slot == 1;
    case IR_OP_nll_sum:
    case IR_OP_ce_bwd:
        return slot == 3;
    case IR_OP_count:
        return slot == 0;
    default:
        return false;
    }
}

// The operand whose numbers are put in order, -1: none.
static int ordered(ir_op op)
{
    switch ((int)op) {
    case IR_OP_row_max:
    case IR_OP_max_pool:
    case IR_OP_top_gates:
    case IR_OP_top_index:
    case IR_OP_expert_slots:
        return 0;
    case IR_OP_max_pool_bwd:
    case IR_OP_top_gates_bwd:
        return 1;
    default:
        return -1;
    }
}

bool mp_pattern_op(mp *m, const rec_call *k, const mp_held *in)
{
    for (int i = 0; i < k->n_in; i++) {
        bool sum = in[i].partial[0] == 's' || in[i].partial[1] == 's';
        if (mp_is_index((ir_op)k->op, i) && (sum || in[i].partial[0] || in[i].partial[1]))
            return mp_fail(m, "reads positions from parts of a sum");
        if (i == ordered((ir_op)k->op) && sum)
            return mp_fail(m, "orders numbers that are parts of a sum");
    }
    if (k->op == IR_OP_sdpa) return heads(m, k->in[0], k->in[1]);
    if (k->op == IR_OP_sdpa_bwd) return heads(m, k->in[1], k->in[2]);
    return views(m, k);
}

// --- changes of state

static bool joint(const mp *m, const rec_dim *d)
{
    return d->axis == SYN_BOTH && m->r->n_axes == SYN_MAX_AXES;
}

bool mp_pattern_move(mp *m, int from, int to, unsigned axes, char how)
{
    const rec_tensor *s = &m->r->tensors.p[from], *t = &m->r->tensors.p[to];
    for (int d = 0; d < s->rank; d++) {
        const rec_dim *a = &s->dim[d], *b = &t->dim[d];
        bool cut = joint(m, a) || (a->axis >= 0 && (axes >> a->axis & 1u));
        if (how == 's' && cut && cut_at(m, from, d) >= 0)
            return mp_fail(m, "adds parts of a cut to each other");
        if ((!joint(m, a) && !joint(m, b)) || axes == 3u) continue;
        if (axes == 1u) return mp_fail(m, "exchanges a cut over both axes along axis 0 alone");
        if (!(joint(m, a) && joint(m, b)) && (joint(m, a) ? b : a)->axis == 1)
            return mp_fail(m, "turns a cut over both axes into one of axis 1");
    }
    return true;
}
