// Batch norm of [batch, channels, places] from statistics of channels, and sums over batch and
// places; cpu/ops_batch.c states the formulas. Operands lie as declared, or all of them channels
// last (cuda_last.h). Sums have one order for both: of a part of a channel's entries, lane k of 32
// adds entries k, k + 32, … in turn, the lanes are added as over_warp does, and the parts as
// cuda_columns.cuh says.

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_columns.cuh"
#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"

namespace
{
enum {
    LANES = 32,
    WARPS = 8,        // of a block
    CHANNELS = 64,    // of a block where they lie last
    PART_BLOCKS = 528, // of a sum, at most
    BLOCKS = 132 * 16  // of other kernels where channels lie last, about
};
// Sums of x; of squares of x - mean; of x, and of squares around the mean; of dy, and of dy xhat:
// dy as it lies, or times relu's slope, which relu's result tells, or batch norm's made again of x.
enum kind { SUM, SQUARES, MOMENTS, GRADIENTS, SLOPED, AGAIN };

struct batch {
    int64_t b, c, p; // local sizes
    double n, eps;
    view sum, m2;
};

// x is operand i_x, its statistics follow it; all behind it is of one entry a channel.
const char *batch_of(batch *o, const hap_op_call *c, int i_x)
{
    CUDA_TRY(cuda_want_floats(c));
    const hap_tensor *x = c->in[i_x];
    if (x->rank != 3) return cuda_fail("batch norm: [batch, channels, places] is wanted");
    cuda_axis images = cuda_axis_of(x, 0), places = cuda_axis_of(x, 2);
    double n = (double)cuda_axis_size(&images) * (double)cuda_axis_size(&places);
    *o = {x->local[0],
          x->local[1],
          x->local[2],
          n,
          c->n_attr > 0 ? c->attr[0].f : 0,
          view_of(c->in[i_x + 1]),
          view_of(cuda_in(c, i_x + 2))};
    for (int i = i_x + 1; i < c->n_in; i++)
        if (c->in[i]->elements != o->c)
            return cuda_fail("batch norm: operand %d does not have one entry a channel", i);
    if (o->b * o->p > INT32_MAX) return cuda_fail("batch norm: over 2^31 entries a channel");
    return i_x && !cuda_same_shape(c->in[0], x) ? cuda_fail("batch norm: shapes differ") : NULL;
}

// Where the row's operands are read, at[i], and whether channels last. Copies of them take the
// workspace: a sum's parts must not (columns_room).
const char *begin(cuda_context *x, const batch &o, const hap_op_call *c, hap_tensor *at, bool *last)
{
    cuda_last shape = {o.b, o.c, o.p}, lies;
    int64_t n = o.b * o.c * o.p;
    *last = o.p == 1;
    if (!*last)
        *last = cuda_any_last(x, c->in, c->n_in, n, &lies) && lies.images == o.b &&
                lies.channels == o.c && lies.places == o.p;
    const char *why = NULL;
    if (*last) columns_room(x, 0, &why);
    if (why) return why;
    *last = *last && x->columns;
    for (int i = 0; i < c->n_out; i++) // a result as large
        if (*last && c->out[i]->elements == n) *last = cuda_may_lie_last(x, c->out[i], &shape);
    if (*last) CUDA_TRY(cuda_all_last(x, c->in, c->n_in, &shape, 0, at, NULL, last));
    for (int i = 0; !*last && i < c->n_in; i++) {
        at[i] = *c->in[i];
        CUDA_TRY(cuda_will_read(x, at[i].data, at[i].bytes));
    }
    return NULL;
}

// The result: channels last if the operands are.
const char *begin_result(cuda_context *x, const batch &o, hap_tensor *y, bool last)
{
    cuda_last shape = {o.b, o.c, o.p};
    if (last) return cuda_lie_last(x, y, &shape);
    cuda_will_write(x, y->data, y->bytes);
    return NULL;
}

__device__ inline float mean_of(const batch &o, int64_t k)
{
    return (float)((double)load(o.sum, k) / o.n);
}

__device__ inline float rstd_of(const batch &o, int64_t k)
{
    return (float)(1.0 / sqrt((double)load(o.m2, k) / o.n + o.eps));
}

// The gradient of relu's result, and what tells relu's slope.
struct sloped {
    view dy, more; // more: what is added to it first, or nothing; sum: the sum's type
    view y;        // SLOPED: relu's result
    view w, bias;  // AGAIN: batch norm's; made: its result's type
    view z;        // where its product with the slope goes, its type
    int sum, made;
};

// Batch norm's result; the same bits wherever it is made.
__device__ inline float normed_at(float x, float mean, float by, float bias)
{
    return __fmaf_rn(__fsub_rn(x, mean), by, bias);
}

template <kind K>
__device__ inline float slope_at(const sloped &f, float x, float dy, float more, float y,
                                 float mean, float by, float bias)
{
    if (K == SLOPED && f.more.p) dy = as_stored(f.sum, dy + more);
    if (K == AGAIN) y = as_stored(f.made, normed_at(x, mean, by, bias));
    return K < SLOPED ? dy : as_stored(f.z.type, y > 0 ? dy : 0.0f);
}

// What an entry adds to the sums; roundings are written out, so that all kernels make the same.
template <kind K>
__device__ inline void add_entry(float x, float dy, float mean, float *s, float *t)
{
    float d = x - mean;
    if (K == SUM) *s += x;
    if (K == SQUARES) *s += d * d;
    if (K >= GRADIENTS) {
        *s = __fadd_rn(*s, dy);
        *t = __fmaf_rn(dy, d, *t);
    }
    if (K == MOMENTS) { // mean: an entry of the part
        *s += d;
        *t += d * d;
    }
}

// What a part of n entries leaves of its sums. MOMENTS: squares are around the part's own mean.
template <kind K>
__device__ inline void end_part(float n, float mean, float rstd, float *s, float *t)
{
    if (K >= GRADIENTS) *t = __fmul_rn(*t, rstd);
    if (K != MOMENTS) return;
    *t -= *s * (*s / n);
    *s += n * mean;
}

// part: [1 or 2, parts, channels]. A warp a part of a channel.
template <kind K>
__global__ void sums_declared(batch o, view x, sloped f, unsigned each, unsigned parts, float *part)
{
    int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.y, k = at / parts;
    if (k >= o.c) return;
    unsigned p = (unsigned)o.p, n = (unsigned)(o.b * o.p), i = (unsigned)(at % parts);
    unsigned first = i * each, end = n - first < each ? n : first + each;
    float mean = 0, rstd = K >= GRADIENTS ? rstd_of(o, k) : 0.0f, by = 0, bias = 0, s = 0, t = 0;
    if (K == SQUARES || K >= GRADIENTS) mean = mean_of(o, k);
    if (K == MOMENTS) mean = load(x, ((int64_t)(first / p) * o.c + k) * o.p + first % p);
    if (K == AGAIN) by = rstd * load(f.w, k), bias = load(f.bias, k);
#pragma unroll 4
    for (unsigned e = first + threadIdx.x; e < end; e += LANES) {
        int64_t from = ((int64_t)(e / p) * o.c + k) * o.p + e % p;
        float u = load(x, from), g = 0;
        if (K >= GRADIENTS) {
            float more = K == SLOPED && f.more.p ? load(f.more, from) : 0.0f;
            g = slope_at<K>(f, u, load(f.dy, from), more, K == SLOPED ? load(f.y, from) : 0.0f,
                            mean, by, bias);
            if (K >= SLOPED && f.z.p) store(f.z, from, g);
        }
        add_entry<K>(u, g, mean, &s, &t);
    }
    s = over_warp<join_sum>(s);
    if (K >= MOMENTS) t = over_warp<join_sum>(t);
    if (threadIdx.x != 0) return;
    end_part<K>((float)(end - first), mean, rstd, &s, &t);
    part[i * o.c + k] = s;
    if (K >= MOMENTS) part[(parts + i) * o.c + k] = t;
}

// NARROW: all tensors as large as x are bf16, and the kernel knows it.
__device__ inline void known(sloped *f)
{
    f->dy.type = f->more.type = f->y.type = f->z.type = HAP_BF16;
    f->sum = f->made = HAP_BF16;
}

// A block a part of CHANNELS channels, V a thread; row e is an image's place.
template <kind K, int V, bool NARROW>
__global__ void sums_last(batch o, view x, sloped f, unsigned each, float *part)
{
    enum {
        AT_ONCE = V == 1 ? 1 : K == SLOPED ? 2 : 4,
        N = K >= MOMENTS ? 2 : 1,
        TILE = V == 8 ? CHANNELS : 32
    };
    if (NARROW) x.type = HAP_BF16, known(&f);
    __shared__ float lane[N][LANES][TILE + 1];
    __shared__ float4 stat[TILE]; // mean, rstd; AGAIN: weight * rstd, bias
    int own = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
    int64_t base = (int64_t)blockIdx.x * TILE, col = base + threadIdx.x * V, c = o.c;
    int64_t n = o.b * o.p, first = (int64_t)blockIdx.y * each;
    int64_t end = n - first < each ? n : first + each;
    if (own < TILE && base + own < c) {
        float4 u = {0, 0, 0, 0};
        if (K == SQUARES || K >= GRADIENTS) u.x = mean_of(o, base + own);
        if (K == MOMENTS) u.x = load(x, first * c + base + own);
        if (K >= GRADIENTS) u.y = rstd_of(o, base + own);
        if (K == AGAIN) u.z = u.y * load(f.w, base + own), u.w = load(f.bias, base + own);
        stat[own] = u;
    }
    __syncthreads();
    float s[V] = {0}, t[V] = {0}, mean[V] = {0}, by[V] = {0}, bias[V] = {0};
    if (col < c) {
#pragma unroll
        for (int i = 0; i < V; i++) {
            if (K != SUM) mean[i] = stat[threadIdx.x * V + i].x;
            if (K != AGAIN) continue;
            by[i] = stat[threadIdx.x * V + i].z, bias[i] = stat[threadIdx.x * V + i].w;
        }
        for (int64_t e = first + threadIdx.y; e < end; e += LANES * AT_ONCE) {
            float u[V], g[V] = {0}, more[V] = {0}, y[V] = {0};
            if constexpr (V == 8) {
                raw_vec ru[AT_ONCE], rg[AT_ONCE], rm[AT_ONCE], ry[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    int64_t at = (e + i * LANES) * c + col;
                    if (e + i * LANES >= end) break;
                    fetch_vec(x, at, &ru[i]);
                    if (K >= GRADIENTS) fetch_vec(f.dy, at, &rg[i]);
                    if (K == SLOPED) fetch_vec(f.y, at, &ry[i]);
                    if (K == SLOPED && f.more.p) fetch_vec(f.more, at, &rm[i]);
                }
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    int64_t at = (e + i * LANES) * c + col;
                    if (e + i * LANES >= end) break;
                    unpack_vec(x.type, ru[i], u);
                    if (K >= GRADIENTS) unpack_vec(f.dy.type, rg[i], g);
                    if (K == SLOPED) unpack_vec(f.y.type, ry[i], y);
                    if (K == SLOPED && f.more.p) unpack_vec(f.more.type, rm[i], more);
#pragma unroll
                    for (int k = 0; k < V; k++) {
                        if (K >= GRADIENTS)
                            g[k] = slope_at<K>(f, u[k], g[k], more[k], y[k], mean[k], by[k],
                                               bias[k]);
                        add_entry<K>(u[k], g[k], mean[k], &s[k], &t[k]);
                    }
                    if (K >= SLOPED && f.z.p) store_vec<V>(f.z, at, g);
                }
            } else {
                int64_t at = e * c + col;
                load_vec<V>(x, at, u);
                if (K >= GRADIENTS) load_vec<V>(f.dy, at, g);
                if (K == SLOPED) load_vec<V>(f.y, at, y);
                if (K == SLOPED && f.more.p) load_vec<V>(f.more, at, more);
                if (K >= GRADIENTS)
                    g[0] = slope_at<K>(f, u[0], g[0], more[0], y[0], mean[0], by[0], bias[0]);
                if (K >= SLOPED && f.z.p) store_vec<V>(f.z, at, g);
                add_entry<K>(u[0], g[0], mean[0], s, t);
            }
        }
    }
#pragma unroll
    for (int i = 0; i < V; i++) {
        lane[0][threadIdx.y][threadIdx.x * V + i] = s[i];
        if (N == 2) lane[N - 1][threadIdx.y][threadIdx.x * V + i] = t[i];
    }
    __syncthreads();
    for (int k = own / 32; k < TILE; k += warps) { // a channel a warp
        float sum = over_warp<join_sum>(lane[0][own % 32][k]), more = 0;
        if (N == 2) more = over_warp<join_sum>(lane[N - 1][own % 32][k]);
        if (own % 32 != 0 || base + k >= c) continue;
        end_part<K>((float)(end - first), stat[k].x, stat[k].y, &sum, &more);
        part[blockIdx.y * c + base + k] = sum;
        if (N == 2) part[(gridDim.y + blockIdx.y) * c + base + k] = more;
    }
}

