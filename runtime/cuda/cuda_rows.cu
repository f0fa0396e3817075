// Rows of the last dim from their statistics: softmax, cross entropy, layer norm
// (cpu/ops_softmax.c and cpu/ops_norm.c state the formulas).

#include "cuda/cuda_kernels.cuh"
#include "cuda/cuda_shadow.h"

// A warp a row of up to 2048 entries, eight rows a block; else a block a row.
static dim3 row_block(int64_t cols)
{
    return cols <= 2048 ? dim3(32, 8) : dim3(512, 1);
}

struct row_size {
    int64_t rows, cols;
};

static row_size rows_of(const hap_tensor *t)
{
    return {cuda_entries(t, 0, t->rank - 1), t->local[t->rank - 1]};
}

static const char *stat_fits(row_size r, const hap_tensor *stat)
{
    if (stat && cuda_is_float(stat->type) && stat->elements == r.rows) return NULL;
    return cuda_fail("a row statistic does not have one float a row");
}

// --- softmax ---

enum { SOFTMAX, SOFTMAX_BWD, LOG_SOFTMAX, LOG_SOFTMAX_BWD };

// a: x or dy; b: the row's max, or y; stat: the sum of exp, or the sum of dy (y) over the row.
template <int KIND>
__global__ void softmax_row(row_size r, view y, view a, view b, view stat, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= r.rows) return;
    constexpr bool applies = KIND == SOFTMAX || KIND == LOG_SOFTMAX;
    float s = load(stat, row), max = applies ? load(b, row) : 0.0f;
    float k = KIND == SOFTMAX ? 1.0f / s : KIND == LOG_SOFTMAX ? logf(s) : s;
    for_row(row * r.cols, r.cols, vec, threadIdx.x, blockDim.x, [&](auto w, int64_t i, int64_t) {
        constexpr int V = decltype(w)::value;
        float v[V];
        [[maybe_unused]] float u[V];
        load_vec<V>(a, i, v);
        if constexpr (!applies) load_vec<V>(b, i, u);
#pragma unroll
        for (int e = 0; e < V; e++) {
            if constexpr (KIND == SOFTMAX) v[e] = expf(v[e] - max) * k;
            if constexpr (KIND == LOG_SOFTMAX) v[e] = v[e] - max - k;
            if constexpr (KIND == SOFTMAX_BWD) v[e] = u[e] * (v[e] - k);
            if constexpr (KIND == LOG_SOFTMAX_BWD) v[e] = v[e] - expf(u[e]) * k;
        }
        store_vec<V>(y, i, v);
    });
}

CUDA_ROW(softmax)
{
    CUDA_TRY(cuda_want_floats(c));
    row_size r = rows_of(c->in[0]);
    bool applies = c->op == HAP_OP_softmax_apply || c->op == HAP_OP_log_softmax_apply;
    CUDA_TRY(stat_fits(r, c->in[2]));
    if (applies) CUDA_TRY(stat_fits(r, c->in[1]));
    if (c->out[0]->elements == 0) return NULL;
    dim3 block = row_block(r.cols), grid((unsigned)ceil_div(r.rows, block.y));
    view y = view_of(c->out[0]), a = view_of(c->in[0]), b = view_of(c->in[1]),
         s = view_of(c->in[2]);
    bool vec = all_aligned(c);
    switch ((int)c->op) {
    case HAP_OP_softmax_apply:
        softmax_row<SOFTMAX><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    case HAP_OP_softmax_bwd:
        softmax_row<SOFTMAX_BWD><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    case HAP_OP_log_softmax_apply:
        softmax_row<LOG_SOFTMAX><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    default:
        softmax_row<LOG_SOFTMAX_BWD><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
    }
    return launched();
}

// --- cross entropy: dx = g (softmax(x) - [class = label]) ---

// Rows of x and dx are lx and ly elements apart; dx gets zeros between them.
__global__ void ce_grad(row_size r, int64_t ly, view dx, int64_t lx, view x, view max, view sum,
                        const int64_t *label, view loss_grad, int64_t ignore, cuda_axis v, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= r.rows) return;
    float g = load(loss_grad, 0), m = load(max, row), k = g / load(sum, row);
    int64_t own = label[row];
    bool none = own == ignore;
    int64_t at = none ? -1 : axis_local(v, own);
    for_row(row * ly, r.cols, vec, threadIdx.x, blockDim.x, [&](auto w, int64_t i, int64_t j) {
        constexpr int V = decltype(w)::value;
        float a[V];
        load_vec<V>(x, row * lx + j, a);
#pragma unroll
        for (int e = 0; e < V; e++)
            a[e] = none ? 0.0f : expf(a[e] - m) * k - (j + e == at ? g : 0.0f);
        store_vec<V>(dx, i, a);
    });
    for (int64_t j = r.cols + threadIdx.x; j < ly; j += blockDim.x)
        store(dx, row * ly + j, 0.0f);
}

