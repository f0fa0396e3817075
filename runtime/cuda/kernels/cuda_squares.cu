// Sums of squares of whole tensors, and the sums of such numbers, many in two launches: the first
// leaves a partial sum a block, the second, one block, adds up those of each tensor and then the
// numbers in the order of their calls. A tensor has the same blocks whoever stands beside it, so a
// chain gives the bits of its calls.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_shadow.h"

namespace
{
enum { THREADS = 256, ENDS = 1024, MOST = CUDA_MAX_CHAIN + 1 };

struct squared {
    const void *x;
    int64_t n;
    int first; // block
    short op;
    unsigned char type, vec;
};

// y = value a + value b; a < 0: of a sum of squares. Values are those of the ops, then those given.
struct number {
    void *y; // nothing if a later op of the chain writes there
    short a, b;
    unsigned char type;
};

struct square_list {
    int n, blocks, n_ops, n_given;
    squared at[MOST];
    number op[MOST];
    const float *given[MOST];
};
static_assert(sizeof(square_list) <= 4000, "a kernel's arguments are 4 KiB at most");

__device__ inline int end_of(const square_list &list, int k)
{
    return k + 1 < list.n ? list.at[k + 1].first : list.blocks;
}

__global__ void square_parts(const __grid_constant__ square_list list, double *part)
{
    int lo = 0, hi = list.n; // the last tensor that starts at this block or before
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        *(list.at[mid].first <= (int)blockIdx.x ? &lo : &hi) = mid;
    }
    const squared &t = list.at[lo];
    view x = {(void *)t.x, t.type};
    int64_t step = (int64_t)(end_of(list, lo) - t.first) * THREADS, n8 = (t.n + 7) / 8;
    double sum = 0;
    for (int64_t i = (int64_t)(blockIdx.x - t.first) * THREADS + threadIdx.x; i < n8; i += step) {
        float v[8] = {0};
        double s = 0;
        if (t.vec && i * 8 + 8 <= t.n) {
            load_vec<8>(x, i * 8, v);
        } else {
            for (int k = 0; k < 8; k++)
                v[k] = i * 8 + k < t.n ? load(x, i * 8 + k) : 0.0f;
        }
        for (int k = 0; k < 8; k++)
            s += (double)v[k] * (double)v[k];
        sum += s;
    }
    sum = over_block<join_sum>(sum);
    if (threadIdx.x == 0) part[blockIdx.x] = sum;
}

__global__ void square_ends(const __grid_constant__ square_list list, const double *part)
{
    __shared__ float value[2 * MOST];
    int t = (int)threadIdx.x, lane = t % 32;
    for (int k = t / 32; k < list.n; k += ENDS / 32) {
        double sum = 0;
        for (int i = list.at[k].first + lane; i < end_of(list, k); i += 32)
            sum += part[i];
        sum = over_warp<join_sum>(sum);
        if (lane == 0) value[list.at[k].op] = (float)sum;
    }
    if (t < list.n_given) value[list.n_ops + t] = *list.given[t];
    __syncthreads();
    for (int k = 0; t == 0 && k < list.n_ops; k++)
        if (list.op[k].a >= 0) value[k] = __fadd_rn(value[list.op[k].a], value[list.op[k].b]);
    __syncthreads();
    if (t < list.n_ops && list.op[t].y) store({list.op[t].y, list.op[t].type}, 0, value[t]);
}

void add_square(square_list *list, const hap_tensor *x, int op)
{
    int64_t blocks = ceil_div(ceil_div(x->elements, 8), THREADS * 4);
    blocks = blocks < 1 ? 1 : blocks > CUDA_NUMBER_PARTS ? CUDA_NUMBER_PARTS : blocks;
    list->at[list->n++] = {x->data,   x->elements, list->blocks, (short)op, (unsigned char)x->type,
                           aligned(x)};
    list->blocks += (int)blocks;
}

// Of an operand of op k: the value of the last op before it that writes there, or one given.
int value_at(square_list *list, const hap_op_call *const *c, int n, int k, const hap_tensor *t)
{
    while (--k >= 0)
        if (c[k]->out[0]->data == t->data) return k;
    for (k = 0; k < list->n_given; k++)
        if (list->given[k] == t->data) return n + k;
    if (list->n_given == MOST) return -1;
    list->given[list->n_given++] = (const float *)t->data;
    return n + list->n_given - 1;
}

const char *run(cuda_context *x, const square_list &list)
{
    const char *why = NULL;
    double *part = (double *)cuda_work(x, (list.blocks + 1) * (int64_t)sizeof(double), &why);
    if (!part) return why;
    if (list.n) square_parts<<<(unsigned)list.blocks, THREADS, 0, x->stream>>>(list, part);
    square_ends<<<1, ENDS, 0, x->stream>>>(list, part);
    return launched();
}
} // namespace

CUDA_ROW(sumsq)
{
    CUDA_TRY(cuda_want_floats(c));
    square_list list = {};
    list.n_ops = 1;
    list.op[0] = {c->out[0]->data, -1, -1, (unsigned char)c->out[0]->type};
    add_square(&list, c->in[0], 0);
    return run(x, list);
}

const char *cuda_squares_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                               bool *done)
{
    square_list list = {};
    (void)unread;
    *done = false;
    list.n_ops = n;
    for (int k = 0; k < n; k++) {
        const hap_op_call *o = c[k];
        number to = {o->out[0]->data, -1, -1, HAP_F32};
        CUDA_TRY(cuda_want_floats(o));
        CUDA_TRY(cuda_call_begins(x, o));
        if (o->op == HAP_OP_sumsq) {
            add_square(&list, o->in[0], k);
        } else {
            int a = value_at(&list, c, n, k, o->in[0]), b = value_at(&list, c, n, k, o->in[1]);
            if (a < 0 || b < 0) return NULL;
            to.a = (short)a, to.b = (short)b;
        }
        for (int later = k + 1; later < n; later++)
            if (c[later]->out[0]->data == o->out[0]->data) to.y = NULL;
        list.op[k] = to;
    }
    *done = true;
    return run(x, list);
}
