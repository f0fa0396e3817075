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
// Sums of x; of squares of x - mean; of dy, and of dy xhat; of x, and of squares around the mean.
enum kind { SUM, SQUARES, GRADIENTS, MOMENTS };

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

// What an entry adds to the sums.
template <kind K>
__device__ inline void add_entry(float x, float dy, float mean, float rstd, float *s, float *t)
{
    float d = x - mean;
    if (K == SUM) *s += x;
    if (K == SQUARES) *s += d * d;
    if (K == GRADIENTS) {
        *s += dy;
        *t += dy * (d * rstd);
    }
    if (K == MOMENTS) { // mean: an entry of the part
        *s += d;
        *t += d * d;
    }
}

// What a part of n entries leaves of its sums. MOMENTS: squares are around the part's own mean.
template <kind K> __device__ inline void end_part(float n, float mean, float *s, float *t)
{
    if (K != MOMENTS) return;
    *t -= *s * (*s / n);
    *s += n * mean;
}

// part: [1 or 2, parts, channels]. A warp a part of a channel.
template <kind K>
__global__ void sums_declared(batch o, view x, view dy, unsigned each, unsigned parts, float *part)
{
    int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.y, k = at / parts;
    if (k >= o.c) return;
    unsigned p = (unsigned)o.p, n = (unsigned)(o.b * o.p), i = (unsigned)(at % parts);
    unsigned first = i * each, end = n - first < each ? n : first + each;
    float mean = 0, rstd = K == GRADIENTS ? rstd_of(o, k) : 0.0f, s = 0, t = 0;
    if (K == SQUARES || K == GRADIENTS) mean = mean_of(o, k);
    if (K == MOMENTS) mean = load(x, ((int64_t)(first / p) * o.c + k) * o.p + first % p);
#pragma unroll 4
    for (unsigned e = first + threadIdx.x; e < end; e += LANES) {
        int64_t from = ((int64_t)(e / p) * o.c + k) * o.p + e % p;
        add_entry<K>(load(x, from), K == GRADIENTS ? load(dy, from) : 0.0f, mean, rstd, &s, &t);
    }
    s = over_warp<join_sum>(s);
    if (K >= GRADIENTS) t = over_warp<join_sum>(t);
    if (threadIdx.x != 0) return;
    end_part<K>((float)(end - first), mean, &s, &t);
    part[i * o.c + k] = s;
    if (K >= GRADIENTS) part[(parts + i) * o.c + k] = t;
}

