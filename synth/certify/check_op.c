// Part 1 of the certificate, op calls: which form of a node a call is, and what its outputs become.
//
// On each axis by itself (docs/theory.md 1 and 2, from the node's ir_rule alone):
//     factor   some operand or output is cut: all cuts are of one local factor k by one table.
//     Operands
//              that hold k are S there, the others R. An output that holds k is S; one that does
//              not is P by its reducer, and then every term without k must be P itself in one
//              linear operand.
//     through  nothing is cut, some operand is P(sum): one linear operand of every term is P, the
//     rest R;
//              every output is P(sum).
//     none     everything is R.
// The axes do not depend on each other as long as they cut different factors. One factor cut over
// both axes is a cut on each of them, by one table on both: its parts are what the ranks hold, and
// what it leaves partial is P on both.

#include <math.h>

#include "synth/certify/check_model.h"

typedef struct op_call {
    chk *c;
    const rec_call *call;
    int node;
    const ir_node *n;
    const ir_rule *r;
    char out_partial[IR_MAX_OUT][SYN_MAX_AXES];
} op_call;

static chk_buffer *in_buffer(const op_call *o, int i)
{
    return &o->c->buf[o->call->in[i]];
}

static chk_buffer *out_buffer(const op_call *o, int i)
{
    return &o->c->buf[o->call->out[i]];
}

// The local factor that a cut dim cuts, -1 if the cut is not at a factor of the rule.
static int factor_at(const op_call *o, const ir_rule_dim *dims, int dim, const rec_dim *v)
{
    int64_t outer = 1;
    for (int p = 0; p < dims[dim].n; p++) {
        int k = dims[dim].f[p];
        int64_t size = k < 0 ? 1 : o->r->factor[k].size;
        if (k >= 0 && outer == v->outer && size == v->n) {
            int64_t inner = 1;
            for (int q = p + 1; q < dims[dim].n; q++)
                inner *= dims[dim].f[q] < 0 ? 1 : o->r->factor[dims[dim].f[q]].size;
            if (inner == v->inner) return k;
        }
        outer *= size;
    }
    return -1;
}

static int places_of(const ir_rule_dim *dims, int rank, int k)
{
    int n = 0;
    for (int d = 0; d < rank; d++)
        for (int p = 0; p < dims[d].n; p++)
            n += dims[d].f[p] == k;
    return n;
}

static bool in_holds(const op_call *o, int i, int k)
{
    return places_of(o->r->in[i], o->c->g->tensors.p[o->n->in[i]].rank, k) > 0;
}

static bool out_holds(const op_call *o, int i, int k)
{
    return places_of(o->r->out[i], o->c->g->tensors.p[o->n->out[i]].rank, k) > 0;
}

static const char *operand_text(const op_call *o, bool out, int i)
{
    const ir_tensor *t = &o->c->g->tensors.p[out ? o->n->out[i] : o->n->in[i]];
    return hb_fmt(o->c->a, "%s %d (%.*s)", out ? "output" : "operand", i, HB_ARG(t->name)).p;
}

// Boundaries of a table are multiples of the factor's hard grain, or its end.
static bool check_grain(op_call *o, int k, const rec_dim *v)
{
    int64_t grain = o->c->f->cls[o->r->factor[k].cls].grain, at = 0;
    bool whole_steps = grain <= 1 || chk_table_of(o->c, v).step % grain == 0;
    for (int i = 0; !whole_steps && i < v->n_table; i++) {
        at += v->table[i];
        if (at % grain != 0 && at != v->n)
            return chk_fail(
                o->c, "a boundary at %lld of a factor of %lld that is cut in steps of %lld only",
                (long long)at, (long long)v->n, (long long)grain);
    }
    return true;
}

// One operand or output that is cut on the axis: which factor, by which table.
static bool see_cut(op_call *o, int axis, bool out, int i, int *k, const rec_dim **table)
{
    const chk_buffer *b = out ? out_buffer(o, i) : in_buffer(o, i);
    int d = b->cut[axis];
    if (d < 0) return true;
    const rec_dim *v = &b->t->dim[d];
    int here = factor_at(o, out ? o->r->out[i] : o->r->in[i], d, v);
    if (here < 0)
        return chk_fail(o->c, "%s is %.*s, which is no factor that the op could cut",
                        operand_text(o, out, i), HB_ARG(chk_cut_text(o->c, d, v)));
    if (o->r->factor[here].whole || o->c->f->cls[o->r->factor[here].cls].whole)
        return chk_fail(o->c, "%s is %.*s, a factor that the op needs whole",
                        operand_text(o, out, i), HB_ARG(chk_cut_text(o->c, d, v)));
    if (*k < 0) {
        *k = here;
        *table = v;
        return check_grain(o, here, v);
    }
    if (*k != here)
        return chk_fail(o->c, "%s is %.*s, another operand is cut on another factor",
                        operand_text(o, out, i), HB_ARG(chk_cut_text(o->c, d, v)));
    if (!chk_same_table(v, *table))
        return chk_fail(o->c, "%s is %.*s, another operand is cut by another table (%.*s)",
                        operand_text(o, out, i), HB_ARG(chk_cut_text(o->c, d, v)),
                        HB_ARG(chk_table_text(o->c, *table)));
    return true;
}

