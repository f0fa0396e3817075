// Batch norm of [batch, channels, places] from statistics of channels; cpu/ops_batch.c states the
// formulas. Sums take the order of cuda_columns.cuh's parts, so that every run gives the same bits.

#include "cuda/kernels/cuda_columns.cuh"

namespace
{
enum { THREADS = 256, ROWS = 8 }; // of a sum; warps a block of the pointwise ones

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

__device__ inline float mean_of(const batch &o, int64_t k)
{
    return (float)((double)load(o.sum, k) / o.n);
}

__device__ inline float rstd_of(const batch &o, int64_t k)
{
    return (float)(1.0 / sqrt((double)load(o.m2, k) / o.n + o.eps));
}

// Sums of a part of a channel's entries: of squares around the mean, or (dy given) of dy and of
// dy xhat. part: [1 or 2, parts, channels].
__global__ void batch_parts(batch o, view x, view dy, unsigned each, float *part)
{
    int64_t k = blockIdx.x;
    unsigned p = (unsigned)o.p, n = (unsigned)(o.b * o.p), first = blockIdx.y * each;
    unsigned end = n - first < each ? n : first + each;
    float mean = mean_of(o, k), rstd = dy.p ? rstd_of(o, k) : 0.0f, a = 0, b = 0;
    for (unsigned e = first + threadIdx.x; e < end; e += THREADS) {
        int64_t at = ((int64_t)(e / p) * o.c + k) * o.p + e % p;
        float d = load(x, at) - mean;
        if (dy.p) {
            float g = load(dy, at);
            a += g;
            b += g * (d * rstd);
        } else {
            a += d * d;
        }
    }
    a = over_block<join_sum>(a);
    if (dy.p) b = over_block<join_sum>(b);
    if (threadIdx.x != 0) return;
    part[blockIdx.y * o.c + k] = a;
    if (dy.p) part[(gridDim.y + blockIdx.y) * o.c + k] = b;
}

const char *sums(cuda_context *x, const batch &o, const hap_tensor *of, const hap_tensor *dy, int n,
                 hap_tensor *const *out)
{
    if (o.c == 0) return NULL;
    if (o.b * o.p == 0) {
        for (int i = 0; i < n; i++)
            CUDA_TRY(cuda_fill(x->stream, out[i], 0));
        return NULL;
    }
    column_order order = column_order_of(ceil_div(o.b * o.p, THREADS), o.c);
    order.each = ceil_div(o.b * o.p, order.parts);
    order.parts = ceil_div(o.b * o.p, order.each);
    const char *why = NULL;
    float *part = columns_room(x, n * order.parts * o.c, &why);
    if (!part) return why;
    batch_parts<<<dim3((unsigned)o.c, (unsigned)order.parts), THREADS, 0, x->stream>>>(
        o, view_of(of), dy ? view_of(dy) : view{nullptr, HAP_F32}, (unsigned)order.each, part);
    CUDA_TRY(launched());
    view to[2] = {view_of(out[0]), view_of(n > 1 ? out[1] : NULL)};
    return columns_end(x, order, o.c, part, n, to);
}

// A warp an image's channel.
__global__ void apply(batch o, view y, view x, view w, view bias)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y, k = row % o.c;
    if (row >= o.b * o.c) return;
    float mean = mean_of(o, k), rstd = rstd_of(o, k), by = load(w, k), more = load(bias, k);
    for (int64_t i = row * o.p + threadIdx.x; i < (row + 1) * o.p; i += 32)
        store(y, i, (load(x, i) - mean) * rstd * by + more);
}

__global__ void gradient(batch o, view dx, view dy, view x, view s1, view s2, view w)
{
    int64_t row = (int64_t)blockIdx.x * ROWS + threadIdx.y, k = row % o.c;
    if (row >= o.b * o.c) return;
    float mean = mean_of(o, k), rstd = rstd_of(o, k), by = load(w, k) * rstd;
    float u = (float)((double)load(s1, k) / o.n), v = (float)((double)load(s2, k) / o.n);
    for (int64_t i = row * o.p + threadIdx.x; i < (row + 1) * o.p; i += 32)
        store(dx, i, by * (load(dy, i) - u - (load(x, i) - mean) * rstd * v));
}

dim3 rows_of(const batch &o)
{
    return dim3((unsigned)ceil_div(o.b * o.c, ROWS));
}
} // namespace

CUDA_ROW(batch_m2)
{
    batch o;
    CUDA_TRY(batch_of(&o, c, 0));
    return sums(x, o, c->in[0], NULL, 1, c->out);
}

CUDA_ROW(batch_bwd_stats)
{
    batch o;
    CUDA_TRY(batch_of(&o, c, 1));
    return sums(x, o, c->in[1], c->in[0], 2, c->out);
}

CUDA_ROW(batch_apply)
{
    batch o;
    CUDA_TRY(batch_of(&o, c, 0));
    if (c->out[0]->elements == 0) return NULL;
    apply<<<rows_of(o), dim3(32, ROWS), 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->in[0]),
                                                        view_of(c->in[3]), view_of(c->in[4]));
    return launched();
}

CUDA_ROW(batch_bwd)
{
    batch o;
    CUDA_TRY(batch_of(&o, c, 1));
    if (c->out[0]->elements == 0) return NULL;
    gradient<<<rows_of(o), dim3(32, ROWS), 0, x->stream>>>(o, view_of(c->out[0]), view_of(c->in[0]),
                                                           view_of(c->in[1]), view_of(c->in[4]),
                                                           view_of(c->in[5]), view_of(c->in[6]));
    return launched();
}
