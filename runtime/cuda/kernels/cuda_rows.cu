// Rows of the last dim from their statistics: softmax, cross entropy (cpu/ops_softmax.c states the
// formulas).

#include <cuda_pipeline.h>

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_row.cuh"
#include "cuda/kernels/cuda_shadow.h"

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

// --- cross entropy ---

enum { CE_THREADS = CUDA_ROW_THREADS, CE_WIDE_THREADS = 1024 };

// dx = g (softmax(x) - [class = label]): what every kernel of it needs. Rows of x and dx are lx and
// ly elements apart; dx gets zeros between them.
struct ce_args {
    row_size r;
    int64_t lx, ly, ignore;
    view x, dx, max, sum, loss_grad;
    const int64_t *label;
    cuda_axis v; // of the classes
    bool vec;
};

struct ce_row {
    float g, max, k; // k = g / sum
    int64_t own;     // the label's column; -1 elsewhere
    bool none;       // ignored
};

__device__ inline ce_row ce_row_of(const ce_args &t, int64_t row, float max, float sum)
{
    ce_row w;
    w.g = load(t.loss_grad, 0), w.max = max, w.k = w.g / sum;
    w.none = t.label[row] == t.ignore;
    w.own = w.none ? -1 : axis_local(t.v, t.label[row]);
    return w;
}

template <int V> __device__ inline void ce_vec(int type, const ce_row &w, int64_t j, float (&a)[V])
{
#pragma unroll
    for (int e = 0; e < V; e++)
        a[e] = w.none ? 0.0f : __fmul_rn(exp_for(type, a[e] - w.max), w.k);
    if (w.own >= j && w.own < j + V)
#pragma unroll
        for (int e = 0; e < V; e++)
            if (j + e == w.own) a[e] = __fsub_rn(a[e], w.g);
}

__device__ inline void ce_pad(const ce_args &t, int64_t row)
{
    for (int64_t j = t.r.cols + threadIdx.x; j < t.ly; j += blockDim.x)
        store(t.dx, row * t.ly + j, 0.0f);
}

// The largest entry and the sum of exp(x - max) of a row, and then dx if it is wanted: a row is
// read once and kept in shared memory, where each thread has its own entries. Sums are in the order
// of row_expsum.
template <int TYPE> __global__ __launch_bounds__(CE_THREADS, 2) void ce_whole(ce_args t)
{
    extern __shared__ uint4 held[];
    constexpr int ELEM = TYPE == HAP_F32 ? 4 : 2;
    int64_t row = blockIdx.x;
    int cols = (int)t.r.cols, n8 = t.vec ? cols / 8 : 0, i = (int)threadIdx.x;
    const char *from = (const char *)t.x.p + row * t.lx * ELEM;
    view own = {held, TYPE};
    float m = join_max::zero<float>(), s = 0;
    for (int k = i; k < n8; k += CE_THREADS)
        for (int b = 0; b < 8 * ELEM; b += 16)
            __pipeline_memcpy_async((char *)held + k * 8 * ELEM + b, from + k * 8 * ELEM + b, 16);
    __pipeline_commit();
    for (int j = n8 * 8 + i; j < cols; j += CE_THREADS) {
        float v = load({(void *)from, TYPE}, j);
        store(own, j, v);
        m = fmaxf(m, v);
    }
    __pipeline_wait_prior(0);
    typed_vec<TYPE> raw;
    float v[8];
    for (int k = i; k < n8; k += CE_THREADS) {
        raw.fetch(held, k * 8);
        raw.unpack(v);
        for (int e = 0; e < 8; e++)
            m = fmaxf(m, v[e]);
    }
    m = over_block<join_max>(m);
    for (int k = i; k < n8; k += CE_THREADS) {
        raw.fetch(held, k * 8);
        raw.unpack(v);
        for (int e = 0; e < 8; e++)
            s += exp_for(TYPE, v[e] - m);
    }
    for (int j = n8 * 8 + i; j < cols; j += CE_THREADS)
        s += exp_for(TYPE, load(own, j) - m);
    s = over_block<join_sum>(s);
    if (i == 0) store(t.max, row, m), store(t.sum, row, s);
    if (!t.dx.p) return;
    ce_row c = ce_row_of(t, row, m, s);
    for (int k = i; k < n8; k += CE_THREADS) {
        raw.fetch(held, k * 8);
        raw.unpack(v);
        ce_vec<8>(TYPE, c, k * 8, v);
        store_vec<8>(t.dx, row * t.ly + k * 8, v);
    }
    for (int j = n8 * 8 + i; j < cols; j += CE_THREADS) {
        float a[1] = {load(own, j)};
        ce_vec<1>(TYPE, c, j, a);
        store(t.dx, row * t.ly + j, a[0]);
    }
    ce_pad(t, row);
}