// A block a part of CHANNELS channels, V a thread; row e is an image's place.
template <kind K, int V>
__global__ void sums_last(batch o, view x, view dy, unsigned each, float *part)
{
    enum { AT_ONCE = V == 8 ? 4 : 1, N = K >= GRADIENTS ? 2 : 1, TILE = V == 8 ? CHANNELS : 32 };
    __shared__ float lane[N][LANES][TILE + 1];
    __shared__ float2 stat[TILE];
    int own = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
    int64_t base = (int64_t)blockIdx.x * TILE, col = base + threadIdx.x * V, c = o.c;
    int64_t n = o.b * o.p, first = (int64_t)blockIdx.y * each;
    int64_t end = n - first < each ? n : first + each;
    if (K != SUM && own < TILE && base + own < c)
        stat[own] = {K == MOMENTS ? load(x, first * c + base + own) : mean_of(o, base + own),
                     K == GRADIENTS ? rstd_of(o, base + own) : 0.0f};
    __syncthreads();
    float s[V] = {0}, t[V] = {0}, mean[V] = {0}, rstd[V] = {0};
    if (col < c) {
#pragma unroll
        for (int i = 0; i < V; i++) {
            if (K != SUM) mean[i] = stat[threadIdx.x * V + i].x;
            if (K == GRADIENTS) rstd[i] = stat[threadIdx.x * V + i].y;
        }
        for (int64_t e = first + threadIdx.y; e < end; e += LANES * AT_ONCE) {
            float u[V], g[V];
            if constexpr (V == 8) {
                raw_vec ru[AT_ONCE], rg[AT_ONCE];
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    if (e + i * LANES >= end) break;
                    fetch_vec(x, (e + i * LANES) * c + col, &ru[i]);
                    if (K == GRADIENTS) fetch_vec(dy, (e + i * LANES) * c + col, &rg[i]);
                }
#pragma unroll
                for (int i = 0; i < AT_ONCE; i++) {
                    if (e + i * LANES >= end) break;
                    unpack_vec(x.type, ru[i], u);
                    if (K == GRADIENTS) unpack_vec(dy.type, rg[i], g);
#pragma unroll
                    for (int k = 0; k < V; k++)
                        add_entry<K>(u[k], K == GRADIENTS ? g[k] : 0.0f, mean[k], rstd[k], &s[k],
                                     &t[k]);
                }
            } else {
                load_vec<V>(x, e * c + col, u);
                if (K == GRADIENTS) load_vec<V>(dy, e * c + col, g);
                add_entry<K>(u[0], K == GRADIENTS ? g[0] : 0.0f, mean[0], rstd[0], s, t);
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
        end_part<K>((float)(end - first), stat[k].x, &sum, &more);
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

// Of parts' sums and squares around the parts' own means: those of all.
__global__ void moments_end(int64_t rows, int64_t c, column_order order, const float *part,
                            view sum, view m2)
{
    __shared__ double lane[WARPS][LANES + 1];
    int64_t k = (int64_t)blockIdx.x * LANES + threadIdx.x;
    double all = 0, squares = 0;
    for (int64_t i = threadIdx.y; k < c && i < order.parts; i += WARPS)
        all += (double)part[i * c + k];
    lane[threadIdx.y][threadIdx.x] = all;
    __syncthreads();
    all = 0;
    for (int i = 0; i < WARPS; i++)
        all += lane[i][threadIdx.x];
    __syncthreads();
    for (int64_t i = threadIdx.y; k < c && i < order.parts; i += WARPS) {
        int64_t left = rows - i * order.each, n = left < order.each ? left : order.each;
        double d = (double)part[i * c + k] / (double)n - all / (double)rows;
        squares += (double)part[(order.parts + i) * c + k] + (double)n * d * d;
    }
    lane[threadIdx.y][threadIdx.x] = squares;
    __syncthreads();
    if (threadIdx.y != 0 || k >= c) return;
    for (int i = 1; i < WARPS; i++)
        squares += lane[i][threadIdx.x];
    store(sum, k, (float)all);
    store(m2, k, (float)squares);
}

template <kind K>
const char *sums(cuda_context *x, const batch &o, view of, view dy, bool last,
                 hap_tensor *const *out)
{
    int n = K >= GRADIENTS ? 2 : 1;
    view to[2] = {view_of(out[0]), view_of(n > 1 ? out[1] : NULL)}, both[2] = {of, dy.p ? dy : of};
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
    dim3 grid((unsigned)tiles, (unsigned)order.parts);
    if (!last)
        sums_declared<K><<<(unsigned)ceil_div(o.c * order.parts, WARPS), dim3(LANES, WARPS), 0,
                           x->stream>>>(o, of, dy, (unsigned)order.each, (unsigned)order.parts,
                                        part);
    else if (in_vectors(o, both, 2))
        sums_last<K, 8><<<grid, dim3(CHANNELS / 8, LANES), 0, x->stream>>>(
            o, of, dy, (unsigned)order.each, part);
    else
        sums_last<K, 1><<<dim3((unsigned)ceil_div(o.c, 32), (unsigned)order.parts),
                          dim3(32, LANES), 0, x->stream>>>(o, of, dy, (unsigned)order.each, part);
    CUDA_TRY(launched());
    if (K != MOMENTS) return columns_end(x, order, o.c, part, n, to);
    moments_end<<<(unsigned)ceil_div(o.c, LANES), dim3(LANES, WARPS), 0, x->stream>>>(
        rows, o.c, order, part, to[0], to[1]);
    return launched();
}

// --- entry by entry ---

// What a channel's entries are made with.
struct __align__(16) channel {
    float mean, by, more, v;
};

struct normed { // weight, bias
    enum { OPERANDS = 1 };
    view w, bias;
    __device__ channel of(const batch &o, int64_t k) const
    {
        return {mean_of(o, k), rstd_of(o, k) * load(w, k), load(bias, k), 0};
    }
    __device__ static float at(const channel &c, float x, float)
    {
        return (x - c.mean) * c.by + c.more;
    }
};

struct slope { // sums of gradients, weight
    enum { OPERANDS = 2 };
    view s1, s2, w;
    __device__ channel of(const batch &o, int64_t k) const
    {
        float rstd = rstd_of(o, k);
        return {mean_of(o, k), load(w, k) * rstd, (float)((double)load(s1, k) / o.n),
                rstd * (float)((double)load(s2, k) / o.n)};
    }
    __device__ static float at(const channel &c, float x, float dy)
    {
        return c.by * (dy - c.more - (x - c.mean) * c.v);
    }
};

// What is written: y, if anybody reads it, and relu of it, if that is wanted.
struct results {
    view y, relu;
    template <int V> __device__ void put(int64_t i, float (&u)[V]) const
    {
        if (y.p) store_vec<V>(y, i, u);
        if (!relu.p) return;
#pragma unroll
        for (int k = 0; k < V; k++)
            u[k] = hap_formula::hap_relu(as_stored(y.type, u[k]));
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
        float u[1] = {F::at(c, load(x, i), F::OPERANDS == 2 ? load(dy, i) : 0.0f)};
        y.put<1>(i, u);
    }
}

// A block `each` rows of the channels of its threads, V a thread.
template <class F, int V>
__global__ void entries_last(batch o, F f, results y, view x, view dy, int64_t each)
{
    enum { TILE = V == 8 ? CHANNELS : 32, AT_ONCE = V == 1 ? 1 : F::OPERANDS == 2 ? 2 : 4 };
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
                    u[k] = F::at(c[k], u[k], g[k]);
                y.put<V>(row * o.c + col, u);
            }
        } else {
            load_vec<V>(x, e * o.c + col, u);
            if (F::OPERANDS == 2) load_vec<V>(dy, e * o.c + col, g);
            u[0] = F::at(c[0], u[0], g[0]);
            y.put<V>(e * o.c + col, u);
        }
    }
}