bool in_vectors(const batch &o, const view *of, int n)
{
    bool yes = o.c % 8 == 0;
    for (int i = 0; i < n; i++)
        yes = yes && (uintptr_t)of[i].p % 16 == 0;
    return yes;
}

bool are_narrow(const view *of, int n, const sloped &f)
{
    bool yes = f.sum == HAP_BF16 && f.made == HAP_BF16 && f.z.type == HAP_BF16;
    for (int i = 0; i < n; i++)
        yes = yes && (!of[i].p || of[i].type == HAP_BF16);
    return yes;
}

// Of parts' sums and squares around the parts' own means: those of all.
enum { END_LANES = 32 };
__global__ void moments_end(int64_t rows, int64_t c, column_order order, const float *part,
                            view sum, view m2)
{
    __shared__ double lane[END_LANES][LANES + 1];
    int64_t k = (int64_t)blockIdx.x * LANES + threadIdx.x;
    double all = 0, squares = 0;
#pragma unroll 4
    for (int64_t i = threadIdx.y; k < c && i < order.parts; i += END_LANES)
        all += (double)part[i * c + k];
    lane[threadIdx.y][threadIdx.x] = all;
    __syncthreads();
    all = 0;
#pragma unroll
    for (int i = 0; i < END_LANES; i++)
        all += lane[i][threadIdx.x];
    __syncthreads();
    double mean = all / (double)rows, by = 1 / (double)order.each;
#pragma unroll 4
    for (int64_t i = threadIdx.y; k < c && i < order.parts; i += END_LANES) {
        int64_t left = rows - i * order.each, n = left < order.each ? left : order.each;
        double d = (double)part[i * c + k] * (n == order.each ? by : 1 / (double)n) - mean;
        squares += (double)part[(order.parts + i) * c + k] + (double)n * d * d;
    }
    lane[threadIdx.y][threadIdx.x] = squares;
    __syncthreads();
    if (threadIdx.y != 0 || k >= c) return;
    for (int i = 1; i < END_LANES; i++)
        squares += lane[i][threadIdx.x];
    store(sum, k, (float)all);
    store(m2, k, (float)squares);
}

