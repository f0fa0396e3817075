// Batch norm of [batch, channels, places] from statistics of channels, and sums over batch and
// places; cpu/ops_batch.c states the formulas. Operands lie as declared, or all of them channels
// last (cuda_last.h). Sums have one order for both: of a part of a channel's entries, lane k of 32
// adds entries k, k + 32, … in turn, the lanes are added as over_warp does, and the parts as
// cuda_columns.cuh says.

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
enum kind { SUM, SQUARES, GRADIENTS }; // of x; of x - mean; of dy, and of dy xhat

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
}

// part: [1 or 2, parts, channels]. A warp a part of a channel.
template <kind K>
__global__ void sums_declared(batch o, view x, view dy, unsigned each, unsigned parts, float *part)
{
    int64_t at = (int64_t)blockIdx.x * WARPS + threadIdx.y, k = at / parts;
    if (k >= o.c) return;
    unsigned p = (unsigned)o.p, n = (unsigned)(o.b * o.p), i = (unsigned)(at % parts);
    unsigned first = i * each, end = n - first < each ? n : first + each;
    float mean = K == SUM ? 0.0f : mean_of(o, k), rstd = K == GRADIENTS ? rstd_of(o, k) : 0.0f;
    float s = 0, t = 0;
#pragma unroll 4
    for (unsigned e = first + threadIdx.x; e < end; e += LANES) {
        int64_t from = ((int64_t)(e / p) * o.c + k) * o.p + e % p;
        add_entry<K>(load(x, from), K == GRADIENTS ? load(dy, from) : 0.0f, mean, rstd, &s, &t);
    }
    s = over_warp<join_sum>(s);
    if (K == GRADIENTS) t = over_warp<join_sum>(t);
    if (threadIdx.x != 0) return;
    part[i * o.c + k] = s;
    if (K == GRADIENTS) part[(parts + i) * o.c + k] = t;
}

// A block a part of CHANNELS channels, V a thread; row e is an image's place.
template <kind K, int V>
__global__ void sums_last(batch o, view x, view dy, unsigned each, float *part)
{
    enum { AT_ONCE = V == 8 ? 4 : 1, N = K == GRADIENTS ? 2 : 1, TILE = V == 8 ? CHANNELS : 32 };
    __shared__ float lane[N][LANES][TILE + 1];
    __shared__ float2 stat[TILE];
    int own = threadIdx.y * blockDim.x + threadIdx.x, warps = blockDim.x * blockDim.y / 32;
    int64_t base = (int64_t)blockIdx.x * TILE, col = base + threadIdx.x * V, c = o.c;
    if (K != SUM && own < TILE && base + own < c)
        stat[own] = {mean_of(o, base + own), K == GRADIENTS ? rstd_of(o, base + own) : 0.0f};
    __syncthreads();
    int64_t n = o.b * o.p, first = (int64_t)blockIdx.y * each;
    int64_t end = n - first < each ? n : first + each;
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
        if (K == GRADIENTS) lane[N - 1][threadIdx.y][threadIdx.x * V + i] = t[i];
    }
    __syncthreads();
    for (int k = own / 32; k < N * TILE; k += warps) { // a sum a warp
        float sum = over_warp<join_sum>(lane[k / TILE][own % 32][k % TILE]);
        if (own % 32 == 0 && base + k % TILE < c)
            part[(k / TILE * gridDim.y + blockIdx.y) * c + base + k % TILE] = sum;
    }
}

bool in_vectors(const batch &o, const view *of, int n)
{
    bool yes = o.c % 8 == 0;
    for (int i = 0; i < n; i++)
        yes = yes && (uintptr_t)of[i].p % 16 == 0;
    return yes;
}

