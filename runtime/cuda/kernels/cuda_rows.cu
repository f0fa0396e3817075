// Rows of the last dim from their statistics: softmax, cross entropy (cpu/ops_softmax.c states the
// formulas).

#include <algorithm>
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

__device__ inline ce_row ce_row_of(const ce_args &t, int64_t label, float max, float sum)
{
    ce_row w;
    w.g = load(t.loss_grad, 0), w.max = max, w.k = w.g / sum;
    w.none = label == t.ignore;
    w.own = w.none ? -1 : axis_local(t.v, label);
    return w;
}

template <int V> __device__ inline void ce_vec(int type, const ce_row &w, int64_t j, float (&a)[V])
{
#pragma unroll
    for (int e = 0; e < V; e++)
        a[e] = w.none ? 0.0f : __fmul_rn(exp_below(type, a[e], w.max), w.k);
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

// The largest entry that a thread has seen: of 16 bits, two at a time.
template <int TYPE> struct ce_largest {
    using two = std::conditional_t<TYPE == HAP_BF16, __nv_bfloat162, __half2>;
    float one = join_max::zero<float>();
    uint32_t pair = TYPE == HAP_BF16 ? 0xFF80FF80u : 0xFC00FC00u; // -inf twice

    __device__ void add(const typed_vec<TYPE> &x)
    {
        if constexpr (TYPE == HAP_F32) {
            float v[8];
            x.unpack(v);
            for (int e = 0; e < 8; e++)
                one = fmaxf(one, v[e]);
        } else {
            for (uint32_t w : {x.w[0].x, x.w[0].y, x.w[0].z, x.w[0].w}) {
                two most = __hmax2(*(two *)&pair, *(two *)&w);
                pair = *(uint32_t *)&most;
            }
        }
    }
    __device__ float value() const
    {
        if constexpr (TYPE == HAP_F32) return one;
        return fmaxf(one, fmaxf((float)((two *)&pair)->x, (float)((two *)&pair)->y));
    }
};

// Vector k of a row on its way to the place of its thread in shared memory.
template <int TYPE>
__device__ inline void ce_fetch(const ce_args &t, uint4 *held, int64_t row, int k)
{
    constexpr int WORDS = typed_vec<TYPE>::WORDS;
    const uint4 *from = (const uint4 *)t.x.p + (row * (t.lx / 8) + k) * WORDS;
    for (int w = 0; w < WORDS; w++)
        __pipeline_memcpy_async(held + k * WORDS + w, from + w, sizeof *from);
}

template <int TYPE>
__device__ inline void ce_gradient(const ce_args &t, const ce_row &c, int64_t row, int k,
                                   const typed_vec<TYPE> &x)
{
    float v[8];
    x.unpack(v);
    ce_vec<8>(TYPE, c, (int64_t)k * 8, v);
    const int64_t at = row * t.ly + (int64_t)k * 8;
    if (t.dx.type == TYPE)
        store_vec<8>({t.dx.p, TYPE}, at, v);
    else
        store_vec<8>(t.dx, at, v);
}

// The largest entry and the sum of exp(x - max) of a row, and then dx if it is wanted: a row is
// read once and kept in shared memory, where each thread has its own entries. In the place of one
// that is done with comes that of the block's next row. Sums are in the order of row_expsum.
template <int TYPE> __global__ __launch_bounds__(CE_THREADS, 2) void ce_whole(ce_args t)
{
    extern __shared__ uint4 held[];
    const int cols = (int)t.r.cols, n8 = t.vec ? cols / 8 : 0, i = (int)threadIdx.x;
    typed_vec<TYPE> raw;
    float v[8], rest = 0; // the entry behind the vectors
    auto fetch_rest = [&](int64_t row) {
        if (n8 && row < t.r.rows && n8 * 8 + i < cols) rest = load(t.x, row * t.lx + n8 * 8 + i);
    };
    for (int k = i; k < n8; k += CE_THREADS)
        ce_fetch<TYPE>(t, held, blockIdx.x, k);
    fetch_rest(blockIdx.x);
    for (int64_t row = blockIdx.x; row < t.r.rows; row += gridDim.x) {
        const int64_t next = row + gridDim.x, label = t.dx.p ? t.label[row] : 0;
        auto single = [&](int j) { return n8 ? rest : load(t.x, row * t.lx + j); };
        ce_largest<TYPE> top;
        float s = 0;
        __pipeline_commit();
        __pipeline_wait_prior(0);
        for (int k = i; k < n8; k += CE_THREADS) {
            raw.fetch(held, k * 8);
            top.add(raw);
        }
        for (int j = n8 * 8 + i; j < cols; j += CE_THREADS)
            top.one = fmaxf(top.one, single(j));
        const float m = over_block<join_max>(top.value());
        for (int k = i; k < n8; k += CE_THREADS) {
            raw.fetch(held, k * 8);
            raw.unpack(v);
            for (int e = 0; e < 8; e++)
                s += exp_below(TYPE, v[e], m);
        }
        for (int j = n8 * 8 + i; j < cols; j += CE_THREADS)
            s += exp_below(TYPE, single(j), m);
        s = over_block<join_sum>(s);
        if (i == 0) store(t.max, row, m), store(t.sum, row, s);
        const ce_row c = t.dx.p ? ce_row_of(t, label, m, s) : ce_row();
        for (int k = i; k < n8; k += CE_THREADS) {
            if (t.dx.p) {
                raw.fetch(held, k * 8);
                ce_gradient(t, c, row, k, raw);
            }
            if (next < t.r.rows) ce_fetch<TYPE>(t, held, next, k);
        }
        for (int j = n8 * 8 + i; t.dx.p && j < cols; j += CE_THREADS) {
            float a[1] = {single(j)};
            ce_vec<1>(TYPE, c, j, a);
            store(t.dx, row * t.ly + j, a[0]);
        }
        fetch_rest(next);
        if (t.dx.p) ce_pad(t, row);
    }
}

// The same of 16-bit rows that are wider than a block's shared memory: all threads of a processor
// take one row. It keeps the first n_held vectors of 8, and some more in registers; what is behind
// them is read again, which L2 still has. Each thread moves its largest entry and sum on together
// (online softmax: Milakov and Gimelshein 2018), so the order of the sum is not that of row_expsum.
template <int TYPE>
__global__ __launch_bounds__(CE_WIDE_THREADS, 1) void ce_wide(ce_args t, int n_held)
{
    extern __shared__ uint4 held[];
    constexpr int KEPT = 5; // vectors of a thread in registers
    const int n8 = (int)(t.r.cols / 8), i = (int)threadIdx.x, behind = n_held + i,
              again = behind + KEPT * CE_WIDE_THREADS;
    auto finite = [](float top) { return top == -INFINITY ? 0.0f : top; };
    for (int k = i; k < n_held; k += CE_WIDE_THREADS)
        ce_fetch<TYPE>(t, held, blockIdx.x, k);
    for (int64_t row = blockIdx.x; row < t.r.rows; row += gridDim.x) {
        const char *from = (const char *)t.x.p + row * t.lx * 2;
        const int64_t next = row + gridDim.x, label = t.dx.p ? t.label[row] : 0;
        typed_vec<TYPE> kept[KEPT], raw;
        float m = join_max::zero<float>(), s = 0, v[8];
        auto add = [&](const typed_vec<TYPE> &x) {
            x.unpack(v);
            for (int e = 0; e < 8; e++)
                s += exp_below(TYPE, v[e], finite(m));
        };
        auto rise = [&](const ce_largest<TYPE> &to) {
            const float top = fmaxf(m, to.value());
            s *= exp_moved(m, finite(top));
            m = top;
        };
#pragma unroll
        for (int a = 0; a < KEPT; a++)
            if (behind + a * CE_WIDE_THREADS < n8)
                kept[a].fetch_last(from, (int64_t)(behind + a * CE_WIDE_THREADS) * 8);
        for (int k = again; k < n8; k += CE_WIDE_THREADS) {
            ce_largest<TYPE> top;
            raw.fetch(from, (int64_t)k * 8);
            top.add(raw);
            rise(top);
            add(raw);
        }
        __pipeline_commit();
        __pipeline_wait_prior(0);
        ce_largest<TYPE> top;
        for (int k = i; k < n_held; k += CE_WIDE_THREADS) {
            raw.fetch(held, k * 8);
            top.add(raw);
        }
#pragma unroll
        for (int a = 0; a < KEPT; a++)
            if (behind + a * CE_WIDE_THREADS < n8) top.add(kept[a]);
        rise(top);
        for (int k = i; k < n_held; k += CE_WIDE_THREADS) {
            raw.fetch(held, k * 8);
            add(raw);
        }
#pragma unroll
        for (int a = 0; a < KEPT; a++)
            if (behind + a * CE_WIDE_THREADS < n8) add(kept[a]);
        const float most = over_block<join_max>(m);
        s = over_block<join_sum>(s * exp_moved(m, finite(most)));
        if (i == 0) store(t.max, row, most), store(t.sum, row, s);
        const ce_row c = t.dx.p ? ce_row_of(t, label, most, s) : ce_row();
        for (int k = again; t.dx.p && k < n8; k += CE_WIDE_THREADS) {
            raw.fetch_last(from, (int64_t)k * 8);
            ce_gradient(t, c, row, k, raw);
        }
#pragma unroll
        for (int a = 0; a < KEPT; a++)
            if (t.dx.p && behind + a * CE_WIDE_THREADS < n8)
                ce_gradient(t, c, row, behind + a * CE_WIDE_THREADS, kept[a]);
        for (int k = i; k < n_held; k += CE_WIDE_THREADS) {
            if (t.dx.p) {
                raw.fetch(held, k * 8);
                ce_gradient(t, c, row, k, raw);
            }
            if (next < t.r.rows) ce_fetch<TYPE>(t, held, next, k);
        }
    }
}

// From statistics that are known.
__global__ void ce_grad(ce_args t)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= t.r.rows) return;
    ce_row c = ce_row_of(t, t.label[row], load(t.max, row), load(t.sum, row));
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

