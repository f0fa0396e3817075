// Which casts of a step can go. What a tensor's bytes hold between two calls is known by its place
// in memory alone: from a call that writes there to the next one that does.

#include "cuda/cuda_record.h"

// Operands that a row's kernel reads in any float type, and outputs that it writes in any: a bit
// each. A value rounded by the kernel is the value that a cast of the f32 result rounds.
static const struct {
    unsigned in, out;
} any_float[HAP_N_OPS] = {
    [HAP_OP_add] = {3, 1},        [HAP_OP_sub] = {3, 1},
    [HAP_OP_mul] = {3, 1},        [HAP_OP_scale] = {1, 1},
    [HAP_OP_cast] = {1, 0},       [HAP_OP_gelu] = {1, 1},
    [HAP_OP_gelu_bwd] = {3, 1},   [HAP_OP_relu] = {1, 1},
    [HAP_OP_relu_bwd] = {3, 1},   [HAP_OP_dropout] = {1, 1},
    [HAP_OP_sum] = {1, 1},        [HAP_OP_sumsq] = {1, 0},
    [HAP_OP_row_sum] = {1, 0},    [HAP_OP_row_m2] = {1, 0},
    [HAP_OP_norm_apply] = {1, 1}, [HAP_OP_norm_bwd_stats] = {3, 0},
    [HAP_OP_norm_bwd] = {3, 1},   [HAP_OP_norm_bwd_params] = {3, 3},
    [HAP_OP_embedding] = {1, 1},  [HAP_OP_embedding_bwd] = {1, 1},
    [HAP_OP_adam] = {8, 0},
};

static bool meets(const hap_tensor *a, const hap_tensor *b)
{
    const char *p = a->data, *q = b->data;
    return p < q + b->bytes && q < p + a->bytes;
}

static bool same_place(const hap_tensor *a, const hap_tensor *b)
{
    return a->data == b->data && a->bytes == b->bytes && a->type == b->type;
}

static bool is_float(const hap_tensor *t)
{
    return t->type == HAP_F32 || t->type == HAP_BF16 || t->type == HAP_F16;
}

static bool coll_reads(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (meets(c->src[i], t)) return true;
    return false;
}

static bool coll_writes(const hap_coll_call *c, const hap_tensor *t)
{
    for (int i = 0; i < c->n; i++)
        if (meets(c->dst[i], t)) return true;
    return c->scratch && meets(c->scratch, t);
}

// A collective may read and write at any time from its start to its wait; both calls count as such.
// Between them no call but itself touches what it writes, or the program has a race.
static const hap_coll_call *coll_of(const cuda_record *c, int i)
{
    const cuda_call *e = &c->call[i];
    return e->kind == CUDA_START ? &e->coll : e->kind == CUDA_WAIT ? &c->call[e->other].coll : NULL;
}

static bool reads(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    const hap_coll_call *coll = coll_of(c, i);
    if (coll) return coll_reads(coll, t);
    if (e->kind == CUDA_DONE) return false;
    for (int k = 0; k < e->op.n_in; k++)
        if (e->op.in[k] && meets(e->op.in[k], t)) return true;
    return false;
}

static bool writes(const cuda_record *c, int i, const hap_tensor *t)
{
    const cuda_call *e = &c->call[i];
    const hap_coll_call *coll = coll_of(c, i);
    if (coll) return coll_writes(coll, t);
    if (e->kind == CUDA_DONE) return false;
    for (int k = 0; k < e->op.n_out; k++)
        if (meets(e->op.out[k], t)) return true;
    return false;
}

// Whether a collective that is under way somewhere in calls from..to touches t.
static bool under_way(const cuda_record *c, int from, int to, const hap_tensor *t)
{
    for (int i = 0; i <= to && i < c->n; i++)
        if (c->call[i].kind == CUDA_START && c->call[i].other >= from &&
            (coll_writes(&c->call[i].coll, t) || coll_reads(&c->call[i].coll, t)))
            return true;
    return false;
}