const view NOTHING = {nullptr, HAP_BF16};
const sloped NO_SLOPE = {NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, NOTHING, HAP_BF16, HAP_BF16};

template <kind K>
const char *sums(cuda_context *x, const batch &o, view of, const sloped &f, bool last,
                 hap_tensor *const *out)
{
    int n = K >= MOMENTS ? 2 : 1;
    view to[2] = {view_of(out[0]), view_of(n > 1 ? out[1] : NULL)};
    view all[5] = {of, f.dy, f.more, f.y, f.z};
    int64_t rows = o.b * o.p, tiles = ceil_div(o.c, CHANNELS);
    if (o.c == 0) return NULL;
    if (rows == 0) {
        for (int i = 0; i < n; i++)
            CUDA_TRY(cuda_fill(x->stream, out[i], 0));
        return NULL;
    }
    column_order order = {PART_BLOCKS / tiles, 0};
    if (order.parts > ceil_div(rows, 8 * LANES)) order.parts = ceil_div(rows, 8 * LANES);
    if (order.parts < 1) order.parts = 1;
    order.each = ceil_div(rows, order.parts);
    order.parts = ceil_div(rows, order.each);
    const char *why = NULL;
    float *part = columns_room(x, n * order.parts * o.c, &why);
    if (!part) return why;
    dim3 grid((unsigned)tiles, (unsigned)order.parts), block(CHANNELS / 8, LANES);
    unsigned each = (unsigned)order.each;
    if (!last)
        sums_declared<K><<<(unsigned)ceil_div(o.c * order.parts, WARPS), dim3(LANES, WARPS), 0,
                           x->stream>>>(o, of, f, each, (unsigned)order.parts, part);
    else if (!in_vectors(o, all, 5))
        sums_last<K, 1, false><<<dim3((unsigned)ceil_div(o.c, 32), (unsigned)order.parts),
                                 dim3(32, LANES), 0, x->stream>>>(o, of, f, each, part);
    else if (are_narrow(all, 5, f))
        sums_last<K, 8, true><<<grid, block, 0, x->stream>>>(o, of, f, each, part);
    else
        sums_last<K, 8, false><<<grid, block, 0, x->stream>>>(o, of, f, each, part);
    CUDA_TRY(launched());
    if (K != MOMENTS) return columns_end(x, order, o.c, part, n, to);
    moments_end<<<(unsigned)ceil_div(o.c, LANES), dim3(LANES, END_LANES), 0, x->stream>>>(
        rows, o.c, order, part, to[0], to[1]);
    return launched();
}

