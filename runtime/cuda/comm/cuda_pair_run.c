#include "cuda/comm/cuda_pair_run.h"

#include "core/fail.h"
#include "cuda/device/cuda_trace.h"
#include "cuda/kernels/cuda_ops.h"

void cuda_pair_check(const cuda_running_pair *x, const char *why)
{
    cuda_check(x->r, why);
}

void cuda_pair_ok(const cuda_running_pair *x, cudaError_t e, const char *call)
{
    cuda_check(x->r, cuda_said(e, call));
}

void cuda_pair_after(const cuda_running_pair *x, cudaStream_t s, cudaEvent_t e)
{
    cuda_pair_ok(x, cudaStreamWaitEvent(s, e, 0), "cudaStreamWaitEvent");
}

cudaEvent_t cuda_pair_mark_on(const cuda_running_pair *x, int i, cudaStream_t s)
{
    cuda_backend *b = x->b;
    while (b->n_marks <= i) {
        b->mark = hap_grow(x->r, b->mark, &b->cap_marks, b->n_marks + 1, sizeof *b->mark);
        cuda_pair_ok(x, cudaEventCreateWithFlags(&b->mark[b->n_marks++], cudaEventDisableTiming),
                     "cudaEventCreate");
    }
    cuda_pair_ok(x, cudaEventRecord(b->mark[i], s), "cudaEventRecord");
    return b->mark[i];
}

cudaEvent_t cuda_pair_mark(const cuda_running_pair *x, int i)
{
    return cuda_pair_mark_on(x, i, x->b->x.stream);
}

char *cuda_pair_row(const cuda_running_pair *x, const hap_tensor *t, int64_t row)
{
    return (char *)t->data + row * x->row;
}

void cuda_pair_op(hap_rank *r, const hap_pair *p, int i, const hap_op_call *c)
{
    cuda_context *x = &cuda_of(r)->x;
    int line = p->op_line[i],
        span = cuda_trace_open(r, x->stream, HAP_TRACE_COMPUTE, hap_op_names[c->op], line);
    x->line = line;
    cuda_check(r, hap_cuda_run(x, c));
    cuda_trace_close(r, span, x->stream);
}

// The pair's ops on a range of rows; in: where row 0 of their operand would lie, NULL: in its
// place.
static void multiply(const cuda_running_pair *x, hap_range range, char *in)
{
    for (int i = 0; i < x->p->n_ops; i++) {
        hap_row_tensors rows;
        hap_op_call c = hap_op_of_rows(&x->p->op[i], range.lo, range.lo + range.n, &rows);
        if (in) rows.in[0].data = in + range.lo * x->row;
        cuda_pair_op(x->r, x->p, i, &c);
    }
}

void cuda_pair_multiply(const cuda_running_pair *x, int k, int n)
{
    hap_range rows[HAP_PAIR_CHUNKS];
    const hap_range mine = x->mine;
    int n_rows = n == 1 && x->g[k].rows.n ? 1 : hap_joined_rows(x->r, x->p, k, n, rows);
    if (n == 1) rows[0] = x->g[k].rows;
    for (int i = 0; i < n_rows; i++) {
        bool own = x->p->kind == HAP_ALL_GATHER && rows[i].lo >= mine.lo &&
                   rows[i].lo + rows[i].n <= mine.lo + mine.n;
        multiply(x, rows[i], own ? (char *)x->p->src->data - mine.lo * x->row : NULL);
    }
}