// Read when the step is over, or before the next one writes it.
static bool outlives(const hap_rank *r, const hap_tensor *t)
{
    for (int i = 0; i < r->n_vars; i++)
        if (meets(r->var[i].t, t)) return true;
    return r->loss && meets(r->loss, t);
}

// The first call after i that writes on t; n if none does.
static int next_write(const cuda_record *c, int i, const hap_tensor *t)
{
    for (i++; i < c->n; i++)
        if (writes(c, i, t)) return i;
    return c->n;
}

// `as` with the elements of `of`: the same shape in another type and place.
static hap_tensor *retyped(hap_rank *r, cuda_record *c, const hap_tensor *as, const hap_tensor *of)
{
    hap_tensor t = *as;
    t.type = of->type;
    t.data = of->data;
    t.bytes = of->bytes;
    return cuda_record_own(r, c, &t, sizeof t);
}

// y = cast(x) to a wider type: every reader of y reads x.
static bool widening_goes(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *y = c->call[i].op.out[0], *x = c->call[i].op.in[0];
    if (x->type == HAP_F32 || y->type != HAP_F32 || outlives(r, y)) return false;
    int end = next_write(c, i, y), last = i;
    for (int k = i + 1; k <= end && k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        if (!reads(c, k, y)) continue;
        if (e->kind != CUDA_OP) return false;
        for (int o = 0; o < e->op.n_in; o++) {
            const hap_tensor *in = e->op.in[o];
            if (!in || !meets(in, y)) continue;
            if (!same_place(in, y) || !(any_float[e->op.op].in >> o & 1)) return false;
        }
        last = k;
    }
    // x stays as it is until the last of them has read it.
    for (int k = i + 1; k <= last; k++)
        if (writes(c, k, x)) return false;
    if (last > i && under_way(c, i, last, x)) return false;
    for (int k = i + 1; k <= last; k++) {
        cuda_call *e = &c->call[k];
        if (e->kind != CUDA_OP) continue;
        for (int o = 0; o < e->op.n_in; o++)
            if (e->op.in[o] && same_place(e->op.in[o], y))
                e->op.in[o] = retyped(r, c, e->op.in[o], x);
    }
    return true;
}

// y = cast(x), which alone reads x: who writes x writes y.
static bool writer_casts(hap_rank *r, cuda_record *c, int i)
{
    hap_tensor *y = c->call[i].op.out[0], *x = c->call[i].op.in[0];
    int from = i - 1, slot = -1;
    while (from >= 0 && !writes(c, from, x))
        from--;
    if (from < 0 || c->call[from].kind != CUDA_OP || x->type != HAP_F32) return false;
    if (outlives(r, x) || meets(x, y)) return false;
    hap_op_call *writer = &c->call[from].op;
    for (int o = 0; o < writer->n_out; o++) {
        if (!meets(writer->out[o], x)) continue;
        if (slot >= 0 || !same_place(writer->out[o], x)) return false;
        slot = o;
    }
    if (slot < 0 || !(any_float[writer->op].out >> slot & 1)) return false;
    int end = next_write(c, i, x);
    for (int k = from + 1; k <= end && k < c->n; k++)
        if (k != i && reads(c, k, x)) return false;
    // y's bytes are free from the writer on.
    for (int k = from; k < i; k++)
        if (reads(c, k, y) || writes(c, k, y)) return false;
    if (under_way(c, from, i, y)) return false;
    writer->out[slot] = retyped(r, c, writer->out[slot], y);
    return true;
}

int cuda_fuse(hap_rank *r, cuda_record *c)
{
    int gone = 0;
    for (int i = 0; i < c->n; i++) {
        cuda_call *e = &c->call[i];
        if (e->kind != CUDA_OP || e->op.op != HAP_OP_cast) continue;
        if (!is_float(e->op.in[0]) || !is_float(e->op.out[0])) continue;
        if (!writer_casts(r, c, i) && !widening_goes(r, c, i)) continue;
        e->kind = CUDA_DONE;
        gone++;
    }
    return gone;
}
