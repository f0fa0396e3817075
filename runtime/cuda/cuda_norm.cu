// Layer norm from the statistics of rows, and its gradients.

#include "cuda/cuda_row.cuh"
#include "cuda/cuda_shadow.h"

// One vector of each formula, shared by the kernels of single rows and of chains.
template <int V>
__device__ inline void apply_vec(const norm_row &o, view x, view bias, float mean, float rstd,
                                 int64_t i, int64_t j, float (&v)[V])
{
    float k[V];
    load_vec<V>(x, i, v);
    for (int e = 0; e < V; e++)
        v[e] = (v[e] - mean) * rstd;
    if (o.w.p) {
        load_column<V>(o.w, j, k);
        for (int e = 0; e < V; e++)
            v[e] = __fmul_rn(v[e], k[e]);
    }
    if (bias.p) {
        load_column<V>(bias, j, k);
        for (int e = 0; e < V; e++)
            v[e] = __fadd_rn(v[e], k[e]);
    }
}

// u = dy w, v = x.
template <int V>
__device__ inline void load_grad(const norm_row &o, view dy, view x, int64_t i, int64_t j,
                                 float (&u)[V], float (&v)[V])
{
    float k[V];
    load_vec<V>(dy, i, u);
    load_vec<V>(x, i, v);
    if (o.w.p) {
        load_column<V>(o.w, j, k);
        for (int e = 0; e < V; e++)
            u[e] = __fmul_rn(u[e], k[e]);
    }
}

// Sums of u and of u xhat.
template <int V>
__device__ inline void stats_vec(const float (&u)[V], const float (&v)[V], float mean, float rstd,
                                 float *a, float *b)
{
    for (int e = 0; e < V; e++)
        *a += u[e], *b += u[e] * ((v[e] - mean) * rstd);
}

template <int V>
__device__ inline void grad_vec(float (&u)[V], const float (&v)[V], float mean, float rstd, float a,
                                float b)
{
#pragma unroll
    for (int e = 0; e < V; e++)
        u[e] = __fmul_rn(rstd, u[e] - a - (v[e] - mean) * rstd * b);
}

__global__ void norm_apply(norm_row o, view y, view x, view bias, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= o.r.rows) return;
    float mean, rstd;
    row_stats(o, row, &mean, &rstd);
    for_row(row * o.r.cols, o.r.cols, vec, threadIdx.x, blockDim.x,
            [&](auto w, int64_t i, int64_t j) {
                constexpr int V = decltype(w)::value;
                float v[V];
                apply_vec<V>(o, x, bias, mean, rstd, i, j, v);
                store_vec<V>(y, i, v);
            });
}

CUDA_ROW(norm_apply)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 0, 1, 3));
    const hap_tensor *b = cuda_in(c, 4);
    if (b && b->elements != o.r.cols) return cuda_fail("norm: bias of another length");
    if (c->out[0]->elements == 0) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    norm_apply<<<grid, block, 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->in[0]), view_of(b),
                                              all_aligned(c));
    return launched();
}

// u = dy w: sum of u, sum of u xhat.
__global__ void norm_stats(norm_row o, view s1, view s2, view dy, view x, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    bool here = row < o.r.rows;
    float mean = 0, rstd = 0, a = 0, b = 0;
    if (here) {
        row_stats(o, row, &mean, &rstd);
        for_row(row * o.r.cols, o.r.cols, vec, threadIdx.x, blockDim.x,
                [&](auto w, int64_t i, int64_t j) {
                    constexpr int V = decltype(w)::value;
                    float u[V], v[V];
                    load_grad<V>(o, dy, x, i, j, u, v);
                    stats_vec<V>(u, v, mean, rstd, &a, &b);
                });
    }
    a = over_block<join_sum>(a);
    b = over_block<join_sum>(b);
    if (here && threadIdx.x == 0) store(s1, row, a), store(s2, row, b);
}

