// The end of a step, where hundreds of small calls of one kind stand between waits for gradients
// that ranks add up: the sums of squares of all gradients, which are added up one by one, and the
// updates. And hap_partial, which keeps on one rank alone what all of them have.

#include "core/coll_geometry.h"
#include "core/tensor.h"
#include "cuda/fuse/cuda_passes.h"

// Bytes, elements of an update; bytes that a chain squares: while it does, transfers that are
// waited for behind it go on.
enum { SMALL = CUDA_SMALL, MOST_SQUARED = 1 << 28 };

static bool is_number(const hap_tensor *t)
{
    return t->type == HAP_F32 && t->elements == 1;
}

// sumsq, or a sum of two numbers.
static bool is_part(const cuda_call *e)
{
    const hap_op_call *o = &e->op;
    if (e->kind != CUDA_OP || e->chain || e->at || !is_number(o->out[0])) return false;
    return o->op == HAP_OP_sumsq ||
           (o->op == HAP_OP_add && is_number(o->in[0]) && is_number(o->in[1]));
}

// y of hap_partial, read by ops alone: where another rank keeps x, y is 0 in memory of the list's,
// written once, and a sum of squares that nobody else reads is not made; where this one does, ops
// read x.
static void partial_goes(hap_rank *r, cuda_record *c, int i)
{
    cuda_call *e = &c->call[i];
    hap_tensor *y = e->op.out[0], *x = e->op.in[0], there = *y;
    int last, w = cuda_last_write(c, i, x);
    if (y->bytes > SMALL || cuda_outlives(r, y) || !cuda_ops_read(c, i, y, &last)) return;
    bool by_op = w >= 0 && c->call[w].kind == CUDA_OP && !c->call[w].at &&
                 cuda_same_place(c->call[w].op.out[0], x) && !cuda_outlives(r, x);
    bool squares = by_op && c->call[w].op.op == HAP_OP_sumsq && cuda_only_reads(c, w, i, x);
    if (e->keep) {
        if (y->type != x->type || y->bytes != x->bytes) return;
        if (squares) {
            there.data = cuda_record_room(c, y->bytes);
            if (!there.data) return;
            c->call[w].op.out[0] = cuda_retyped(r, c, c->call[w].op.out[0], &there);
        } else {
            if (cuda_next_write(c, i, x) <= last || cuda_under_way(c, i, last, x)) return;
            there.data = x->data;
        }
        e->kind = CUDA_DONE;
    } else {
        there.data = cuda_record_room(c, y->bytes);
        if (!there.data) return;
        if (squares) c->call[w].kind = CUDA_DONE;
        e->once = true;
    }
    const hap_tensor old = *y;
    e->op.out[0] = e->op.in[0] = cuda_record_own(r, c, &there, sizeof there);
    cuda_redirect(r, c, i + 1, last, &old, &there);
}

// Where y lies in x if it is a run of it, at an address for vectors; NULL else.
static void *run_of(const hap_tensor *y, const hap_tensor *x)
{
    if (y->rank == 0 || y->dim[0].outer != 1 || x->dim[0].outer != 1) return NULL;
    int64_t at = y->first[0] * y->dim[0].inner - x->first[0] * x->dim[0].inner;
    for (int d = 1; d < y->rank; d++) {
        if (y->local[d] != x->local[d] || y->first[d] != x->first[d]) return NULL;
        at *= y->local[d];
    }
    char *p = (char *)x->data + at * hap_dtype_bytes(x->type);
    return (uintptr_t)p % 16 ? NULL : p;
}

// y of hap_cut, read by ops alone: they read x, where y is a run of it that stays. Another small y
// lies in memory of the list's.
static void cut_goes(hap_rank *r, cuda_record *c, int i)
{
    cuda_call *e = &c->call[i];
    hap_tensor *y = e->op.out[0], *x = e->op.in[0], there = *y;
    int last;
    if (y->type != x->type || y->rank != x->rank || cuda_outlives(r, y) || cuda_meets(x, y) ||
        !cuda_ops_read(c, i, y, &last) || cuda_next_write(c, i, y) <= last)
        return;
    const hap_tensor old = *y;
    bool stays = cuda_next_write(c, i, x) > last && !cuda_under_way(c, i, last, x);
    there.data = stays ? run_of(y, x) : NULL;
    if (there.data) {
        e->kind = CUDA_DONE;
    } else {
        there.data = y->bytes <= SMALL ? cuda_record_room(c, y->bytes) : NULL;
        if (!there.data) return;
        e->op.out[0] = cuda_record_own(r, c, &there, sizeof there);
    }
    cuda_redirect(r, c, i + 1, last, &old, &there);
}

// Call i may stand before the chain that begins at `first`: the chain reads all that it squares
// before it writes.
static bool fits(const cuda_record *c, int i, int first)
{
    for (int k = first; k <= first + c->call[first].n_joined; k++)
        if (c->call[k].op.op == HAP_OP_sumsq &&
            cuda_meets(c->call[k].op.in[0], c->call[i].op.out[0]))
            return false;
    return true;
}