// Zeros are as well whole as parts of a sum.
static bool is_zero(const op_call *o, int i)
{
    int value = in_buffer(o, i)->value, t = value >= 0 ? o->c->tensor_of[value] : -1;
    int p = t >= 0 ? o->c->g->tensors.p[t].producer : -1;
    const ir_node *n = p >= 0 ? &o->c->g->nodes.p[p] : NULL;
    return n && n->op == IR_OP_full &&
           fpclassify(n->attr[ir_attr_index(IR_OP_full, "value")].f) == FP_ZERO;
}

// Every term from a set must have exactly one P(sum) operand, linear in it; all other operands R.
// held: factor that exempts a term (-1: none does).
static bool check_terms(op_call *o, int axis, int held, bool must)
{
    for (int t = 0; t < o->r->n_terms; t++) {
        int partial = -1;
        bool present = false, exempt = false, zero = false;
        for (int i = 0; i < o->call->n_in; i++) {
            if (o->r->term[i] != t) continue;
            present = true;
            exempt = exempt || (held >= 0 && in_holds(o, i, held));
            zero = zero || ((o->r->linear >> i & 1u) && is_zero(o, i));
            if (!in_buffer(o, i)->partial[axis]) continue;
            if (in_buffer(o, i)->partial[axis] != 's' || !(o->r->linear >> i & 1u))
                return chk_fail(o->c, "%s is %.*s on axis %d, the op needs it whole",
                                operand_text(o, false, i),
                                HB_ARG(chk_state(o->c, in_buffer(o, i), axis)), axis);
            if (partial >= 0)
                return chk_fail(o->c, "operands %d and %d are both P on axis %d, one may be",
                                partial, i, axis);
            partial = i;
        }
        if (!present) continue;
        if (partial >= 0 && (exempt || !must))
            return chk_fail(o->c, "%s is P(sum) on axis %d, the op needs R",
                            operand_text(o, false, partial), axis);
        if (partial < 0 && !exempt && !zero && must) {
            int i = 0;
            while (o->r->term[i] != t)
                i++;
            return chk_fail(
                o->c,
                "%s is %.*s on axis %d, but the other terms are partial sums: it would be "
                "added once a rank",
                operand_text(o, false, i), HB_ARG(chk_state(o->c, in_buffer(o, i), axis)), axis);
        }
    }
    return true;
}

static bool cut_sharding(op_call *o, int axis, int k, const rec_dim *table)
{
    bool leaves_partial = false, all_sums = true;
    for (int i = 0; i < o->call->n_in; i++) {
        const chk_buffer *b = in_buffer(o, i);
        int places = places_of(o->r->in[i], b->t->rank, k);
        if (places > 1)
            return chk_fail(o->c, "not supported: a cut factor that stands twice in operand %d", i);
        if (places == 1 && b->cut[axis] < 0)
            return chk_fail(o->c, "%s is %.*s on axis %d, the op needs it cut as the others (%.*s)",
                            operand_text(o, false, i), HB_ARG(chk_state(o->c, b, axis)), axis,
                            HB_ARG(chk_table_text(o->c, table)));
    }
    for (int i = 0; i < o->n->n_out; i++) {
        const chk_buffer *b = out_buffer(o, i);
        int places = places_of(o->r->out[i], b->t->rank, k);
        if (places > 1)
            return chk_fail(o->c, "not supported: a cut factor that stands twice in output %d", i);
        if (places == 1 && b->cut[axis] < 0)
            return chk_fail(o->c,
                            "%s is declared whole on axis %d, the op leaves it cut as its operands",
                            operand_text(o, true, i), axis);
        if (places == 1) continue;
        leaves_partial = true;
        if (o->r->reducer[i] == '-')
            return chk_fail(o->c,
                            "%s cannot be put together from parts over the factor cut on axis %d",
                            operand_text(o, true, i), axis);
        all_sums = all_sums && o->r->reducer[i] == 's';
        o->out_partial[i][axis] = o->r->reducer[i];
    }
    if (leaves_partial)
        for (int i = 0; i < o->n->n_out; i++)
            if (out_holds(o, i, k)) all_sums = false; // then no term may pass a P
    bool through = false;
    for (int i = 0; i < o->call->n_in; i++)
        through = through || in_buffer(o, i)->partial[axis];
    if (through && !all_sums && leaves_partial)
        return chk_fail(o->c, "an operand is partial on axis %d, which this op cannot pass on",
                        axis);
    return check_terms(o, axis, k, leaves_partial);
}