template <class F>
const char *entries(cuda_context *x, const batch &o, const F &f, const results &y, view of, view dy,
                    bool last)
{
    view all[4] = {y.y, y.relu, of, dy};
    int64_t rows = o.b * o.p, tiles = ceil_div(o.c, CHANNELS);
    if (!last) {
        entries_declared<<<(unsigned)ceil_div(o.b * o.c, WARPS), dim3(32, WARPS), 0, x->stream>>>(
            o, f, y, of, dy);
        return launched();
    }
    int64_t blocks = BLOCKS / tiles < 1 ? 1 : BLOCKS / tiles, each = ceil_div(rows, blocks);
    if (each < 4 * LANES) each = 4 * LANES;
    unsigned parts = (unsigned)ceil_div(rows, each);
    if (in_vectors(o, all, 4))
        entries_last<F, 8><<<dim3((unsigned)tiles, parts), dim3(CHANNELS / 8, LANES), 0,
                             x->stream>>>(o, f, y, of, dy, each);
    else
        entries_last<F, 1><<<dim3((unsigned)ceil_div(o.c, 32), parts), dim3(32, WARPS), 0,
                             x->stream>>>(o, f, y, of, dy, each);
    return launched();
}
} // namespace

const view NOTHING = {nullptr, HAP_F32};

CUDA_ROW(batch_m2)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN];
    CUDA_TRY(batch_of(&o, c, 0));
    CUDA_TRY(begin(x, o, c, at, &last));
    cuda_will_write(x, c->out[0]->data, c->out[0]->bytes);
    return sums<SQUARES>(x, o, view_of(&at[0]), NOTHING, last, c->out);
}

CUDA_ROW(batch_bwd_stats)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN];
    CUDA_TRY(batch_of(&o, c, 1));
    CUDA_TRY(begin(x, o, c, at, &last));
    for (int i = 0; i < 2; i++)
        cuda_will_write(x, c->out[i]->data, c->out[i]->bytes);
    return sums<GRADIENTS>(x, o, view_of(&at[1]), view_of(&at[0]), last, c->out);
}

const char *cuda_channel_sums(cuda_context *x, const hap_tensor *of, const cuda_last *shape,
                              hap_tensor *y)
{
    batch o = {shape->images, shape->channels, shape->places, 1, 0, NOTHING, NOTHING};
    cuda_last lies;
    bool last = cuda_lies_last(x, of, &lies) && lies.images == o.b && lies.channels == o.c;
    if (o.b * o.p > INT32_MAX) return cuda_fail("sum: over 2^31 entries a channel");
    if (!last) CUDA_TRY(cuda_will_read(x, of->data, of->bytes));
    return sums<SUM>(x, o, view_of(of), NOTHING, last, &y);
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
            o, view_of(of), NOTHING, (unsigned)places, (unsigned)rows, to);
        return launched();
    }
    o.b = lies.images, o.c = lies.channels;
    view x_of = view_of(of);
    if (in_vectors(o, &x_of, 1))
        sums_last<SUM, 8><<<dim3((unsigned)ceil_div(o.c, CHANNELS), (unsigned)o.b),
                            dim3(CHANNELS / 8, LANES), 0, x->stream>>>(o, x_of, NOTHING,
                                                                       (unsigned)places, to);
    else
        sums_last<SUM, 1><<<dim3((unsigned)ceil_div(o.c, 32), (unsigned)o.b), dim3(32, LANES), 0,
                            x->stream>>>(o, x_of, NOTHING, (unsigned)places, to);
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
    normed f = {view_of(&at[3]), view_of(&at[4])};
    return entries(x, o, f, {view_of(y), NOTHING}, view_of(&at[0]), NOTHING, last);
}

// batch_apply, relu.
const char *cuda_batch_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                             bool *done)
{
    batch o;
    bool last;
    hap_tensor at[HAP_MAX_IN], *y = c[0]->out[0], *relu = c[1]->out[0];
    (void)n;
    *done = y->elements > 0 && relu->elements == y->elements && relu->type == y->type;
    if (!*done) return NULL;
    CUDA_TRY(batch_of(&o, c[0], 0));
    CUDA_TRY(begin(x, o, c[0], at, &last));
    CUDA_TRY(begin_result(x, o, y, last));
    CUDA_TRY(begin_result(x, o, relu, last));
    view norm = view_of(y);
    if (unread & 1) norm.p = NULL;
    normed f = {view_of(&at[3]), view_of(&at[4])};
    return entries(x, o, f, {norm, view_of(relu)}, view_of(&at[0]), NOTHING, last);
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
    return sums<MOMENTS>(x, o, view_of(&at[0]), NOTHING, last, out);
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
    slope f = {view_of(&at[4]), view_of(&at[5]), view_of(&at[6])};
    return entries(x, o, f, {view_of(y), NOTHING}, view_of(&at[1]), view_of(&at[0]), last);
}
