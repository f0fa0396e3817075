// Pairs among ranks that are no peers: transfers point to point by NCCL, on one stream.

#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_pair_run.h"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_put_add.h"

static void nccl(const cuda_running_pair *x, ncclResult_t e, const char *call)
{
    cuda_nccl_check(x->r, e, call);
}

static void send_rows(const cuda_running_pair *x, const char *rows, int64_t n, int to)
{
    size_t count = (size_t)(n * (x->row / x->v.item));
    if (count)
        nccl(x,
             ncclSend(rows, count, cuda_nccl_type(x->p->src->type), to, x->b->group[x->p->axes],
                      x->s),
             "ncclSend");
}

static void take_rows(const cuda_running_pair *x, char *rows, int64_t n, int from)
{
    size_t count = (size_t)(n * (x->row / x->v.item));
    if (count)
        nccl(x,
             ncclRecv(rows, count, cuda_nccl_type(x->p->src->type), from, x->b->group[x->p->axes],
                      x->s),
             "ncclRecv");
}

// Chunk k to whom this rank sends it and from whom it comes, at once. What it passes on came with
// a chunk before.
static void exchange(const cuda_running_pair *x, int k)
{
    const hap_pair *p = x->p;
    const cuda_pair_chunk *g = &x->g[k];
    hap_passed w = hap_pair_passed(x->r, p, k);
    nccl(x, ncclGroupStart(), "ncclGroupStart");
    if (hap_pair_sender(x->r, p, k, x->me) == x->me)
        send_rows(x, cuda_pair_row(x, p->src, g->own.lo - x->mine.lo), g->own.n, g->other);
    send_rows(x, cuda_pair_row(x, p->dst, w.rows.lo), w.rows.n, w.to);
    take_rows(x, cuda_pair_row(x, p->dst, g->rows.lo), g->rows.n, g->sender);
    nccl(x, ncclGroupEnd(), "ncclGroupEnd");
}

void cuda_pair_consume_by_nccl(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *p = x->p;
    cuda_pair_after(x, x->s, cuda_pair_mark(x, p->n_chunks));
    cuda_pair_check(
        x, cuda_copy(x->s, cuda_pair_row(x, p->dst, x->mine.lo), p->src->data, p->src->bytes));
    for (int k = 0; k < p->n_chunks; k++) {
        if (x->g[k].member != x->me) exchange(x, k);
        cuda_pair_ok(x, cudaEventRecord(x->b->mark[k], x->s), "cudaEventRecord");
    }
    cuda_pair_ok(x, cudaEventRecord(done, x->s), "cudaEventRecord");
    for (int k = 0, n; k < p->n_chunks; k += n) {
        n = hap_joined_chunks(p, k);
        cuda_pair_after(x, x->b->x.stream, x->b->mark[k + n - 1]);
        cuda_pair_multiply(x, k, n);
    }
    cuda_pair_after(x, x->b->x.stream, done);
}

static void reduce_rows(const cuda_running_pair *x, hap_range rows)
{
    size_t n = (size_t)(rows.n * (x->row / x->v.item));
    if (n)
        nccl(x,
             ncclAllReduce(cuda_pair_row(x, x->p->src, rows.lo),
                           cuda_pair_row(x, x->p->dst, rows.lo), n, cuda_nccl_type(x->p->src->type),
                           ncclSum, x->b->group[x->p->axes], x->s),
             "ncclAllReduce");
}

void cuda_pair_produce_by_nccl(const cuda_running_pair *x, cudaEvent_t done)
{
    const hap_pair *p = x->p;
    hap_range rows[HAP_PAIR_CHUNKS];
    char *slots = p->scratch ? p->scratch->data : NULL;
    for (int k = 0, n; k < p->n_chunks; k += n) {
        n = hap_joined_chunks(p, k);
        cuda_pair_multiply(x, k, n);
        cuda_pair_after(x, x->s, cuda_pair_mark(x, 0));
        int n_rows = p->kind == HAP_ALL_REDUCE ? hap_joined_rows(x->r, p, k, n, rows) : 0;
        for (int i = 0; i < n_rows; i++)
            reduce_rows(x, rows[i]);
        for (int i = k; i < k + n && p->kind == HAP_REDUCE_SCATTER; i++) {
            const cuda_pair_chunk *g = &x->g[i];
            if (g->member == x->me) continue;
            nccl(x, ncclGroupStart(), "ncclGroupStart");
            send_rows(x, cuda_pair_row(x, p->src, g->rows.lo), g->rows.n, g->member);
            take_rows(x, slots + g->other * x->slot + (g->own.lo - x->mine.lo) * x->row, g->own.n,
                      g->other);
            nccl(x, ncclGroupEnd(), "ncclGroupEnd");
        }
    }
    if (p->kind == HAP_REDUCE_SCATTER)
        cuda_pair_check(x, cuda_put_add(x->s, p->dst->type, p->dst->data, slots, x->slot,
                                        x->v.n_members, x->me, cuda_pair_row(x, p->src, x->mine.lo),
                                        p->dst->elements));
    cuda_pair_ok(x, cudaEventRecord(done, x->s), "cudaEventRecord");
}