CUDA_ROW(norm_bwd_stats)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, 2, 4));
    CUDA_TRY(stat_fits(o.r, c->out[0]));
    CUDA_TRY(stat_fits(o.r, c->out[1]));
    if (o.r.rows == 0) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    norm_stats<<<grid, block, 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->out[1]),
                                              view_of(c->in[0]), view_of(c->in[1]), all_aligned(c));
    return launched();
}

__global__ void norm_grad(norm_row o, view dx, view dy, view x, view s1, view s2, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= o.r.rows) return;
    float mean, rstd;
    row_stats(o, row, &mean, &rstd);
    float a = (float)((double)load(s1, row) / o.n), b = (float)((double)load(s2, row) / o.n);
    for_row(row * o.r.cols, o.r.cols, vec, threadIdx.x, blockDim.x,
            [&](auto w, int64_t i, int64_t j) {
                constexpr int V = decltype(w)::value;
                float u[V], v[V];
                load_grad<V>(o, dy, x, i, j, u, v);
                grad_vec<V>(u, v, mean, rstd, a, b);
                store_vec<V>(dx, i, u);
            });
}

CUDA_ROW(norm_bwd)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, 2, 6));
    CUDA_TRY(stat_fits(o.r, c->in[4]));
    CUDA_TRY(stat_fits(o.r, c->in[5]));
    if (c->out[0]->elements == 0) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    norm_grad<<<grid, block, 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->in[0]),
                                             view_of(c->in[1]), view_of(c->in[4]),
                                             view_of(c->in[5]), all_aligned(c));
    return launched();
}

// dw = sum over rows of dy xhat, db = sum over rows of dy. A block is 32 x 8 threads on a tile of
// columns, V a thread; parts of the rows leave their sums in the workspace as [2, part, cols].
enum { LANES = 8 };

// Mean and 1 / deviation of each row, for many readers.
__global__ void norm_means(norm_row o, float2 *stat)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= o.r.rows) return;
    float2 s;
    row_stats(o, row, &s.x, &s.y);
    stat[row] = s;
}

template <int V>
__global__ void norm_param_parts(norm_row o, view dy, view x, const float2 *stat, int64_t each,
                                 float *part)
{
    __shared__ float sw[LANES][32 * V + 1], sb[LANES][32 * V + 1];
    int64_t cols = o.r.cols, col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * V;
    int64_t r0 = blockIdx.y * each, r1 = r0 + each < o.r.rows ? r0 + each : o.r.rows;
    float w[V] = {0}, b[V] = {0};
    if (col < cols)
#pragma unroll 2
        for (int64_t r = r0 + threadIdx.y; r < r1; r += LANES) {
            float2 s = stat[r];
            float g[V], v[V];
            load_vec<V>(dy, r * cols + col, g);
            load_vec<V>(x, r * cols + col, v);
#pragma unroll
            for (int e = 0; e < V; e++)
                w[e] += g[e] * ((v[e] - s.x) * s.y), b[e] += g[e];
        }
#pragma unroll
    for (int e = 0; e < V; e++) {
        sw[threadIdx.y][e * 32 + threadIdx.x] = w[e];
        sb[threadIdx.y][e * 32 + threadIdx.x] = b[e];
    }
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
    for (int e = 0; e < V; e++) {
        for (int k = 1; k < LANES; k++)
            w[e] += sw[k][e * 32 + threadIdx.x], b[e] += sb[k][e * 32 + threadIdx.x];
        part[blockIdx.y * cols + col + e] = w[e];
        part[(gridDim.y + blockIdx.y) * cols + col + e] = b[e];
    }
}

__global__ void norm_param_end(int parts, int64_t cols, const float *part, view dw, view db)
{
    __shared__ float lane[LANES][33];
    int64_t col = (int64_t)blockIdx.x * 32 + threadIdx.x;
    const float *from = part + (int64_t)blockIdx.y * parts * cols;
    float sum = 0;
    if (col < cols)
        for (int i = threadIdx.y; i < parts; i += LANES)
            sum += from[i * cols + col];
    lane[threadIdx.y][threadIdx.x] = sum;
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
    for (int k = 1; k < LANES; k++)
        sum += lane[k][threadIdx.x];
    store(blockIdx.y ? db : dw, col, sum);
}

