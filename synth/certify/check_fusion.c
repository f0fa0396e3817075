// Fusions: the calls between hap_fuse and hap_fused, which one kernel may run.
//
// One by one they are proved like all calls. As one kernel they read and write at the same time and
// leave what is not kept unwritten. So nothing but ops of kind EACH and ROWS, and sums, stands in a
// fusion; what is kept holds its value at the end and lies apart from all that the fusion reads
// from memory, unless it takes the place of such a buffer exactly, element by element; and what is
// not kept is lost.

#include "synth/certify/check_model.h"

bool chk_fuse(chk *c)
{
    c->fusion = c->at;
    return true;
}

static bool among(const int *v, int n, int x)
{
    for (int i = 0; i < n; i++)
        if (v[i] == x) return true;
    return false;
}

static bool made_between(const chk *c, int from, int to, int buffer)
{
    for (int k = from; k < to; k++)
        if (among(c->r->calls.p[k].out, c->r->calls.p[k].n_out, buffer)) return true;
    return false;
}

// The kernel writes `kept` while it reads `read`.
static bool apart(chk *c, int kept, int read)
{
    const chk_buffer *x = &c->buf[kept], *y = &c->buf[read];
    if (!chk_overlap(c, x, y)) return true;
    if (chk_same_range(c, x, y) && x->t->dtype == y->t->dtype && x->elements == y->elements &&
        x->t->rank == y->t->rank)
        return true;
    return chk_fail(c, "tensor %d is written while tensor %d, which shares bytes, is read", kept,
                    read);
}

bool chk_fused(chk *c, const rec_call *call)
{
    int from = c->fusion + 1;
    if (c->fusion < 0) return chk_fail(c, "ends no fusion");
    for (int k = from; k < c->at; k++) {
        const rec_call *v = &c->r->calls.p[k];
        const ir_op_info *row = ir_op_of((ir_op)v->op);
        if (!(row->flags & (IR_EACH | IR_ROWS)) && row->role != IR_ROLE_columns)
            return chk_fail(c, "op_%s cannot be in a fusion", row->name);
        for (int i = 0; i < v->n_in; i++) {
            if (made_between(c, from, k, v->in[i])) continue;
            for (int o = 0; o < call->n_in; o++)
                if (!apart(c, call->in[o], v->in[i])) return false;
        }
    }
    for (int o = 0; o < call->n_in; o++) {
        if (!made_between(c, from, c->at, call->in[o]))
            return chk_fail(c, "tensor %d is kept, no op of the fusion makes it", call->in[o]);
        if (!chk_read(c, call->in[o], "kept tensor", o)) return false;
    }
    for (int k = from; k < c->at; k++) {
        const rec_call *v = &c->r->calls.p[k];
        for (int o = 0; o < v->n_out; o++) {
            chk_buffer *b = &c->buf[v->out[o]];
            if (among(call->in, call->n_in, v->out[o]) || b->value < 0) continue;
            b->value = -1;
            b->lost = c->at;
            chk_delist(c, v->out[o]);
        }
    }
    c->fusion = -1;
    return true;
}
