// Pairs: the calls between hap_overlap and hap_overlapped, which run at the same time, chunk of
// rows by chunk of rows.
//
// One by one they are proved like all calls. Beside each other they must be a collective and
// matmuls whose rows it moves: the start of an all-gather or all-to-all, its wait and products of
// what it brings, or one matmul and the start of the collective that moves what it makes. A row is
// what the op table says of the matmul; an all-to-all changes a cut of rows and one inside of a row
// into each other. Whatever one of
// them writes lies apart from all else that they read or write (an all-reduce in place exactly on
// its source), so that rows may be written while others are read. What a member holds of the moved
// factor is one range of rows, in every rank's memory, and every rank's rows have a chunk. What one
// member passes on to another came to it with chunks before, whatever rows an owner has: parts of
// two distances of which no share is the same have no row in common.

#include <stdlib.h>

#include "synth/certify/check_model.h"
#include "synth/plan/search_limits.h"

bool chk_pair(chk *c)
{
    c->pair = c->at;
    return true;
}

bool chk_tiles(chk *c)
{
    return (c->pair >= 0 && c->at == c->pair + 1) ||
           chk_fail(c, "stands not directly behind hap_overlap");
}

static bool is_matmul(chk *c, const rec_call *k)
{
    const char *name = k->kind == REC_OP ? ir_op_of((ir_op)k->op)->name : "call";
    if (k->kind != REC_OP || !ir_op_of((ir_op)k->op)->by_rows)
        return chk_fail(c, "%s%s in a pair, where matmuls stand", k->kind == REC_OP ? "op_" : "a ",
                        name);
    const rec_tensor *x = c->buf[k->in[0]].t, *w = c->buf[k->in[1]].t;
    return ir_by_rows((ir_op)k->op, k->attr, x->rank, w->rank) ||
           chk_fail(c, "op_%s in a pair goes not row by row", name);
}

// Of the side that is cut over the collective's axes: the dim, -1 none.
static int cut_dim(const chk *c, const rec_tensor *t, unsigned axes)
{
    for (int d = 0; d < t->rank; d++) {
        int axis = t->dim[d].axis;
        if (axis >= 0 && (axis == SYN_BOTH ? axes >> (c->r->n_axes - 1) & 1u : axes >> axis & 1u))
            return d;
    }
    return -1;
}

// The moved factor is the outermost of the rows, whose last dims are `row_dims`.
static bool outermost(chk *c, const rec_call *start, bool consumer, int row_dims)
{
    if (start->coll == COST_ALL_REDUCE) return true;
    const rec_tensor *t = c->buf[consumer ? start->in[0] : start->out[0]].t;
    const rec_tensor *other = c->buf[consumer ? start->out[0] : start->in[0]].t;
    int at = cut_dim(c, t, start->axes), lead = t->rank - row_dims;
    if (start->coll == COST_ALL_TO_ALL && cut_dim(c, other, start->axes) < lead)
        return chk_fail(c, "the all-to-all of a pair is one between cuts of rows");
    bool first = at >= 0 && at < lead && t->dim[at].outer == 1;
    for (int k = 0; k < c->n_kinds && first; k++)
        for (int d = 0; d < at; d++)
            first = first && chk_held(c, &t->dim[d], c->rank_of_kind[k]) <= 1;
    return first || chk_fail(c, "what the pair moves is not the outermost of the matmul's rows");
}

// Buffers of a pair.
typedef struct pair_use {
    int n, buffer[4 + SYN_PAIR_OPS * (IR_MAX_IN + 1)];
    bool written[4 + SYN_PAIR_OPS * (IR_MAX_IN + 1)];
} pair_use;

static void use(pair_use *u, int buffer, bool written)
{
    if (buffer < 0) return;
    for (int i = 0; i < u->n; i++)
        if (u->buffer[i] == buffer) {
            u->written[i] = u->written[i] || written;
            return;
        }
    u->buffer[u->n] = buffer;
    u->written[u->n++] = written;
}

