// Faults of calls: dropped, doubled, moved, with other operands, ops and attributes; and of
// collectives.

#include <math.h>
#include <string.h>

#include "tests/certify/mutate_parts.h"

bool mut_drop_call(mut *m)
{
    int c = mut_choose(m, mut_droppable);
    if (c < 0) return false;
    mut_remove_call(m, c);
    return true;
}

bool mut_drop_start(mut *m)
{
    int c = mut_choose(m, mut_is_start);
    if (c < 0) return false;
    mut_remove_call(m, c);
    return true;
}

static bool is_wait(mut *m, int c)
{
    return mut_call(m, c)->kind == REC_WAIT;
}

bool mut_drop_wait(mut *m)
{
    int c = mut_choose(m, is_wait);
    if (c < 0) return false;
    mut_remove_call(m, c);
    return true;
}

bool mut_double_wait(mut *m)
{
    int c = mut_choose(m, is_wait);
    if (c < 0) return false;
    int to = c + 1 + mut_pick(m, m->r->calls.n - c);
    for (int i = c + 1; i < to; i++) // events may be used again
        if (mut_call(m, i)->kind == REC_START) to = i;
    mut_insert_call(m, to, *mut_call(m, c));
    return true;
}

static bool is_update(mut *m, int c)
{
    return mut_in_place(mut_call(m, c)) && m->needed[c];
}

bool mut_double_update(mut *m)
{
    int c = mut_choose(m, is_update);
    if (c < 0) return false;
    mut_insert_call(m, c + 1, *mut_call(m, c));
    return true;
}

bool mut_late_wait(mut *m)
{
    int s = mut_choose(m, mut_is_start);
    if (s < 0) return false;
    int w = mut_wait_of(m, s), r = -1;
    for (int i = 0; i < mut_call(m, s)->n_out && r < 0; i++)
        r = mut_reader(m, mut_call(m, s)->out[i], w + 1);
    if (w < 0 || r < 0 || r >= m->r->calls.n) return false;
    rec_call k = *mut_call(m, w);
    mut_insert_call(m, r + 1, k);
    mut_remove_call(m, w);
    return true;
}

bool mut_swap_waits(mut *m)
{
    int s = mut_choose(m, mut_is_start);
    if (s < 0) return false;
    int w = mut_wait_of(m, s);
    if (w < 0) return false;
    int r = mut_reader(m, mut_call(m, s)->out[0], w + 1);
    for (int c = r + 1; r >= 0 && c < m->r->calls.n; c++) {
        if (mut_call(m, c)->kind != REC_WAIT) continue;
        int e = mut_call(m, c)->event;
        mut_call(m, c)->event = mut_call(m, w)->event;
        mut_call(m, w)->event = e;
        return true;
    }
    return false;
}

bool mut_early_call(mut *m)
{
    int c = mut_choose(m, mut_is_op);
    if (c < 0) return false;
    rec_call k = *mut_call(m, c);
    if (k.n_in == 0) return false;
    int b = k.in[mut_pick(m, k.n_in)], p = c - 1;
    for (; p >= mut_first_step(m); p--) {
        bool writes = false;
        for (int i = 0; i < mut_call(m, p)->n_out; i++)
            writes = writes || mut_call(m, p)->out[i] == b;
        if (writes) break;
    }
    if (p < mut_first_step(m)) return false;
    uint64_t needs = mut_walk(m, c)[b];
    if (mut_walk(m, p)[b] == needs) return false;
    mut_remove_call(m, c);
    mut_insert_call(m, p, k);
    return true;
}

bool mut_commutes(int op)
{
    switch (op) {
    case IR_OP_add:
    case IR_OP_mul:
    case IR_OP_eq:
    case IR_OP_ne:
    case IR_OP_logical_and:
    case IR_OP_logical_or:
    case IR_OP_row_dot:
        return true;
    default:
        return false;
    }
}

static bool two_operands(mut *m, int c)
{
    return mut_is_op(m, c) && mut_call(m, c)->n_in >= 2 && !mut_commutes(mut_call(m, c)->op);
}

bool mut_swap_operands(mut *m)
{
    int c = mut_choose(m, two_operands);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    int i = mut_pick(m, k->n_in), j = mut_pick(m, k->n_in), t = k->in[i];
    const uint64_t *term = mut_walk(m, c);
    if (term[k->in[i]] == term[k->in[j]]) return false;
    k->in[i] = k->in[j];
    k->in[j] = t;
    return true;
}

