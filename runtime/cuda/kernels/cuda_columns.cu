// The last step of sums of columns (cuda_columns.cuh), put off: a step has dozens, each too small
// for a kernel of its own. What is put off is done by one kernel when somebody is about to read or
// write one of the results (cuda_will_read, cuda_will_write), when the memory of the parts is full,
// or at the step's end. Until then a result's bytes are stale.

#include "cuda/kernels/cuda_columns.cuh"

namespace
{
enum { MOST = 96, ROOM = 32 << 20 }; // sums; bytes

struct column_sum {
    const float *part; // [parts, cols]
    view y;
    int64_t cols;
    int parts, first; // first: block
};

// As a kernel takes it: under 4 KiB.
struct column_list {
    int n, blocks;
    column_sum at[MOST];
};

__global__ void column_ends(const __grid_constant__ column_list list)
{
    __shared__ float lane[COLUMN_LANES][33];
    int lo = 0, hi = list.n; // the last sum that starts at this block or before
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        *(list.at[mid].first <= (int)blockIdx.x ? &lo : &hi) = mid;
    }
    const column_sum &s = list.at[lo];
    int64_t cols = s.cols, col = (int64_t)(blockIdx.x - s.first) * 32 + threadIdx.x;
    float sum = 0;
    if (col < cols)
#pragma unroll 4
        for (int i = threadIdx.y; i < s.parts; i += COLUMN_LANES)
            sum += s.part[i * cols + col];
    lane[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
    for (int k = 1; k < COLUMN_LANES; k++)
        sum += lane[k][threadIdx.x];
    store(s.y, col, sum);
}

const char *run(cuda_context *x, const column_list &list)
{
    column_ends<<<(unsigned)list.blocks, dim3(32, COLUMN_LANES), 0, x->stream>>>(list);
    return launched();
}

void add(column_list *list, const column_order &o, int64_t cols, const float *part, view y)
{
    list->at[list->n++] = {part, y, cols, (int)o.parts, list->blocks};
    list->blocks += (int)ceil_div(cols, 32);
}
} // namespace

struct cuda_columns {
    char *room;
    int64_t used;
    column_list list;
};

float *columns_room(cuda_context *x, int64_t floats, const char **why)
{
    int64_t bytes = ceil_div(floats * 4, 256) * 256;
    *why = NULL;
    if (!x->columns && !x->capturing) {
        void *p = NULL;
        if (cudaMalloc(&p, ROOM) == cudaSuccess) {
            x->columns = new cuda_columns();
            x->columns->room = (char *)p;
            x->made[x->phase].allocations++;
        } else {
            cudaGetLastError(); // not an error of the calls to come
        }
    }
    struct cuda_columns *o = x->columns;
    if (!o || bytes > ROOM) return (float *)cuda_work(x, bytes, why);
    if (o->used + bytes > ROOM || o->list.n + 4 > MOST) *why = cuda_columns_settle(x);
    if (*why) return NULL;
    float *part = (float *)(o->room + o->used);
    o->used += bytes;
    return part;
}

const char *columns_end(cuda_context *x, const column_order &o, int64_t cols, const float *part,
                        int n, const view *y)
{
    struct cuda_columns *own = x->columns;
    const char *at = (const char *)part;
    bool later = own && at >= own->room && at < own->room + ROOM;
    column_list now = {};
    for (int k = 0; k < n; k++)
        add(later ? &own->list : &now, o, cols, part + k * o.parts * cols, y[k]);
    return later ? NULL : run(x, now);
}

// Kernels that come later on the stream may have the memory again.
extern "C" const char *cuda_columns_settle(cuda_context *x)
{
    struct cuda_columns *o = x->columns;
    if (!o || o->list.n == 0) return NULL;
    const char *why = run(x, o->list);
    cuda_columns_forget(x);
    return why;
}

extern "C" bool cuda_columns_open(const cuda_context *x, const void *p, int64_t bytes)
{
    const struct cuda_columns *o = x->columns;
    const char *from = (const char *)p;
    for (int k = 0; o && k < o->list.n; k++) {
        const column_sum &s = o->list.at[k];
        const char *y = (const char *)s.y.p;
        if (y < from + bytes && from < y + s.cols * (s.y.type == HAP_F32 ? 4 : 2)) return true;
    }
    return false;
}

extern "C" void cuda_columns_forget(cuda_context *x)
{
    if (!x->columns) return;
    x->columns->used = 0;
    x->columns->list.n = x->columns->list.blocks = 0;
}

extern "C" void cuda_columns_end(cuda_context *x)
{
    if (!x->columns) return;
    cudaFree(x->columns->room);
    delete x->columns;
    x->columns = NULL;
}