// --- entry by entry ---

// What a channel's entries are made with.
struct __align__(8) channel {
    float mean, by, more, v, w, bias; // w, bias: of slope<AGAIN>
};

template <int N> struct normed { // of 1 or 2 operands, the second added later (results)
    enum { OPERANDS = N };
    view w, bias;
    __device__ channel of(const batch &o, int64_t k) const
    {
        return {mean_of(o, k), rstd_of(o, k) * load(w, k), load(bias, k), 0, 0, 0};
    }
    __device__ float at(const channel &c, float x, float) const
    {
        return normed_at(x, c.mean, c.by, c.more);
    }
    sloped slope_of() const { return NO_SLOPE; }
    __device__ void knows() {}
};

template <kind K> struct slope { // sums of gradients, weight; f: of AGAIN
    enum { OPERANDS = 2 };
    view s1, s2, w;
    sloped f;
    __device__ channel of(const batch &o, int64_t k) const
    {
        float rstd = rstd_of(o, k), by = rstd * load(w, k);
        return {mean_of(o, k),
                by,
                (float)((double)load(s1, k) / o.n),
                rstd * (float)((double)load(s2, k) / o.n),
                K == AGAIN ? rstd * load(f.w, k) : 0.0f,
                K == AGAIN ? load(f.bias, k) : 0.0f};
    }
    __device__ float at(const channel &c, float x, float dy) const
    {
        dy = slope_at<K>(f, x, dy, 0, 0, c.mean, c.w, c.bias);
        return __fmul_rn(c.by, __fmaf_rn(c.mean - x, c.v, __fsub_rn(dy, c.more)));
    }
    sloped slope_of() const { return f; }
    __device__ void knows() { known(&f); }
};