// The same of 16-bit rows that are wider than a block's shared memory: all threads of a processor
// take one row. It keeps the first n_held vectors of 8; what is behind them is read again, from its
// end, which L2 still has. Each thread moves its largest entry and sum on together (online
// softmax: Milakov and Gimelshein 2018), so the order of the sum is not that of row_expsum.
template <int TYPE>
__global__ __launch_bounds__(CE_WIDE_THREADS, 1) void ce_wide(ce_args t, int n_held)
{
    extern __shared__ uint4 held[];
    constexpr int AHEAD = 4; // loads of a thread that are under way
    int64_t row = blockIdx.x;
    int n8 = (int)(t.r.cols / 8), i = (int)threadIdx.x;
    const char *from = (const char *)t.x.p + row * t.lx * 2;
    typed_vec<TYPE> raw[AHEAD];
    float v[8], m = join_max::zero<float>(), s = 0;
    auto finite = [](float top) { return top == -INFINITY ? 0.0f : top; };
    for (int first = i; first < n8; first += AHEAD * CE_WIDE_THREADS) {
#pragma unroll
        for (int a = 0, k = first; a < AHEAD; a++, k += CE_WIDE_THREADS)
            if (k < n_held)
                raw[a].fetch_last(from, (int64_t)k * 8);
            else if (k < n8)
                raw[a].fetch(from, (int64_t)k * 8);
#pragma unroll
        for (int a = 0, k = first; a < AHEAD; a++, k += CE_WIDE_THREADS) {
            if (k >= n8) continue;
            if (k < n_held) held[k] = raw[a].w[0];
            raw[a].unpack(v);
            float top = m;
            for (int e = 0; e < 8; e++)
                top = fmaxf(top, v[e]);
            s *= exp_for(TYPE, m - finite(top));
            for (int e = 0; e < 8; e++)
                s += exp_for(TYPE, v[e] - finite(top));
            m = top;
        }
    }
    float most = over_block<join_max>(m);
    s = over_block<join_sum>(s * exp_for(TYPE, m - finite(most)));
    if (i == 0) store(t.max, row, most), store(t.sum, row, s);
    if (!t.dx.p) return;
    ce_row c = ce_row_of(t, row, most, s);
    auto gradient = [&](const typed_vec<TYPE> &x, int k) {
        x.unpack(v);
        ce_vec<8>(TYPE, c, (int64_t)k * 8, v);
        store_vec<8>(t.dx, row * t.ly + (int64_t)k * 8, v);
    };
    for (int last = n8 - 1 - i; last >= n_held; last -= AHEAD * CE_WIDE_THREADS) {
#pragma unroll
        for (int a = 0, k = last; a < AHEAD; a++, k -= CE_WIDE_THREADS)
            if (k >= n_held) raw[a].fetch_last(from, (int64_t)k * 8);
#pragma unroll
        for (int a = 0, k = last; a < AHEAD; a++, k -= CE_WIDE_THREADS)
            if (k >= n_held) gradient(raw[a], k);
    }
    for (int k = i; k < n_held; k += CE_WIDE_THREADS) {
        raw[0].w[0] = held[k];
        gradient(raw[0], k);
    }
}

// From statistics that are known.
__global__ void ce_grad(ce_args t)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= t.r.rows) return;
    ce_row c = ce_row_of(t, row, load(t.max, row), load(t.sum, row));
    for_row(row * t.ly, t.r.cols, t.vec, threadIdx.x, blockDim.x,
            [&](auto w, int64_t i, int64_t j) {
                constexpr int V = decltype(w)::value;
                float a[V];
                load_vec<V>(t.x, row * t.lx + j, a);
                ce_vec<V>(t.x.type, c, j, a);
                store_vec<V>(t.dx, i, a);
            });
    ce_pad(t, row);
}