template <kind K>
const char *sums(cuda_context *x, const batch &o, view of, view dy, bool last,
                 hap_tensor *const *out)
{
    int n = K == GRADIENTS ? 2 : 1;
    view to[2] = {view_of(out[0]), view_of(n > 1 ? out[1] : NULL)}, both[2] = {of, dy};
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
    else if (in_vectors(o, both, n))
        sums_last<K, 8><<<grid, dim3(CHANNELS / 8, LANES), 0, x->stream>>>(
            o, of, dy, (unsigned)order.each, part);
    else
        sums_last<K, 1><<<dim3((unsigned)ceil_div(o.c, 32), (unsigned)order.parts),
                          dim3(32, LANES), 0, x->stream>>>(o, of, dy, (unsigned)order.each, part);
    CUDA_TRY(launched());
    return columns_end(x, order, o.c, part, n, to);
}

// --- entry by entry ---

// What a channel's entries are made with.
struct channel {
    float mean, rstd, by, more, u, v;
};

struct normed { // weight, bias
    view w, bias;
    __device__ channel of(const batch &o, int64_t k) const
    {
        return {mean_of(o, k), rstd_of(o, k), load(w, k), load(bias, k), 0, 0};
    }
    __device__ static float at(const channel &c, float x, float)
    {
        return (x - c.mean) * c.rstd * c.by + c.more;
    }
};

struct slope { // sums of gradients, weight
    view s1, s2, w;
    __device__ channel of(const batch &o, int64_t k) const
    {
        float rstd = rstd_of(o, k);
        return {mean_of(o, k),
                rstd,
                load(w, k) * rstd,
                0,
                (float)((double)load(s1, k) / o.n),
                (float)((double)load(s2, k) / o.n)};
    }
    __device__ static float at(const channel &c, float x, float dy)
    {
        return c.by * (dy - c.u - (x - c.mean) * c.rstd * c.v);
    }
};

// A warp an image's channel.
template <class F> __global__ void entries_declared(batch o, F f, view y, view x, view dy)
{
    int64_t row = (int64_t)blockIdx.x * WARPS + threadIdx.y;
    if (row >= o.b * o.c) return;
    channel c = f.of(o, row % o.c);
    for (int64_t i = row * o.p + threadIdx.x; i < (row + 1) * o.p; i += 32)
        store(y, i, F::at(c, load(x, i), dy.p ? load(dy, i) : 0.0f));
}

// A block `each` rows of the channels of its threads, V a thread.
template <class F, int V>
__global__ void entries_last(batch o, F f, view y, view x, view dy, int64_t each)
{
    enum { TILE = V == 8 ? CHANNELS : 32 };
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
#pragma unroll 2
    for (int64_t e = first + threadIdx.y; e < end; e += blockDim.y) {
        float u[V], g[V] = {0};
        load_vec<V>(x, e * o.c + col, u);
        if (dy.p) load_vec<V>(dy, e * o.c + col, g);
#pragma unroll
        for (int i = 0; i < V; i++)
            u[i] = F::at(c[i], u[i], g[i]);
        store_vec<V>(y, e * o.c + col, u);
    }
}

template <class F>
const char *entries(cuda_context *x, const batch &o, const F &f, view y, view of, view dy,
                    bool last)
{
    view all[3] = {y, of, dy};
    int64_t rows = o.b * o.p, tiles = ceil_div(o.c, CHANNELS);
    if (!last) {
        entries_declared<<<(unsigned)ceil_div(o.b * o.c, WARPS), dim3(32, WARPS), 0, x->stream>>>(
            o, f, y, of, dy);
        return launched();
    }
    int64_t blocks = BLOCKS / tiles < 1 ? 1 : BLOCKS / tiles, each = ceil_div(rows, blocks);
    if (each < 4 * LANES) each = 4 * LANES;
    unsigned parts = (unsigned)ceil_div(rows, each);
    if (in_vectors(o, all, 3))
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
    return entries(x, o, f, view_of(y), view_of(&at[0]), NOTHING, last);
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
    return entries(x, o, f, view_of(y), view_of(&at[1]), view_of(&at[0]), last);
}