// What is written: y; the sum of it and the second operand, and relu of that, if they are wanted.
struct results {
    view y, sum, relu; // of those that nobody reads the type alone
    bool adds;
    __device__ void knows() { y.type = sum.type = relu.type = HAP_BF16; }
    template <int V> __device__ void put(int64_t i, float (&u)[V], const float (&more)[V]) const
    {
        if (y.p) store_vec<V>(y, i, u);
        if (adds) {
#pragma unroll
            for (int k = 0; k < V; k++)
                u[k] = as_stored(y.type, u[k]) + more[k];
            if (sum.p) store_vec<V>(sum, i, u);
        }
        if (!relu.p) return;
#pragma unroll
        for (int k = 0; k < V; k++)
            u[k] = hap_formula::hap_relu(as_stored(adds ? sum.type : y.type, u[k]));
        store_vec<V>(relu, i, u);
    }
};

// A warp an image's channel.
template <class F> __global__ void entries_declared(batch o, F f, results y, view x, view dy)
{
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    if (row >= o.b * o.c) return;
    channel c = f.of(o, row % o.c);
    for (int64_t i = row * o.p + threadIdx.x; i < (row + 1) * o.p; i += 32) {
        float g[1] = {F::OPERANDS == 2 ? load(dy, i) : 0.0f}, u[1] = {f.at(c, load(x, i), g[0])};
        y.put<1>(i, u, g);
    }
}

// A block `each` rows of the channels of its threads, V a thread.
template <class F, int V, bool NARROW>
__global__ void entries_last(batch o, F f, results y, view x, view dy, int64_t each)
{
    enum { TILE = V == 8 ? CHANNELS : 32, AT_ONCE = V == 1 ? 1 : F::OPERANDS == 2 ? 2 : 4 };
    if (NARROW) x.type = HAP_BF16, y.knows(), f.knows();
    if constexpr (NARROW && F::OPERANDS == 2) dy.type = HAP_BF16;
    __shared__ channel shared[TILE];
    int own = threadIdx.y * blockDim.x + threadIdx.x;
    int64_t base = (int64_t)blockIdx.x * TILE, col = base + threadIdx.x * V, n = o.b * o.p;
    int64_t first = (int64_t)blockIdx.y * each, end = n - first < each ? n : first + each;
    channel c[V];
    if (own < TILE && base + own < o.c) shared[own] = f.of(o, base + own);
    __syncthreads();
    if (col >= o.c) return;
#pragma unroll
    for (int i = 0; i < V; i++)
        c[i] = shared[threadIdx.x * V + i];
    for (int64_t e = first + threadIdx.y; e < end; e += blockDim.y * AT_ONCE) {
        float u[V], g[V] = {0};
        if constexpr (V == 8) {
            raw_vec ru[AT_ONCE], rg[AT_ONCE];
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                int64_t row = e + i * blockDim.y;
                if (row >= end) break;
                fetch_vec(x, row * o.c + col, &ru[i]);
                if (F::OPERANDS == 2) fetch_vec(dy, row * o.c + col, &rg[i]);
            }
#pragma unroll
            for (int i = 0; i < AT_ONCE; i++) {
                int64_t row = e + i * blockDim.y;
                if (row >= end) break;
                unpack_vec(x.type, ru[i], u);
                if (F::OPERANDS == 2) unpack_vec(dy.type, rg[i], g);
#pragma unroll
                for (int k = 0; k < V; k++)
                    u[k] = f.at(c[k], u[k], g[k]);
                y.put<V>(row * o.c + col, u, g);
            }
        } else {
            load_vec<V>(x, e * o.c + col, u);
            if (F::OPERANDS == 2) load_vec<V>(dy, e * o.c + col, g);
            u[0] = f.at(c[0], u[0], g[0]);
            y.put<V>(e * o.c + col, u, g);
        }
    }
}