CUDA_ROW(norm_bwd_params)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, 2, -1));
    hap_tensor *dw = c->out[0], *db = c->out[1];
    if (dw->elements != o.r.cols || db->elements != o.r.cols)
        return cuda_fail("norm: gradients of weight and bias have another length");
    if (o.r.cols == 0) return NULL;
    if (o.r.rows == 0) {
        CUDA_TRY(cuda_fill(x->stream, dw, 0));
        return cuda_fill(x->stream, db, 0);
    }
    bool wide = o.r.cols % 8 == 0 && o.r.rows >= 1024 && aligned(c->in[0]) && aligned(c->in[1]);
    int64_t tiles = ceil_div(o.r.cols, wide ? 256 : 32), parts = 132 * 4 / tiles;
    if (parts > ceil_div(o.r.rows, LANES * 4)) parts = ceil_div(o.r.rows, LANES * 4);
    if (parts < 1) parts = 1;
    int64_t each = ceil_div(o.r.rows, parts);
    parts = ceil_div(o.r.rows, each);
    const char *why = NULL;
    int64_t stats = ceil_div(o.r.rows, 2) * 4; // floats
    float *work =
        (float *)cuda_work(x, (stats + 2 * parts * o.r.cols) * (int64_t)sizeof(float), &why);
    if (!work) return why;
    float2 *stat = (float2 *)work;
    float *part = work + stats;
    norm_means<<<(unsigned)ceil_div(o.r.rows, 256), 256, 0, x->stream>>>(o, stat);
    dim3 grid((unsigned)tiles, (unsigned)parts), block(32, LANES);
    view dy = view_of(c->in[0]), a = view_of(c->in[1]);
    if (wide)
        norm_param_parts<8><<<grid, block, 0, x->stream>>>(o, dy, a, stat, each, part);
    else
        norm_param_parts<1><<<grid, block, 0, x->stream>>>(o, dy, a, stat, each, part);
    norm_param_end<<<dim3((unsigned)ceil_div(o.r.cols, 32), 2), block, 0, x->stream>>>(
        (int)parts, o.r.cols, part, view_of(dw), view_of(db));
    return launched();
}

// --- chains: one pass over the memory for calls that follow each other ---

static const char *begin_chain(cuda_context *x, const hap_op_call *const *c, int n, bool *vec)
{
    *vec = true;
    for (int k = 0; k < n; k++) {
        for (int i = 0; i < c[k]->n_in; i++)
            if (c[k]->in[i]) CUDA_TRY(cuda_will_read(x, c[k]->in[i]->data, c[k]->in[i]->bytes));
        for (int i = 0; i < c[k]->n_out; i++)
            cuda_will_write(x, c[k]->out[i]->data, c[k]->out[i]->bytes);
        *vec &= all_aligned(c[k]);
    }
    return NULL;
}

__global__ void forward_chain(norm_row o, view y, view x, view bias)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= o.r.rows) return; // a whole warp
    float sum = 0, m2 = 0, mean, rstd;
    for_row(row * o.r.cols, o.r.cols, true, threadIdx.x, 32, [&](auto w, int64_t i, int64_t) {
        constexpr int V = decltype(w)::value;
        float v[V];
        load_vec<V>(x, i, v);
        for (int e = 0; e < V; e++)
            sum += v[e];
    });
    sum = over_warp<join_sum>(sum);
    mean = (float)((double)sum / o.n);
    for_row(row * o.r.cols, o.r.cols, true, threadIdx.x, 32, [&](auto w, int64_t i, int64_t) {
        constexpr int V = decltype(w)::value;
        float v[V];
        load_vec<V>(x, i, v);
        for (int e = 0; e < V; e++)
            m2 += (v[e] - mean) * (v[e] - mean);
    });
    m2 = over_warp<join_sum>(m2);
    if (threadIdx.x == 0) store(o.sum, row, sum), store(o.m2, row, m2);
    stats_of(o, sum, m2, &mean, &rstd);
    for_row(row * o.r.cols, o.r.cols, true, threadIdx.x, 32, [&](auto w, int64_t i, int64_t j) {
        constexpr int V = decltype(w)::value;
        float v[V];
        apply_vec<V>(o, x, bias, mean, rstd, i, j, v);
        store_vec<V>(y, i, v);
    });
}

