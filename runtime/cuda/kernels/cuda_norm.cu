// Layer norm and RMS norm from the statistics of rows, and their gradients.

#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_row.cuh"

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
                load_vec<V>(x, i, v);
                apply_vec<V>(o, bias, mean, rstd, j, v);
                store_vec<V>(y, i, v);
            });
}

CUDA_ROW(norm_apply)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 0, 3, 2));
    const hap_tensor *b = is_rms(c->op) ? NULL : cuda_in(c, 4);
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
                    load_vec<V>(dy, i, u);
                    load_vec<V>(x, i, v);
                    weigh_vec<V>(o, j, u);
                    hat_vec<V>(mean, rstd, v);
                    stats_vec<V>(u, v, &a, &b);
                });
    }
    a = over_block<join_sum>(a);
    b = over_block<join_sum>(b);
    if (here && threadIdx.x == 0) {
        if (s1.p) store(s1, row, a);
        store(s2, row, b);
    }
}

CUDA_ROW(norm_bwd_stats)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, 4, 3));
    const hap_tensor *sum = is_rms(c->op) ? NULL : c->out[0], *dot = c->out[sum ? 1 : 0];
    if (sum) CUDA_TRY(stat_fits(o.r, sum));
    CUDA_TRY(stat_fits(o.r, dot));
    if (o.r.rows == 0) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    norm_stats<<<grid, block, 0, x->stream>>>(o, view_of(sum), view_of(dot), view_of(c->in[0]),
                                              view_of(c->in[1]), all_aligned(c));
    return launched();
}

__global__ void norm_grad(norm_row o, view dx, view dy, view x, view s1, view s2, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= o.r.rows) return;
    float mean, rstd;
    row_stats(o, row, &mean, &rstd);
    float a = s1.p ? row_mean(o, load(s1, row)) : 0, b = row_mean(o, load(s2, row));
    for_row(row * o.r.cols, o.r.cols, vec, threadIdx.x, blockDim.x,
            [&](auto w, int64_t i, int64_t j) {
                constexpr int V = decltype(w)::value;
                float u[V], v[V];
                load_vec<V>(dy, i, u);
                load_vec<V>(x, i, v);
                weigh_vec<V>(o, j, u);
                hat_vec<V>(mean, rstd, v);
                grad_vec<V>(u, v, rstd, a, b);
                store_vec<V>(dx, i, u);
            });
}

CUDA_ROW(norm_bwd)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, 6, 4));
    const hap_tensor *sum = is_rms(c->op) ? NULL : c->in[4], *dot = c->in[sum ? 5 : 3];
    if (sum) CUDA_TRY(stat_fits(o.r, sum));
    CUDA_TRY(stat_fits(o.r, dot));
    if (c->out[0]->elements == 0) return NULL;
    dim3 block = row_block(o.r.cols), grid((unsigned)ceil_div(o.r.rows, block.y));
    norm_grad<<<grid, block, 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->in[0]),
                                             view_of(c->in[1]), view_of(sum), view_of(dot),
                                             all_aligned(c));
    return launched();
}

// dw = sum over rows of dy xhat, db = sum over rows of dy, in the order of cuda_columns.cuh.

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
    __shared__ float sw[COLUMN_LANES][32 * V + 1], sb[COLUMN_LANES][32 * V + 1];
    int64_t cols = o.r.cols, col = ((int64_t)blockIdx.x * 32 + threadIdx.x) * V;
    int64_t r0 = blockIdx.y * each, r1 = r0 + each < o.r.rows ? r0 + each : o.r.rows;
    float w[V] = {0}, b[V] = {0};
    if (col < cols)
#pragma unroll 2
        for (int64_t r = r0 + threadIdx.y; r < r1; r += COLUMN_LANES) {
            float2 s = stat[r];
            float g[V], v[V];
            load_vec<V>(dy, r * cols + col, g);
            load_vec<V>(x, r * cols + col, v);
            hat_vec<V>(s.x, s.y, v);
            param_vec<V>(g, v, w, b);
        }
#pragma unroll
    for (int e = 0; e < V; e++) {
        sw[threadIdx.y][e * 32 + threadIdx.x] = w[e];
        sb[threadIdx.y][e * 32 + threadIdx.x] = b[e];
    }
    __syncthreads();
    if (threadIdx.y != 0 || col >= cols) return;
    for (int e = 0; e < V; e++) {
        for (int k = 1; k < COLUMN_LANES; k++)
            w[e] += sw[k][e * 32 + threadIdx.x], b[e] += sb[k][e * 32 + threadIdx.x];
        part[blockIdx.y * cols + col + e] = w[e];
        if (o.sum.p) part[(gridDim.y + blockIdx.y) * cols + col + e] = b[e];
    }
}

CUDA_ROW(norm_bwd_params)
{
    norm_row o;
    CUDA_TRY(norm_of(&o, c, 1, -1, -1));
    hap_tensor *dw = c->out[0], *db = is_rms(c->op) ? NULL : c->out[1];
    if (dw->elements != o.r.cols || (db && db->elements != o.r.cols))
        return cuda_fail("norm: gradients of weight and bias have another length");
    if (o.r.cols == 0) return NULL;
    if (o.r.rows == 0) {
        CUDA_TRY(cuda_fill(x->stream, dw, 0));
        return db ? cuda_fill(x->stream, db, 0) : NULL;
    }
    bool wide = o.r.cols % 8 == 0 && o.r.rows >= 1024 && aligned(c->in[0]) && aligned(c->in[1]);
    column_order order = column_order_of(o.r.rows);
    const char *why = NULL;
    int64_t stats = ceil_div(o.r.rows, 2) * 4; // floats
    float *work = columns_room(x, stats + 2 * order.parts * o.r.cols, &why);
    if (!work) return why;
    float2 *stat = (float2 *)work;
    float *part = work + stats;
    norm_means<<<(unsigned)ceil_div(o.r.rows, 256), 256, 0, x->stream>>>(o, stat);
    dim3 grid((unsigned)ceil_div(o.r.cols, wide ? COLUMN_TILE : 32), (unsigned)order.parts),
        block(32, COLUMN_LANES);
    view dy = view_of(c->in[0]), a = view_of(c->in[1]);
    if (wide)
        norm_param_parts<8><<<grid, block, 0, x->stream>>>(o, dy, a, stat, order.each, part);
    else
        norm_param_parts<1><<<grid, block, 0, x->stream>>>(o, dy, a, stat, order.each, part);
    view to[] = {view_of(dw), view_of(db)};
    return columns_end(x, order, o.r.cols, part, db ? 2 : 1, to);
}