template <class F>
const char *entries(cuda_context *x, const batch &o, const F &f, const results &y, view of, view dy,
                    bool last)
{
    view all[5] = {y.y, y.sum, y.relu, of, dy};
    int64_t rows = o.b * o.p, tiles = ceil_div(o.c, CHANNELS);
    if (!last) {
        entries_declared<<<(unsigned)ceil_div(o.b * o.c, WARPS), dim3(32, WARPS), 0, x->stream>>>(
            o, f, y, of, dy);
        return launched();
    }
    int64_t blocks = BLOCKS / tiles < 1 ? 1 : BLOCKS / tiles, each = ceil_div(rows, blocks);
    if (each < 4 * LANES) each = 4 * LANES;
    unsigned parts = (unsigned)ceil_div(rows, each);
    dim3 grid((unsigned)tiles, parts), block(CHANNELS / 8, LANES);
    bool narrow = y.y.type == HAP_BF16 && (!y.adds || y.sum.type == HAP_BF16);
    if (!in_vectors(o, all, 5))
        entries_last<F, 1, false><<<dim3((unsigned)ceil_div(o.c, 32), parts), dim3(32, WARPS), 0,
                                    x->stream>>>(o, f, y, of, dy, each);
    else if (narrow && are_narrow(all, 5, f.slope_of()))
        entries_last<F, 8, true><<<grid, block, 0, x->stream>>>(o, f, y, of, dy, each);
    else
        entries_last<F, 8, false><<<grid, block, 0, x->stream>>>(o, f, y, of, dy, each);
    return launched();
}

results alone(const hap_tensor *y)
{
    return {view_of(y), NOTHING, NOTHING, false};
}

// The sums of call c, and where it reads its operands.
template <kind K>
const char *gradients(cuda_context *x, const batch &o, const hap_op_call *c, const hap_tensor *of,
                      const sloped &f, bool last)
{
    for (int i = 0; i < 2; i++)
        cuda_will_write(x, c->out[i]->data, c->out[i]->bytes);
    return sums<K>(x, o, view_of(of), f, last, c->out);
}
} // namespace

CUDA_ROW(batch_m2)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN];
    CUDA_TRY(batch_of(&o, c, 0));
    CUDA_TRY(begin(x, o, c, at, &last));
    cuda_will_write(x, c->out[0]->data, c->out[0]->bytes);
    return sums<SQUARES>(x, o, view_of(&at[0]), NO_SLOPE, last, c->out);
}

CUDA_ROW(batch_bwd_stats)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN];
    sloped f = NO_SLOPE;
    CUDA_TRY(batch_of(&o, c, 1));
    CUDA_TRY(begin(x, o, c, at, &last));
    f.dy = view_of(&at[0]);
    return gradients<GRADIENTS>(x, o, c, &at[1], f, last);
}

const char *cuda_channel_sums(cuda_context *x, const hap_tensor *of, const cuda_last *shape,
                              hap_tensor *y)
{
    batch o = {shape->images, shape->channels, shape->places, 1, 0, NOTHING, NOTHING};
    cuda_last lies;
    bool last = cuda_lies_last(x, of, &lies) && lies.images == o.b && lies.channels == o.c;
    if (o.b * o.p > INT32_MAX) return cuda_fail("sum: over 2^31 entries a channel");
    if (!last) CUDA_TRY(cuda_will_read(x, of->data, of->bytes));
    return sums<SUM>(x, o, view_of(of), NO_SLOPE, last, &y);
}