// A buffer of the same dims as b with another term before call c; -1.
static int other_term(mut *m, int b, int c)
{
    const uint64_t *term = mut_walk(m, c);
    int n = m->r->tensors.n, at = mut_pick(m, n);
    for (int i = 0; i < n; i++) {
        int o = (at + i) % n;
        if (o != b && term[o] && term[o] != term[b] &&
            mut_same_dims(&m->r->tensors.p[o], &m->r->tensors.p[b]))
            return o;
    }
    return -1;
}

static bool reads(mut *m, int c)
{
    rec_kind k = mut_call(m, c)->kind;
    return m->needed[c] && mut_call(m, c)->n_in > 0 &&
           (k == REC_OP || k == REC_SLICE || k == REC_PARTIAL || k == REC_START);
}

bool mut_wrong_operand(mut *m)
{
    int c = mut_choose(m, reads);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    int i = mut_pick(m, k->n_in), o = other_term(m, k->in[i], c);
    if (o < 0 || mut_in_place(k)) return false;
    k->in[i] = o;
    return true;
}

bool mut_wrong_output(mut *m)
{
    int c = mut_choose(m, mut_droppable);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    int i = mut_pick(m, k->n_out), o = other_term(m, k->out[i], c);
    if (o < 0 || mut_in_place(k) || mut_reader(m, k->out[i], c + 1) < 0) return false;
    uint64_t now = mut_walk(m, c + 1)[k->out[i]];
    if (mut_walk(m, c)[o] == now || mut_reader(m, o, c + 1) < 0) return false;
    k->out[i] = o;
    return true;
}

static bool two_outputs(mut *m, int c)
{
    return mut_is_op(m, c) && mut_call(m, c)->n_out >= 2;
}

bool mut_swap_outputs(mut *m)
{
    int c = mut_choose(m, two_outputs);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    int i = mut_pick(m, k->n_out), j = (i + 1) % k->n_out, t = k->out[i];
    if (mut_reader(m, k->out[i], c + 1) < 0 && mut_reader(m, k->out[j], c + 1) < 0) return false;
    k->out[i] = k->out[j];
    k->out[j] = t;
    return true;
}

// An op that reads the result of a call of the kind reads its source instead.
static bool skip_call(mut *m, bool reduce)
{
    int first = mut_first_step(m), n = m->r->calls.n - first, at = mut_pick(m, n);
    for (int i = 0; i < n; i++) {
        int c = first + (at + i) % n;
        const rec_call *k = mut_call(m, c);
        bool is =
            reduce ? k->kind == REC_START && k->coll == COST_ALL_REDUCE : k->kind == REC_PARTIAL;
        if (!is || k->out[0] == k->in[0]) continue;
        int from = k->in[0], to = k->out[0];
        for (int o = c + 1; o < m->r->calls.n; o++) {
            rec_call *u = mut_call(m, o);
            if (!mut_is_op(m, o) || mut_in_place(u)) continue;
            for (int p = 0; p < u->n_in; p++) {
                if (u->in[p] != to) continue;
                u->in[p] = from;
                return true;
            }
        }
    }
    return false;
}

bool mut_skip_reduce(mut *m)
{
    return skip_call(m, true);
}

bool mut_skip_partial(mut *m)
{
    return skip_call(m, false);
}

bool mut_wrong_op(mut *m)
{
    int c = mut_choose(m, mut_is_op);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    const ir_op_info *row = ir_op_of((ir_op)k->op);
    if (row->n_attr > 0) return false;
    int at = mut_pick(m, IR_N_OPS);
    for (int i = 0; i < IR_N_OPS; i++) {
        int o = (at + i) % IR_N_OPS;
        const ir_op_info *other = ir_op_of((ir_op)o);
        if (o == k->op || other->n_attr > 0 || other->n_out != row->n_out ||
            k->n_in < other->min_in || k->n_in > other->max_in)
            continue;
        k->op = o;
        return true;
    }
    return false;
}