CUDA_ROW(ce_bwd)
{
    hap_tensor *dx = c->out[0], *a = c->in[0], *labels = c->in[3];
    CUDA_TRY(cuda_want(labels, HAP_I64, "the labels"));
    if (!cuda_is_float(a->type) || !cuda_is_float(dx->type) || !cuda_is_float(c->in[4]->type))
        return cuda_fail("ce_bwd: logits, gradient and output are not all floats");
    row_size r = rows_of(a);
    CUDA_TRY(stat_fits(r, c->in[1]));
    CUDA_TRY(stat_fits(r, c->in[2]));
    if (labels->elements != r.rows) return cuda_fail("ce_bwd: one label a row is wanted");
    if (dx->elements == 0) return NULL;
    dim3 block = row_block(r.cols), grid((unsigned)ceil_div(r.rows, block.y));
    // Logits in a shadow come of a product, and their gradient goes to its products.
    cuda_rows from, to = {NULL, 0};
    CUDA_TRY(cuda_rows_of(x, a, &from));
    if (from.data != a->data) CUDA_TRY(cuda_rows_new(x, dx, &to));
    if (!to.data) {
        cuda_will_write(x, dx->data, dx->bytes);
        to = {dx->data, r.cols};
    }
    bool vec = aligned(dx) && aligned(a) && (from.ld - to.ld) % 8 == 0;
    ce_grad<<<grid, block, 0, x->stream>>>(
        r, to.ld, {to.data, (int)dx->type}, from.ld, {from.data, (int)a->type}, view_of(c->in[1]),
        view_of(c->in[2]), (const int64_t *)labels->data, view_of(c->in[4]), c->attr[0].i,
        cuda_axis_of(a, a->rank - 1), vec);
    return launched();
}

// --- layer norm ---

struct norm_row {
    row_size r;
    double n, eps;
    view sum, m2, w; // w.p may be NULL
};

static const char *norm_of(norm_row *o, const hap_op_call *c, int i_x, int i_sum, int i_w)
{
    CUDA_TRY(cuda_want_floats(c));
    const hap_tensor *x = c->in[i_x], *w = i_w < 0 ? NULL : cuda_in(c, i_w);
    cuda_axis a = cuda_axis_of(x, x->rank - 1);
    *o = {rows_of(x),
          (double)cuda_axis_size(&a),
          c->attr[0].f,
          view_of(c->in[i_sum]),
          view_of(c->in[i_sum + 1]),
          view_of(w)};
    CUDA_TRY(stat_fits(o->r, c->in[i_sum]));
    CUDA_TRY(stat_fits(o->r, c->in[i_sum + 1]));
    if (w && w->elements != o->r.cols)
        return cuda_fail("norm: weight of %lld entries, rows of %lld", (long long)w->elements,
                         (long long)o->r.cols);
    return NULL;
}

__device__ inline void row_stats(const norm_row &o, int64_t row, float *mean, float *rstd)
{
    *mean = (float)((double)load(o.sum, row) / o.n);
    *rstd = (float)(1.0 / sqrt((double)load(o.m2, row) / o.n + o.eps));
}

// Entries j.. of a vector of the row's length; it is dense, and aligned where j is a multiple of 8.
template <int V> __device__ inline void load_column(view v, int64_t j, float (&x)[V])
{
    if constexpr (V == 1) {
        x[0] = load(v, j);
    } else if (j % 8 == 0) {
        load_vec<V>(v, j, x);
    } else {
        for (int k = 0; k < V; k++)
            x[k] = load(v, j + k);
    }
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
                float v[V], k[V];
                load_vec<V>(x, i, v);
                for (int e = 0; e < V; e++)
                    v[e] = (v[e] - mean) * rstd;
                if (o.w.p) {
                    load_column<V>(o.w, j, k);
                    for (int e = 0; e < V; e++)
                        v[e] *= k[e];
                }
                if (bias.p) {
                    load_column<V>(bias, j, k);
                    for (int e = 0; e < V; e++)
                        v[e] += k[e];
                }
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
                    float u[V], v[V], k[V];
                    load_vec<V>(dy, i, u);
                    load_vec<V>(x, i, v);
                    if (o.w.p) {
                        load_column<V>(o.w, j, k);
                        for (int e = 0; e < V; e++)
                            u[e] *= k[e];
                    }
                    for (int e = 0; e < V; e++)
                        a += u[e], b += u[e] * ((v[e] - mean) * rstd);
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
                float u[V], v[V], k[V];
                load_vec<V>(dy, i, u);
                load_vec<V>(x, i, v);
                if (o.w.p) {
                    load_column<V>(o.w, j, k);
                    for (int e = 0; e < V; e++)
                        u[e] *= k[e];
                }
#pragma unroll
                for (int e = 0; e < V; e++)
                    u[e] = rstd * (u[e] - a - (v[e] - mean) * rstd * b);
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