const char *cuda_norm_chain(cuda_context *x, const hap_op_call *const *c, int n, bool *done)
{
    norm_row o;
    bool vec;
    CUDA_TRY(begin_chain(x, c, n, &vec));
    CUDA_TRY(norm_of(&o, c[2], 0, 1, 3));
    const hap_tensor *b = cuda_in(c[2], 4);
    *done = vec && o.r.cols <= WARP_COLUMNS && o.r.rows > 0 && (!b || b->elements == o.r.cols);
    if (!*done) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    forward_chain<<<grid, block, 0, x->stream>>>(o, view_of(c[2]->out[0]), view_of(c[2]->in[0]),
                                                 view_of(b));
    return launched();
}

// dx, y and narrow may be nothing: y = dx + more, narrow = y rounded.
__global__ void backward_chain(norm_row o, view s1, view s2, view dy, view x, view dx, view more,
                               view y, view narrow)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= o.r.rows) return; // a whole warp
    float mean, rstd, a = 0, b = 0;
    row_stats(o, row, &mean, &rstd);
    for_row(row * o.r.cols, o.r.cols, true, threadIdx.x, 32, [&](auto w, int64_t i, int64_t j) {
        constexpr int V = decltype(w)::value;
        float u[V], v[V];
        load_grad<V>(o, dy, x, i, j, u, v);
        stats_vec<V>(u, v, mean, rstd, &a, &b);
    });
    a = over_warp<join_sum>(a);
    b = over_warp<join_sum>(b);
    if (threadIdx.x == 0) store(s1, row, a), store(s2, row, b);
    a = (float)((double)a / o.n), b = (float)((double)b / o.n);
    for_row(row * o.r.cols, o.r.cols, true, threadIdx.x, 32, [&](auto w, int64_t i, int64_t j) {
        constexpr int V = decltype(w)::value;
        float u[V], v[V];
        load_grad<V>(o, dy, x, i, j, u, v);
        grad_vec<V>(u, v, mean, rstd, a, b);
        if (more.p) load_vec<V>(more, i, v);
        if (dx.p) store_vec<V>(dx, i, u);
        if (more.p) {
            for (int e = 0; e < V; e++)
                u[e] = __fadd_rn(u[e], v[e]);
            store_vec<V>(y, i, u);
        }
        if (narrow.p) store_vec<V>(narrow, i, u);
    });
}

const char *cuda_norm_bwd_chain(cuda_context *x, const hap_op_call *const *c, int n, bool needs_dx,
                                bool *done)
{
    norm_row o;
    bool vec;
    CUDA_TRY(begin_chain(x, c, n, &vec));
    CUDA_TRY(norm_of(&o, c[0], 1, 2, 4));
    *done = vec && o.r.cols <= WARP_COLUMNS && o.r.rows > 0;
    if (!*done) return NULL;
    const hap_tensor *dx = c[1]->out[0], *more = NULL, *y = NULL, *narrow = NULL;
    for (int k = 2; k < n; k++) {
        if (c[k]->op == HAP_OP_add) {
            more = c[k]->in[0]->data == dx->data ? c[k]->in[1] : c[k]->in[0];
            y = c[k]->out[0];
        } else {
            narrow = c[k]->out[0];
        }
    }
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    backward_chain<<<grid, block, 0, x->stream>>>(
        o, view_of(c[0]->out[0]), view_of(c[0]->out[1]), view_of(c[0]->in[0]), view_of(c[0]->in[1]),
        view_of(needs_dx ? dx : NULL), view_of(more), view_of(y), view_of(narrow));
    return launched();
}