bool mut_wrong_attr(mut *m)
{
    int c = mut_choose(m, mut_is_op);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    const ir_op_info *row = ir_op_of((ir_op)k->op);
    if (row->n_attr == 0) return false;
    int i = mut_pick(m, row->n_attr);
    ir_attr *own = hb_copy(m->a, k->attr, sizeof *k->attr * (size_t)row->n_attr), *v = &own[i];
    k->attr = own;
    if (strcmp(row->attr[i].name, "key") == 0) { // unused where nothing is dropped
        const char *p = k->op == IR_OP_dropout ? "p" : "dropout";
        if (!(k->attr[ir_attr_index((ir_op)k->op, p)].f > 0)) return false;
    }
    switch (row->attr[i].kind) {
    case IR_ATTR_INT:
        v->i += mut_pick(m, 2) ? 1 : -1;
        break;
    case IR_ATTR_BOOL:
        v->i = !v->i;
        break;
    case IR_ATTR_DTYPE:
        v->i = (v->i + 1 + mut_pick(m, IR_N_DTYPES - 1)) % IR_N_DTYPES;
        break;
    case IR_ATTR_REAL:
        v->f = mut_pick(m, 2) ? nextafter(v->f, 1e30) : v->f + 1;
        break;
    case IR_ATTR_INTS:
        if (v->n == 0) return false;
        v->v[mut_pick(m, v->n)] += 1;
        break;
    }
    return true;
}

// A buffer of an op call that is cut on an axis on which another buffer of the call is cut as well.
// The call moves behind the end of its buffer's first life: some reader sees the value before it.
bool mut_late_call(mut *m)
{
    int c = mut_choose(m, mut_droppable);
    if (c < 0) return false;
    rec_call k = *mut_call(m, c);
    int r = mut_reader(m, k.out[0], c + 1);
    if (r < 0 || r >= m->r->calls.n || mut_in_place(&k)) return false;
    mut_insert_call(m, r + 1, k);
    mut_remove_call(m, c);
    return true;
}

bool mut_wrong_form(mut *m)
{
    static const unsigned has[] = {[COST_ALL_GATHER] = 0x8f,
                                   [COST_REDUCE_SCATTER] = 0x9f,
                                   [COST_ALL_REDUCE] = 0xe0,
                                   [COST_ALL_TO_ALL] = 0x89,
                                   [COST_RESHARD] = 0x9};
    int c = mut_choose(m, mut_is_start);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    cost_form f = (cost_form)mut_pick(m, COST_PUTS + 1);
    bool exists = has[k->coll] >> f & 1u;
    if (f == COST_TWO_LEVEL && k->coll == COST_ALL_REDUCE) exists = k->axes == 3u;
    if (f == COST_PUTS) { // none in flight, or one more than there are others, or any number
        int n = (k->axes & 1u ? m->r->size[0] : 1) *
                (k->axes & 2u && m->r->n_axes == 2 ? m->r->size[1] : 1);
        int copies = mut_pick(m, 3) == 0 ? 0 : mut_pick(m, 2) ? n : 1 + mut_pick(m, n + 2);
        exists = exists && copies > 0 && copies < (n > 1 ? n : 2) && !k->reduce_max;
        f = COST_PUT(copies);
    }
    if (f == COST_EVEN && (k->coll == COST_ALL_GATHER || k->coll == COST_REDUCE_SCATTER)) {
        int axis = k->axes == 2u ? 1 : 0;
        const rec_tensor *t = &m->r->tensors.p[k->coll == COST_ALL_GATHER ? k->in[0] : k->out[0]];
        const rec_dim *d = &t->dim[mut_axis_cut(t, axis)];
        int group = d->axis == SYN_BOTH && k->axes == 2u ? m->r->size[1] : d->n_table;
        for (int i = 0; i < d->n_table; i++)
            exists = exists && d->table[i] == d->table[i - i % group];
    }
    if (exists) return false;
    k->form = f;
    return true;
}

static bool is_reduce(mut *m, int c)
{
    return mut_is_start(m, c) && mut_call(m, c)->coll == COST_ALL_REDUCE;
}

bool mut_wrong_reducer(mut *m)
{
    int c = mut_choose(m, is_reduce);
    if (c < 0) return false;
    mut_call(m, c)->reduce_max = !mut_call(m, c)->reduce_max;
    return true;
}

bool mut_wrong_coll(mut *m)
{
    int c = mut_choose(m, mut_is_start);
    if (c < 0) return false;
    rec_call *k = mut_call(m, c);
    k->coll = (cost_coll)(((int)k->coll + 1 + mut_pick(m, COST_RESHARD)) % (COST_RESHARD + 1));
    k->reduce_max = false;
    return true;
}

bool mut_wrong_mask(mut *m)
{
    int c = mut_choose(m, mut_is_start);
    if (c < 0 || m->r->n_axes < 2) return false;
    rec_call *k = mut_call(m, c);
    k->axes =
        (k->axes - 1 + 1 + (unsigned)mut_pick(m, 2)) % 3 + 1; // one of the other two of {1, 2, 3}
    return true;
}
