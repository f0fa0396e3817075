// A parameter's copy in another float type, cast when the step begins, is the value that the update
// at the end of the step before has in hand: the update writes it as well, and the cast is made
// once, by the first pass that runs from the list; again only where the parameter is written from
// outside (hap_backend_close). The copy lies outside the arena, where it outlives the step.

#include "cuda/fuse/cuda_passes.h"

// The call that writes x if it is one and updates all of it; -1 else.
static int update_of(const cuda_record *c, const hap_tensor *x)
{
    int at = cuda_next_write(c, -1, x);
    const cuda_call *e = &c->call[at];
    if (at == c->n || cuda_next_write(c, at, x) < c->n || cuda_under_way(c, 0, c->n, x)) return -1;
    return cuda_updates(e) && e->op.n_out == cuda_update_places(e->op.op) &&
                   cuda_same_place(e->op.in[0], x) && e->op.in[0]->elements == x->elements
               ? at
               : -1;
}

// The last call that reads y, the output of call i, where nobody else writes it; *kept: y is in
// memory of the list's own already. c->n if it cannot be told.
static int last_reader(const cuda_record *c, int i, const hap_tensor *y, bool *kept)
{
    int last = i;
    *kept = cuda_record_keeps(c, y) && cuda_next_write(c, i, y) == c->n;
    if (!*kept) return cuda_ops_or_colls_read(c, i, y, &last) ? last : c->n;
    for (int k = i + 1; k < c->n; k++)
        if (cuda_reads(c, k, y)) last = k;
    return last;
}

static void copy_stays(hap_rank *r, cuda_record *c, int i)
{
    enum { SMALL = CUDA_SMALL };
    hap_tensor *x = c->call[i].op.in[0], *y = c->call[i].op.out[0], there = *y;
    bool kept;
    int update = update_of(c, x), last = last_reader(c, i, y, &kept);
    if (x->type != HAP_F32 || !cuda_is_float(y->type) || y->elements != x->elements ||
        y->elements == 0 || cuda_outlives(r, y) || !cuda_outlives(r, x) || last >= update ||
        cuda_under_way(c, i, kept ? last : i, y))
        return;
    if (!kept) {
        there.data = y->bytes <= SMALL ? cuda_record_room(c, y->bytes)
                                       : cuda_record_spare(r, c, y->bytes, 0, c->n);
        if (!there.data) return;
        const hap_tensor old = *y;
        c->call[i].op.out[0] = cuda_retyped(r, c, y, &there);
        cuda_redirect(r, c, i + 1, last, &old, &there);
    }
    hap_op_call *writer = &c->call[update].op;
    writer->out[writer->n_out++] = c->call[i].op.out[0];
    c->call[i].once = true;
}

void cuda_fuse_copies(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_OP && c->call[i].op.op == HAP_OP_cast) copy_stays(r, c, i);
}