static bool check_apart(chk *c, const pair_use *u, const rec_call *start)
{
    for (int i = 0; i < u->n; i++)
        for (int k = 0; k < u->n; k++) {
            const chk_buffer *x = &c->buf[u->buffer[i]], *y = &c->buf[u->buffer[k]];
            if (i == k || !u->written[i] || !chk_overlap(c, x, y)) continue;
            bool source = (u->buffer[i] == start->in[0] && u->buffer[k] == start->out[0]) ||
                          (u->buffer[k] == start->in[0] && u->buffer[i] == start->out[0]);
            if (source && start->coll == COST_ALL_REDUCE && chk_same_range(c, x, y)) continue;
            return chk_fail(c, "tensor %d is written beside tensor %d, which shares bytes",
                            u->buffer[i], u->buffer[k]);
        }
    return true;
}

static bool check_collective(chk *c, const rec_call *overlap, const rec_call *start)
{
    bool flat = start->coll == COST_ALL_REDUCE && start->form == COST_FLAT;
    if (start->n_in != 1 || start->reduce_max || start->coll == COST_RESHARD ||
        !(flat || cost_is_put(start->form)))
        return chk_fail(c, "there is no pair of this %s, form %s", cost_coll_name(start->coll),
                        cost_form_name(start->form).s);
    int64_t n = start->coll == COST_ALL_REDUCE ? 1 : chk_group_size(c, start->axes);
    return chk_chunks(c, overlap, start, n);
}

// What the matmuls of a pair and its collective have to do with each other.
static bool check_rows(chk *c, const rec_call *op, int n_ops, const rec_call *start, bool consumer,
                       const rec_call *list)
{
    int row_dims = 0;
    for (int i = 0; i < n_ops; i++) {
        if (!is_matmul(c, &op[i])) return false;
        int dims = ir_op_of((ir_op)op[i].op)->row_dims;
        if (i > 0 && dims != row_dims)
            return chk_fail(c, "products of the pair go by other rows than the first");
        row_dims = dims;
        if (consumer && op[i].in[0] != start->out[0])
            return chk_fail(c, "a product of the pair does not read what is gathered");
        if (!consumer && op[i].out[0] != start->in[0])
            return chk_fail(c, "the pair does not move what its matmul makes");
        for (int k = 1; k < op[i].n_in && consumer; k++)
            if (op[i].in[k] == start->out[0])
                return chk_fail(c, "a product of the pair reads what is gathered twice");
    }
    if (list && (row_dims != 1 || (consumer && start->coll == COST_ALL_TO_ALL)))
        return chk_fail(c, "there are no tiles of such a pair");
    return outermost(c, start, consumer, row_dims);
}

bool chk_paired(chk *c)
{
    if (c->pair < 0) return chk_fail(c, "ends no pair");
    const rec_call *overlap = c->r->calls.p + c->pair, *call = overlap + 1;
    const rec_call *list = call->kind == REC_TILES ? call++ : NULL;
    int n = (int)(c->r->calls.p + c->at - call);
    bool consumer = n > 0 && call[0].kind == REC_START;
    pair_use u = {.n = 0};
    if (consumer ? n < 3 || n > 2 + SYN_PAIR_OPS ||
                       (call[0].coll != COST_ALL_GATHER && call[0].coll != COST_ALL_TO_ALL) ||
                       call[1].kind != REC_WAIT || call[1].event != call[0].event
                 : n != 2 || call[1].kind != REC_START || call[1].coll == COST_ALL_GATHER)
        return chk_fail(c, "ends what is neither an all-gather, its wait and matmuls nor a "
                           "matmul and the collective behind it");
    const rec_call *start = &call[consumer ? 0 : 1], *op = &call[consumer ? 2 : 0];
    int n_ops = consumer ? n - 2 : 1;
    if (!check_collective(c, overlap, start)) return false;
    if (!check_rows(c, op, n_ops, start, consumer, list)) return false;
    if (list && !chk_list(c, list, start)) return false;
    use(&u, start->in[0], false);
    use(&u, start->out[0], true);
    use(&u, start->scratch, true);
    for (int i = 0; i < n_ops; i++) {
        for (int k = 0; k < op[i].n_in; k++)
            use(&u, op[i].in[k], false);
        use(&u, op[i].out[0], true);
    }
    if (!check_apart(c, &u, start)) return false;
    c->pair = -1;
    return true;
}