const char *cuda_place_sums(cuda_context *x, const hap_tensor *of, int64_t rows, int64_t places,
                            hap_tensor *y, bool *taken)
{
    cuda_last lies;
    bool last = cuda_lies_last(x, of, &lies);
    *taken = places <= CUDA_PLACE_SUMS && y->type == HAP_F32 && rows * places <= INT32_MAX &&
             (!last || (lies.images * lies.channels == rows && lies.places == places &&
                        lies.images <= 65535));
    if (!*taken) return NULL;
    batch o = {rows, 1, places, 1, 0, NOTHING, NOTHING};
    float *to = (float *)y->data;
    if (!last) {
        CUDA_TRY(cuda_will_read(x, of->data, of->bytes));
        sums_declared<SUM><<<(unsigned)ceil_div(rows, WARPS), dim3(LANES, WARPS), 0, x->stream>>>(
            o, view_of(of), NO_SLOPE, (unsigned)places, (unsigned)rows, to);
        return launched();
    }
    o.b = lies.images, o.c = lies.channels;
    view x_of = view_of(of);
    if (in_vectors(o, &x_of, 1))
        sums_last<SUM, 8, false><<<dim3((unsigned)ceil_div(o.c, CHANNELS), (unsigned)o.b),
                                   dim3(CHANNELS / 8, LANES), 0, x->stream>>>(
            o, x_of, NO_SLOPE, (unsigned)places, to);
    else
        sums_last<SUM, 1, false><<<dim3((unsigned)ceil_div(o.c, 32), (unsigned)o.b),
                                   dim3(32, LANES), 0, x->stream>>>(o, x_of, NO_SLOPE,
                                                                    (unsigned)places, to);
    return launched();
}

CUDA_ROW(batch_apply)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN], *y = c->out[0];
    CUDA_TRY(batch_of(&o, c, 0));
    if (y->elements == 0) return NULL;
    CUDA_TRY(begin(x, o, c, at, &last));
    CUDA_TRY(begin_result(x, o, y, last));
    normed<1> f = {view_of(&at[3]), view_of(&at[4])};
    return entries(x, o, f, alone(y), view_of(&at[0]), NOTHING, last);
}

// batch_apply (, add) (, relu).
const char *cuda_batch_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                             bool *done)
{
    batch o;
    bool last;
    const hap_op_call *relu = c[n - 1]->op == HAP_OP_relu ? c[n - 1] : NULL;
    const hap_op_call *add = n > 1 && c[1]->op == HAP_OP_add ? c[1] : NULL;
    hap_op_call all = *c[0]; // its operands and what is added; what is made
    hap_tensor at[HAP_MAX_IN], *y = c[0]->out[0];
    int other = all.n_in;
    *done = y->elements > 0;
    all.n_out = 0;
    for (int k = 0; k < n; k++) {
        const hap_tensor *t = c[k]->out[0];
        *done = *done && t->elements == y->elements && (k == 0 || t->type == y->type);
        if (!(unread >> k & 1)) all.out[all.n_out++] = c[k]->out[0];
    }
    if (add) {
        hap_tensor *t = add->in[add->in[0]->data == y->data ? 1 : 0];
        *done = *done && t->elements == y->elements;
        all.in[all.n_in++] = t;
    }
    if (!*done) return NULL;
    CUDA_TRY(batch_of(&o, c[0], 0));
    CUDA_TRY(begin(x, o, &all, at, &last));
    for (int k = 0; k < all.n_out; k++)
        CUDA_TRY(begin_result(x, o, all.out[k], last));
    results to = {view_of(y), NOTHING, NOTHING, add != NULL};
    if (unread & 1) to.y.p = NULL;
    if (add) to.sum = view_of(add->out[0]);
    if (unread & 2) to.sum.p = NULL;
    if (relu) to.relu = view_of(relu->out[0]);
    view w = view_of(&at[3]), bias = view_of(&at[4]);
    if (!add) return entries(x, o, normed<1>{w, bias}, to, view_of(&at[0]), NOTHING, last);
    return entries(x, o, normed<2>{w, bias}, to, view_of(&at[0]), view_of(&at[other]), last);
}

// sum, batch_m2 of the same: in one pass, squares around the parts' means.
const char *cuda_moments_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                               bool *done)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN], *out[2] = {c[0]->out[0], c[1]->out[0]};
    hap_sum_shape s = hap_sum_shape_of(c[0]->in[0], c[0]->attr[0].v);
    (void)n, (void)unread;
    CUDA_TRY(batch_of(&o, c[1], 0));
    *done = s.n == 3 && s.summed[0] && s.summed[2] && s.size[0] == o.b && s.size[1] == o.c &&
            s.size[2] == o.p && o.n == (double)(o.b * o.p) && out[0]->elements == o.c;
    if (!*done) return NULL;
    for (int i = 0; i < 2; i++) // first: what lay there is not to be brought back
        cuda_will_write(x, out[i]->data, out[i]->bytes);
    CUDA_TRY(begin(x, o, c[1], at, &last));
    return sums<MOMENTS>(x, o, view_of(&at[0]), NO_SLOPE, last, out);
}