void cuda_fuse_partials(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++) {
        if (c->call[i].kind == CUDA_PARTIAL) partial_goes(r, c, i);
        if (c->call[i].kind == CUDA_CUT) cut_goes(r, c, i);
    }
}

// A chain stands where its last call stood.
static void join_squares(hap_rank *r, cuda_record *c)
{
    for (int i = 0; i < c->n; i++)
        if (is_part(&c->call[i]) && !cuda_record_keeps(c, c->call[i].op.out[0]))
            cuda_gets_room(r, c, i, c->call[i].op.out[0]);
    int64_t squared = 0;
    for (int i = c->n - 1, first = -1; i >= 0; i--) {
        const hap_op_call *o = &c->call[i].op;
        if (!is_part(&c->call[i])) continue;
        int64_t bytes = o->op == HAP_OP_sumsq ? o->in[0]->bytes : 0;
        bool joins = first >= 0 && squared + bytes <= MOST_SQUARED && fits(c, i, first) &&
                     cuda_leads(c, i, first);
        first = joins ? first - 1 : i;
        squared = (joins ? squared : 0) + bytes;
        if (joins) c->call[first].chain = CUDA_SQUARES;
    }
}

static int64_t bytes_of(const hap_coll_call *coll)
{
    int64_t bytes = 0;
    for (int k = 0; k < coll->n; k++)
        bytes += coll->src[k]->bytes + coll->dst[k]->bytes;
    return bytes;
}

// What a small collective brings for ops lies in memory of the list's: so that it may start before
// what its place in the arena holds back.
static void bring_apart(hap_rank *r, cuda_record *c, int i)
{
    cuda_call *e = &c->call[i];
    int wait = e->other, last;
    if (wait < 0 || hap_form_put(e->coll.form) || bytes_of(&e->coll) > SMALL) return;
    for (int k = 0; k < e->coll.n; k++) {
        const hap_tensor *t = e->coll.dst[k];
        hap_tensor there = *t;
        if (cuda_outlives(r, t) || !cuda_ops_read(c, wait, t, &last)) continue;
        there.data = cuda_record_room(c, t->bytes);
        if (!there.data) return;
        hap_tensor **dst = cuda_record_own(r, c, e->coll.dst, (size_t)e->coll.n * sizeof *dst);
        dst[k] = cuda_record_own(r, c, &there, sizeof there);
        e->coll.dst = dst;
        cuda_redirect(r, c, wait + 1, last, t, &there);
    }
}

// A small collective starts before the updates, and the waits for others, that stand before it.
static void start_early(cuda_record *c, int i)
{
    int to = i;
    if (bytes_of(&c->call[i].coll) > SMALL) return;
    for (int k = i - 1; k >= 0 && !cuda_start_ordered(c, k, i); k--) {
        const cuda_call *e = &c->call[k];
        if (e->kind == CUDA_JOINED) continue;
        if (e->kind != CUDA_DONE && e->kind != CUDA_WAIT && !cuda_updates(e)) break;
        if (e->kind == CUDA_OP) to = k;
    }
    if (to < i) cuda_start_goes(c, i, to);
}

// Several updates stand where the first does. A large one does not pass the start of a transfer
// that takes time, which would come later by it.
static void join_updates(cuda_record *c, int i)
{
    bool waits = false;
    for (int k = i + 1; k < c->n; k++) {
        const cuda_call *e = &c->call[k];
        switch (e->kind) {
        case CUDA_START:
            waits |= bytes_of(&e->coll) > SMALL;
            continue;
        case CUDA_DONE:
        case CUDA_JOINED:
        case CUDA_WAIT:
            continue;
        case CUDA_OP:
            if (cuda_updates(e)) {
                if (!e->chain && (!waits || e->op.in[0]->elements <= SMALL)) cuda_joins(c, i, k);
                continue;
            }
            if (k <= i + c->call[i].n_joined + 8) continue;
            break;
        case CUDA_CUT:
        case CUDA_PARTIAL:
        case CUDA_FUSION:
        case CUDA_PAIR:
        case CUDA_PORT:
            break;
        }
        break;
    }
    if (c->call[i].n_joined > 0) c->call[i].chain = CUDA_UPDATES;
}

// Small updates that waits have kept apart stand where the last does.
static void join_small_updates(cuda_record *c)
{
    for (int i = c->n - 1, first = -1; i >= 0; i--) {
        const cuda_call *e = &c->call[i];
        if (!cuda_updates(e) || e->chain || e->op.in[0]->elements > SMALL) continue;
        bool joins = first >= 0 && cuda_leads(c, i, first);
        first = joins ? first - 1 : i;
        if (joins) c->call[first].chain = CUDA_UPDATES;
    }
}

void cuda_fuse_update(hap_rank *r, cuda_record *c)
{
    join_squares(r, c);
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_START) bring_apart(r, c, i);
    for (int i = 0; i < c->n; i++)
        if (c->call[i].kind == CUDA_START) start_early(c, i);
    for (int i = 0; i < c->n; i++)
        if (cuda_updates(&c->call[i]) && !c->call[i].chain) join_updates(c, i);
    join_small_updates(c);
}
