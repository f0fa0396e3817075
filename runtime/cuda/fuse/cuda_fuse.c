// Which casts of a step can go, and which calls one kernel runs.
//
// hap_op_any_float says what a kernel reads and writes in any float type: a value rounded by the
// kernel is the value that a cast of the f32 result rounds.

#include "cuda/fuse/cuda_fuse.h"

#include "cuda/fuse/cuda_passes.h"

// Call i makes y = cast(x) to a wider type: every reader of y reads x.
static bool widening_goes(hap_rank *r, cuda_record *c, int i, hap_tensor *y, hap_tensor *x)
{
    if (x->type == HAP_F32 || y->type != HAP_F32 || cuda_outlives(r, y)) return false;
    int end = cuda_next_write(c, i, y), last = i;
    for (int k = i + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!cuda_reads(c, k, y)) continue;
        if (e->kind != CUDA_OP) return false;
        for (int o = 0; o < e->op.n_in; o++) {
            const hap_tensor *in = e->op.in[o];
            if (!in || !cuda_meets(in, y)) continue;
            if (!cuda_same_place(in, y) || !(hap_op_any_float[e->op.op].in >> o & 1)) return false;
        }
        last = k;
    }
    // x stays as it is until the last of them has read it.
    for (int k = i + 1; k <= last; k++)
        if (cuda_writes(c, k, x)) return false;
    if (last > i && cuda_under_way(c, i, last, x)) return false;
    for (int k = i + 1; k <= last; k++) {
        cuda_call *e = &c->call[k];
        if (e->kind != CUDA_OP) continue;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && cuda_same_place(e->op.in[o], y))
                e->op.in[o] = cuda_retyped(r, c, e->op.in[o], x);
    }
    return true;
}

// y = cast(x), which alone reads x: who writes x writes y.
static bool writer_casts(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *y = c->call[i].op.out[0], *x = c->call[i].op.in[0];
    int from = i - 1, slot = -1;
    while (from >= 0 && !cuda_writes(c, from, x))
        from--;
    if (from < 0 || c->call[from].kind != CUDA_OP || x->type != HAP_F32) return false;
    if (cuda_outlives(r, x) || cuda_meets(x, y)) return false;
    hap_op_call *writer = &c->call[from].op;
    for (int o = 0; o < writer->n_out; o++) {
        if (!cuda_meets(writer->out[o], x)) continue;
        if (slot >= 0 || !cuda_same_place(writer->out[o], x)) return false;
        slot = o;
    }
    if (slot < 0 || !(hap_op_any_float[writer->op].out >> slot & 1)) return false;
    int end = cuda_next_write(c, i, x);
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != i && cuda_reads(c, k, x)) return false;
    // y's bytes are free from the writer on.
    for (int k = from; k < i; k++)
        if (cuda_reads(c, k, y) || cuda_writes(c, k, y)) return false;
    if (cuda_under_way(c, from, i, y)) return false;
    writer->out[slot] = cuda_retyped(r, c, writer->out[slot], y);
    return true;
}

// Casts that a fusion's kernel keeps for others.
static void fusion_casts(hap_rank *r, cuda_record *c, int i)
{
    cuda_fusion *g = c->call[i].fusion;
    for (int k = 0; k < g->n_tensors; k++) {
        if (!g->tensor[k].written || g->tensor[k].cast_of < 0) continue;
        hap_tensor *y = g->tensor[k].t, *x = g->tensor[g->tensor[k].cast_of].t;
        if (!cuda_is_float(x->type) || !cuda_is_float(y->type) || cuda_writes(c, i, x) ||
            !widening_goes(r, c, i, y, x))
            continue;
        g->tensor[k].written = false;
        g->args.tensor[k] = NULL;
    }
}

int cuda_fuse(hap_rank *r, cuda_record *c)
{
    int gone = 0;
    if (r->opt.cuda.fuse == HAP_CUDA_fuse_off) return 0;
    for (int i = 0; i < c->n; i++) {
        cuda_call *e = &c->call[i];
        if (e->kind == CUDA_FUSION) fusion_casts(r, c, i);
        if (e->kind != CUDA_OP) continue;
        hap_tensor *x = e->op.n_in ? e->op.in[0] : NULL, *y = e->op.out[0];
        if (e->op.op == HAP_OP_reshape) { // one in place moves nothing
            if (x->data == y->data && x->bytes == y->bytes) e->kind = CUDA_DONE;
        } else if (e->op.op == HAP_OP_cast) {
            if (cuda_is_float(x->type) && cuda_is_float(y->type) &&
                (writer_casts(r, c, i) || widening_goes(r, c, i, e->op.out[0], e->op.in[0])))
                e->kind = CUDA_DONE;
        }
    }
    bool exact = r->opt.cuda.fuse == HAP_CUDA_fuse_exact;
    cuda_fuse_partials(r, c);
    cuda_fuse_heads(r, c);
    if (!exact) cuda_fuse_gemms(r, c);
    cuda_fuse_copies(r, c);
    if (!exact) cuda_fuse_splits(r, c);
    cuda_fuse_update(r, c);
    if (!exact) cuda_fuse_gated(r, c);
    cuda_fuse_chains(r, c, exact);
    for (int i = 0; i < c->n; i++)
        gone += c->call[i].kind == CUDA_DONE || c->call[i].kind == CUDA_JOINED;
    return gone;
}