// As many blocks as run at once, each of several rows.
static const char *ce_blocks(cuda_context *x, const void *run, int threads, int shared,
                             int64_t rows, unsigned *n)
{
    int each = 0;
    CUDA_CALL(cudaFuncSetAttribute(run, cudaFuncAttributeMaxDynamicSharedMemorySize, shared));
    CUDA_CALL(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, run, threads, (size_t)shared));
    *n = (unsigned)std::min<int64_t>(rows, (int64_t)cuda_sms(x) * std::max(each, 1));
    return NULL;
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
            (!wide || ce_takes_wide(x, c, n)) && max->type == HAP_F32 && sum->type == HAP_F32 &&
            max->elements == t.r.rows && sum->elements == t.r.rows;
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
        unsigned blocks = 0;
        CUDA_TRY(ce_blocks(x, (const void *)run, CE_WIDE_THREADS, room, t.r.rows, &blocks));
        run<<<blocks, CE_WIDE_THREADS, (size_t)room, x->stream>>>(t, room / 16);
        return launched();
    }
    auto run = a->type == HAP_F32    ? ce_whole<HAP_F32>
               : a->type == HAP_BF16 ? ce_whole<HAP_BF16>
                                     : ce_whole<HAP_F16>;
    const int shared = (int)ceil_div(bytes, 16) * 16;
    unsigned blocks = 0;
    CUDA_TRY(ce_blocks(x, (const void *)run, CE_THREADS, shared, t.r.rows, &blocks));
    run<<<blocks, CE_THREADS, (size_t)shared, x->stream>>>(t);
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