// The gradient's operands: x at `from`. Logits in a shadow come of a product, and their gradient
// goes to its products.
static const char *ce_grad_of(cuda_context *x, const hap_op_call *c, cuda_rows from, ce_args *t)
{
    hap_tensor *dx = c->out[0], *a = c->in[0], *labels = c->in[3];
    CUDA_TRY(cuda_want(labels, HAP_I64, "the labels"));
    if (!cuda_is_float(a->type) || !cuda_is_float(dx->type) || !cuda_is_float(c->in[4]->type))
        return cuda_fail("ce_bwd: logits, gradient and output are not all floats");
    CUDA_TRY(stat_fits(t->r, c->in[1]));
    CUDA_TRY(stat_fits(t->r, c->in[2]));
    if (labels->elements != t->r.rows) return cuda_fail("ce_bwd: one label a row is wanted");
    cuda_rows to = {NULL, 0};
    if (from.data != a->data) CUDA_TRY(cuda_rows_new(x, dx, &to));
    if (!to.data) {
        cuda_will_write(x, dx->data, dx->bytes);
        to = {dx->data, t->r.cols};
    }
    t->ly = to.ld, t->dx = {to.data, (int)dx->type};
    t->ignore = c->attr[0].i, t->loss_grad = view_of(c->in[4]);
    t->label = (const int64_t *)labels->data;
    t->v = cuda_axis_of(a, a->rank - 1);
    t->vec = t->vec && aligned(dx);
    return NULL;
}

// Of rows that no block holds: whole vectors, and no order of sums that must be the calls'.
static bool ce_takes_wide(const cuda_context *x, const hap_op_call *const *c, int n)
{
    const hap_tensor *a = c[0]->in[0];
    return a->type != HAP_F32 && a->local[a->rank - 1] % 8 == 0 &&
           x->options.fuse != HAP_CUDA_fuse_exact && (n < 3 || aligned(c[2]->out[0]));
}

const char *cuda_ce_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                          bool *done)
{
    const hap_tensor *a = c[0]->in[0];
    hap_tensor *max = c[0]->out[0], *sum = c[1]->out[0];
    ce_args t = {};
    t.r = rows_of(a);
    int64_t bytes = t.r.cols * hap_dtype_bytes(a->type);
    int device = 0, room = 0; // bytes of shared memory
    (void)unread;
    CUDA_CALL(cudaGetDevice(&device));
    CUDA_CALL(cudaDeviceGetAttribute(&room, cudaDevAttrMaxSharedMemoryPerBlockOptin, device));
    room -= 1 << 10; // over_block's
    bool wide = bytes > room;
    *done = t.r.rows > 0 && cuda_row_threads(t.r.cols) == CE_THREADS && cuda_is_float(a->type) &&
            (!wide || ce_takes_wide(x, c, n)) && max->type == HAP_F32 && sum->type == HAP_F32 && max->elements == t.r.rows &&
            sum->elements == t.r.rows;
    if (!*done) return NULL;
    cuda_rows at;
    CUDA_TRY(cuda_rows_of(x, a, &at));
    // Rows that start off a vector are added in another order by row_expsum.
    *done = aligned(a) && at.ld % 8 == 0;
    if (!*done) return NULL;
    cuda_will_write(x, max->data, max->bytes);
    cuda_will_write(x, sum->data, sum->bytes);
    t.lx = at.ld, t.x = {at.data, (int)a->type}, t.max = view_of(max), t.sum = view_of(sum);
    t.vec = true;
    if (n > 2) {
        CUDA_TRY(ce_grad_of(x, c[2], at, &t));
        if (t.ly % 8) t.vec = false;
    }
    if (wide) {
        auto run = a->type == HAP_BF16 ? ce_wide<HAP_BF16> : ce_wide<HAP_F16>;
        CUDA_CALL(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
        run<<<(unsigned)t.r.rows, CE_WIDE_THREADS, (size_t)room, x->stream>>>(t, room / 16);
        return launched();
    }
    auto run = a->type == HAP_F32    ? ce_whole<HAP_F32>
               : a->type == HAP_BF16 ? ce_whole<HAP_BF16>
                                     : ce_whole<HAP_F16>;
    CUDA_CALL(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, room));
    run<<<(unsigned)t.r.rows, CE_THREADS, (size_t)ceil_div(bytes, 16) * 16, x->stream>>>(t);
    return launched();
}

CUDA_ROW(ce_bwd)
{
    ce_args t = {};
    cuda_rows from;
    t.r = rows_of(c->in[0]);
    if (c->out[0]->elements == 0) return NULL;
    CUDA_TRY(cuda_rows_of(x, c->in[0], &from));
    t.lx = from.ld, t.x = {from.data, (int)c->in[0]->type};
    t.max = view_of(c->in[1]), t.sum = view_of(c->in[2]);
    t.vec = aligned(c->in[0]);
    CUDA_TRY(ce_grad_of(x, c, from, &t));
    if ((t.lx - t.ly) % 8) t.vec = false;
    dim3 block = row_block(t.r.cols), grid((unsigned)ceil_div(t.r.rows, block.y));
    ce_grad<<<grid, block, 0, x->stream>>>(t);
    return launched();
}