static bool through_sharding(op_call *o, int axis)
{
    bool partial = false;
    for (int i = 0; i < o->call->n_in; i++)
        partial = partial || in_buffer(o, i)->partial[axis];
    if (!partial) return true;
    if (!check_terms(o, axis, -1, true)) return false;
    for (int i = 0; i < o->n->n_out; i++) {
        if (o->r->reducer[i] != 's')
            return chk_fail(
                o->c, "an operand is P(sum) on axis %d, which does not pass through this op", axis);
        o->out_partial[i][axis] = 's';
    }
    return true;
}

static bool axis_sharding(op_call *o, int axis)
{
    int k = -1;
    const rec_dim *table = NULL;
    for (int i = 0; i < o->call->n_in; i++)
        if (!see_cut(o, axis, false, i, &k, &table)) return false;
    for (int i = 0; i < o->n->n_out; i++)
        if (!see_cut(o, axis, true, i, &k, &table)) return false;
    return k >= 0 ? cut_sharding(o, axis, k, table) : through_sharding(o, axis);
}

static bool as_node(op_call *o, int node)
{
    o->node = node;
    o->n = &o->c->g->nodes.p[node];
    o->r = o->c->f->rule[node];
    for (int i = 0; i < IR_MAX_OUT; i++)
        for (int a = 0; a < SYN_MAX_AXES; a++)
            o->out_partial[i][a] = 0;
    if (o->call->n_out != o->n->n_out)
        return chk_fail(o->c, "%d outputs, node %.*s has %d", o->call->n_out, HB_ARG(o->n->name),
                        o->n->n_out);
    for (int i = 0; i < o->n->n_out; i++)
        if (!chk_fits(o->c, o->call->out[i], o->n->out[i], NULL))
            return chk_fits(o->c, o->call->out[i], o->n->out[i], operand_text(o, true, i));
    for (int a = 0; a < o->c->r->n_axes; a++)
        if (!axis_sharding(o, a)) return false;
    return true;
}

// Element i of the output takes the place of element i of the operand.
static bool lies_over(const op_call *o, const chk_buffer *x, const chk_buffer *y)
{
    return ir_op_of(o->n->op)->flags & IR_OVER && x->t->dtype == y->t->dtype &&
           x->elements == y->elements && chk_same_range(o->c, x, y);
}

// Outputs apart from each other and from operands, but for ops that write in place or over an
// operand, and for views of the same bytes. *content: what the bytes of output 0 become, 0 new.
static bool check_aliasing(op_call *o, int *content)
{
    chk *c = o->c;
    const ir_op_info *row = ir_op_of(o->n->op);
    bool in_place = row->flags & IR_IN_PLACE;
    *content = 0;
    for (int i = 0; i < o->n->n_out; i++) {
        if (in_place && o->call->out[i] != o->call->in[i])
            return chk_fail(c,
                            "output %d is tensor %d, the op writes over its operand %d (tensor %d)",
                            i, o->call->out[i], i, o->call->in[i]);
        for (int k = 0; k < i; k++)
            if (o->call->out[k] == o->call->out[i] ||
                chk_overlap(c, out_buffer(o, k), out_buffer(o, i)))
                return chk_fail(c, "outputs %d and %d share bytes", k, i);
        for (int k = 0; k < o->call->n_in; k++) {
            if (in_place && k == i) continue;
            bool same = o->call->in[k] == o->call->out[i];
            if (!same && !chk_overlap(c, in_buffer(o, k), out_buffer(o, i))) continue;
            if (lies_over(o, in_buffer(o, k), out_buffer(o, i))) continue;
            if (!same && (row->flags & IR_ZERO_COPY) &&
                chk_same_range(c, in_buffer(o, k), out_buffer(o, i))) {
                *content = in_buffer(o, k)->content;
                continue;
            }
            return chk_fail(c, "output %d shares bytes with operand %d", i, k);
        }
    }
    return true;
}

bool chk_op(chk *c, const rec_call *call)
{
    op_call o = {.c = c, .call = call};
    int values[IR_MAX_IN];
    if (call->n_in > IR_MAX_IN || call->n_out > IR_MAX_OUT || call->op < 0 || call->op >= IR_N_OPS)
        return chk_fail(c, "is no op of the table with so many operands");
    for (int i = 0; i < call->n_in; i++) {
        if (!chk_read(c, call->in[i], "operand", i)) return false;
        values[i] = c->buf[call->in[i]].value;
    }
    hb_str why_not;
    int head = chk_find(c, call, values, &why_not);
    if (head < 0) return chk_fail(c, "is no node of the graph: %.*s", HB_ARG(why_not));
    hb_str first = {0};
    int node = head;
    for (; node >= 0; node = c->alike_next[node]) { // equal nodes may have finer or coarser factors
        if (as_node(&o, node)) break;
        if (first.n == 0) first = *c->why;
    }
    if (node < 0) {
        *c->why = first;
        return false;
    }
    int content;
    if (!check_aliasing(&o, &content)) return false;
    for (int i = 0; i < o.n->n_out; i++) {
        if (!chk_write(c, call->out[i], "output", i, content)) return false;
        chk_hold(c, call->out[i], c->value_of[o.n->out[i]], o.out_partial[i]);
    }
    *c->why = (hb_str){0};
    return true;
}