CUDA_ROW(batch_bwd)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN], *y = c->out[0];
    CUDA_TRY(batch_of(&o, c, 1));
    if (y->elements == 0) return NULL;
    CUDA_TRY(begin(x, o, c, at, &last));
    CUDA_TRY(begin_result(x, o, y, last));
    slope<GRADIENTS> f = {view_of(&at[4]), view_of(&at[5]), view_of(&at[6]), NO_SLOPE};
    return entries(x, o, f, alone(y), view_of(&at[1]), view_of(&at[0]), last);
}

// (add,) relu_bwd, batch_bwd_stats: the slope is that of relu's result. batch_apply, once more,
// relu_bwd, batch_bwd_stats (, batch_bwd): that of what batch norm makes of x, which is not written
// again.
const char *cuda_batch_bwd_chain(cuda_context *x, const hap_op_call *const *c, int n,
                                 unsigned unread, bool *done)
{
    enum { X, SUM_X, M2, DY, MORE, Y, W, BIAS, S1, S2, WEIGHT, N };
    const hap_op_call *again = c[0]->op == HAP_OP_batch_apply ? c[0] : NULL;
    const hap_op_call *add = c[0]->op == HAP_OP_add ? c[0] : NULL;
    int at_relu = again || add ? 1 : 0;
    const hap_op_call *relu = c[at_relu], *stats = c[at_relu + 1];
    const hap_op_call *bwd = n > at_relu + 2 ? c[at_relu + 2] : NULL;
    hap_tensor *z = relu->out[0], at[HAP_MAX_IN], of[N];
    hap_op_call all = *stats;
    batch o;
    bool last, writes = !bwd || !(unread >> at_relu & 1);
    *done = z->elements > 0 && (!again || (unread & 1)) && (!add || (unread & 1));
    if (!*done) return NULL;
    CUDA_TRY(batch_of(&o, stats, 1));
    // What is read as large as x, and channel by channel; what is made.
    hap_tensor *in[N] = {stats->in[1], stats->in[2], stats->in[3], relu->in[0], NULL, relu->in[1]};
    if (add) in[DY] = add->in[0], in[MORE] = add->in[1];
    if (again) in[Y] = NULL, in[W] = again->in[3], in[BIAS] = again->in[4];
    for (int i = X; i <= Y; i++)
        if (in[i] && i != SUM_X && i != M2) *done = *done && in[i]->elements == z->elements;
    all.n_out = all.n_in = 0;
    if (writes) all.out[all.n_out++] = z;
    if (bwd) all.out[all.n_out++] = bwd->out[0];
    for (int i = X; i <= BIAS; i++)
        if (in[i]) all.in[all.n_in++] = in[i];
    if (!*done) return NULL;
    CUDA_TRY(begin(x, o, &all, at, &last));
    for (int i = X, k = 0; i <= BIAS; i++)
        if (in[i]) of[i] = at[k++];
    o.sum = view_of(&of[SUM_X]), o.m2 = view_of(&of[M2]);
    sloped f = NO_SLOPE;
    f.dy = view_of(&of[DY]), f.z = view_of(z);
    if (add) f.more = view_of(&of[MORE]), f.sum = add->out[0]->type;
    if (!again) f.y = view_of(&of[Y]);
    if (again) f.w = view_of(&of[W]), f.bias = view_of(&of[BIAS]), f.made = again->out[0]->type;
    if (writes)
        CUDA_TRY(begin_result(x, o, z, last));
    else
        f.z.p = NULL;
    if (!again) return gradients<SLOPED>(x, o, stats, &of[X], f, last);
    CUDA_TRY(gradients<AGAIN>(x, o, stats, &of[X], f, last));
    if (!bwd) return NULL;
    for (int i = 4; i < 7; i++)
        CUDA_TRY(cuda_will_read(x, bwd->in[i]->data, bwd->in[i]->bytes));
    CUDA_TRY(begin_result(x, o, bwd->out[0], last));
    slope<AGAIN> g = {view_of(bwd->in[4]), view_of(bwd->in[5]), view_of(bwd->in[6]), f};
    return entries(x, o, g, alone(bwd->out[0]), view_of(&of[X]), f.dy, last);
}
