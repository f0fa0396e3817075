// Convolution, its gradients and pooling (cpu/ops_conv.c and cpu/ops_pool.c state them). Local
// sizes are all they need. Convolutions are cuDNN's (cuda_cudnn_conv.cpp). What it does not take,
// and pooling, is done here, a thread an entry of the result: each sum has one order, so that the
// same bits come in every run. These reuse nothing from shared memory and are slow.

#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"

enum { THREADS = 256 };

static const char *conv_of(cuda_windows *v, const hap_op_call *c, const hap_tensor *x,
                           const hap_tensor *w, const hap_tensor *y)
{
    const char *name = hap_op_names[c->op];
    CUDA_TRY(cuda_want_floats(c));
    if (x->rank != 4 || w->rank != 4 || y->rank != 4)
        return cuda_fail("%s: operands of rank 4 are wanted", name);
    *v = {};
    v->b = x->local[0], v->c = w->local[1], v->h = x->local[2], v->w = x->local[3];
    v->i = y->local[2], v->j = y->local[3], v->p = w->local[2], v->q = w->local[3];
    for (int d = 0; d < 2; d++) {
        if (c->attr[0].v.n != 2 || c->attr[1].v.n != 2 || c->attr[2].v.n != 2)
            return cuda_fail("%s: two numbers an attribute are wanted", name);
        v->stride[d] = c->attr[0].v.v[d];
        v->padding[d] = c->attr[1].v.v[d];
        v->dilation[d] = c->attr[2].v.v[d];
    }
    v->g = v->c ? x->local[1] / v->c : 0;
    v->o = v->g ? w->local[0] / v->g : 0;
    if (y->local[0] != v->b || w->local[0] != y->local[1] || v->g * v->c != x->local[1] ||
        (v->g && v->g * v->o != y->local[1]))
        return cuda_fail("%s: shapes do not fit", name);
    return NULL;
}

// Window of the place that entry k of it stands on, -1: none.
__device__ inline int64_t window_at(const cuda_windows &v, int d, int64_t place, int64_t k,
                                    int64_t n)
{
    int64_t from = place + v.padding[d] - k * v.dilation[d];
    if (from < 0 || from % v.stride[d]) return -1;
    return from / v.stride[d] < n ? from / v.stride[d] : -1;
}

__device__ inline int64_t place_at(const cuda_windows &v, int d, int64_t window, int64_t k,
                                   int64_t n)
{
    int64_t at = window * v.stride[d] + k * v.dilation[d] - v.padding[d];
    return at >= 0 && at < n ? at : -1;
}

__global__ void forward(cuda_windows v, int64_t n, view y, view x, view w, view bias)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    int64_t j = e % v.j, i = e / v.j % v.i, at = e / v.j / v.i, channels = v.g * v.o;
    int64_t b = at / channels, o = at % channels, g = o / v.o;
    float sum = bias.p ? load(bias, o) : 0.0f;
    for (int64_t c = 0; c < v.c; c++)
        for (int64_t p = 0; p < v.p; p++) {
            int64_t h = place_at(v, 0, i, p, v.h);
            for (int64_t q = 0; q < v.q && h >= 0; q++) {
                int64_t at_w = place_at(v, 1, j, q, v.w);
                if (at_w < 0) continue;
                int64_t from = ((b * v.g * v.c + g * v.c + c) * v.h + h) * v.w + at_w;
                sum += load(x, from) * load(w, ((o * v.c + c) * v.p + p) * v.q + q);
            }
        }
    store(y, e, sum);
}

__global__ void by_places(cuda_windows v, int64_t n, view x, view y, view w)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    int64_t at_w = e % v.w, h = e / v.w % v.h, at = e / v.w / v.h;
    int64_t b = at / (v.g * v.c), channel = at % (v.g * v.c), g = channel / v.c, c = channel % v.c;
    float sum = 0;
    for (int64_t o = g * v.o; o < (g + 1) * v.o; o++)
        for (int64_t p = 0; p < v.p; p++) {
            int64_t i = window_at(v, 0, h, p, v.i);
            for (int64_t q = 0; q < v.q && i >= 0; q++) {
                int64_t j = window_at(v, 1, at_w, q, v.j);
                if (j < 0) continue;
                int64_t from = ((b * v.g * v.o + o) * v.i + i) * v.j + j;
                sum += load(y, from) * load(w, ((o * v.c + c) * v.p + p) * v.q + q);
            }
        }
    store(x, e, sum);
}

__global__ void by_weight(cuda_windows v, int64_t n, view w, view x, view y)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e >= n) return;
    int64_t q = e % v.q, p = e / v.q % v.p, c = e / v.q / v.p % v.c, o = e / v.q / v.p / v.c;
    int64_t g = o / v.o;
    float sum = 0;
    for (int64_t b = 0; b < v.b; b++)
        for (int64_t i = 0; i < v.i; i++) {
            int64_t h = place_at(v, 0, i, p, v.h);
            for (int64_t j = 0; j < v.j && h >= 0; j++) {
                int64_t at_w = place_at(v, 1, j, q, v.w);
                if (at_w < 0) continue;
                int64_t from = ((b * v.g * v.c + g * v.c + c) * v.h + h) * v.w + at_w;
                sum += load(x, from) * load(y, ((b * v.g * v.o + o) * v.i + i) * v.j + j);
            }
        }
    store(w, e, sum);
}

// each: entries of a channel that lie together.
__global__ void add_bias(int64_t n, int64_t channels, int64_t each, view y, view bias)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
    if (e < n) store(y, e, load(y, e) + load(bias, e / each % channels));
}

CUDA_ROW(conv)
{
    cuda_windows v;
    hap_tensor *y = c->out[0];
    const hap_tensor *bias = cuda_in(c, 2);
    CUDA_TRY(conv_of(&v, c, c->in[0], c->in[1], y));
    if (bias && bias->elements != y->local[1]) return cuda_fail("conv: bias of another length");
    if (y->elements == 0) return NULL;
    bool taken, added;
    cuda_conv_tensors t = {c->in[0], c->in[1], y, bias ? c->in[2] : NULL};
    CUDA_TRY(cuda_cudnn_conv(x, &v, c, &t, &taken, &added));
    if (taken) {
        cuda_last lies;
        bool last = cuda_lies_last(x, y, &lies);
        if (bias && !added)
            add_bias<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
                y->elements, y->local[1], last ? 1 : v.i * v.j, view_of(y), view_of(bias));
        return launched();
    }
    CUDA_TRY(cuda_call_begins(x, c));
    if (v.c == 0) v.g = 1, v.o = y->local[1]; // nothing to add up: the bias alone
    forward<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]), view_of(bias));
    return launched();
}

CUDA_ROW(conv_transposed)
{
    cuda_windows v;
    hap_tensor *y = c->out[0];
    CUDA_TRY(conv_of(&v, c, y, c->in[1], c->in[0]));
    if (y->elements == 0) return NULL;
    bool taken, added;
    cuda_conv_tensors t = {y, c->in[1], c->in[0], NULL};
    CUDA_TRY(cuda_cudnn_conv(x, &v, c, &t, &taken, &added));
    if (taken) return NULL;
    CUDA_TRY(cuda_call_begins(x, c));
    by_places<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]));
    return launched();
}

CUDA_ROW(conv_dw)
{
    cuda_windows v;
    hap_tensor *y = c->out[0];
    CUDA_TRY(conv_of(&v, c, c->in[0], y, c->in[1]));
    if (y->elements == 0) return NULL;
    bool taken, added;
    cuda_conv_tensors t = {c->in[0], y, c->in[1], NULL};
    CUDA_TRY(cuda_cudnn_conv(x, &v, c, &t, &taken, &added));
    if (taken) return NULL;
    CUDA_TRY(cuda_call_begins(x, c));
    by_weight<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]));
    return launched();
}

// --- pooling ---

struct pool {
    int64_t size[2], at[2]; // places and windows
    int64_t window[2], stride[2], padding[2], dilation[2];
};

static const char *pool_of(pool *v, const hap_op_call *c, const hap_tensor *x, const hap_tensor *y)
{
    int64_t *to[] = {v->window, v->stride, v->padding, v->dilation};
    CUDA_TRY(cuda_want_floats(c));
    if (x->rank < 2 || x->rank != y->rank ||
        cuda_entries(x, 0, x->rank - 2) != cuda_entries(y, 0, y->rank - 2))
        return cuda_fail("max_pool: shapes do not fit");
    for (int d = 0; d < 2; d++) {
        v->size[d] = x->local[x->rank - 2 + d];
        v->at[d] = y->local[y->rank - 2 + d];
        for (int k = 0; k < 4; k++) {
            if (c->attr[k].v.n != 2) return cuda_fail("max_pool: two numbers an attribute");
            to[k][d] = c->attr[k].v.v[d];
        }
    }
    return NULL;
}

// The place of the largest entry of window (i, j) of the image at `base`, -1: it has none.
__device__ inline int64_t largest(const pool &v, view x, int64_t base, int64_t i, int64_t j)
{
    int64_t best = -1;
    float most = -INFINITY;
    for (int64_t p = 0; p < v.window[0]; p++) {
        int64_t h = i * v.stride[0] + p * v.dilation[0] - v.padding[0];
        for (int64_t q = 0; q < v.window[1] && h >= 0 && h < v.size[0]; q++) {
            int64_t w = j * v.stride[1] + q * v.dilation[1] - v.padding[1];
            if (w < 0 || w >= v.size[1]) continue;
            float e = load(x, base + h * v.size[1] + w);
            if (best < 0 || e > most || isnan(e)) best = h * v.size[1] + w, most = e;
        }
    }
    return best;
}

__global__ void pool_forward(pool v, int64_t n, view y, view x)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, at = v.at[0] * v.at[1];
    if (e >= n) return;
    int64_t base = e / at * v.size[0] * v.size[1];
    int64_t best = largest(v, x, base, e % at / v.at[1], e % v.at[1]);
    store(y, e, best < 0 ? -INFINITY : load(x, base + best));
}

// The first and the last window that reach a place.
__device__ inline void reach(const pool &v, int d, int64_t place, int64_t *first, int64_t *last)
{
    int64_t to = place + v.padding[d], from = to - (v.window[d] - 1) * v.dilation[d];
    *first = from <= 0 ? 0 : (from + v.stride[d] - 1) / v.stride[d];
    *last = to / v.stride[d] < v.at[d] ? to / v.stride[d] : v.at[d] - 1;
}

__global__ void pool_backward(pool v, int64_t n, view dx, view dy, view x)
{
    int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x, places = v.size[0] * v.size[1];
    if (e >= n) return;
    int64_t image = e / places, place = e % places, i0, i1, j0, j1;
    float sum = 0;
    reach(v, 0, place / v.size[1], &i0, &i1);
    reach(v, 1, place % v.size[1], &j0, &j1);
    for (int64_t i = i0; i <= i1; i++)
        for (int64_t j = j0; j <= j1; j++)
            if (largest(v, x, image * places, i, j) == place)
                sum += load(dy, (image * v.at[0] + i) * v.at[1] + j);
    store(dx, e, sum);
}

// --- where channels lie last: V of them a thread ---

// Of each channel the place and the value of its largest entry in window (i, j), -1: it has none;
// `image` has its first entry there.
template <int V>
__device__ inline void largest_last(const pool &v, view x, int64_t channels, int64_t image,
                                    int64_t i, int64_t j, int (&best)[V], float (&most)[V])
{
#pragma unroll
    for (int k = 0; k < V; k++)
        best[k] = -1, most[k] = -INFINITY;
    for (int64_t p = 0; p < v.window[0]; p++) {
        int64_t h = i * v.stride[0] + p * v.dilation[0] - v.padding[0];
        for (int64_t q = 0; q < v.window[1] && h >= 0 && h < v.size[0]; q++) {
            int64_t w = j * v.stride[1] + q * v.dilation[1] - v.padding[1];
            float e[V];
            if (w < 0 || w >= v.size[1]) continue;
            int place = (int)(h * v.size[1] + w);
            load_vec<V>(x, image + place * channels, e);
#pragma unroll
            for (int k = 0; k < V; k++)
                if (best[k] < 0 || e[k] > most[k] || isnan(e[k])) best[k] = place, most[k] = e[k];
        }
    }
}

template <int V>
__global__ void pool_forward_last(pool v, int64_t n, int64_t channels, view y, view x)
{
    int64_t e = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
    if (e >= n) return;
    int64_t col = e % channels, row = e / channels, at = v.at[0] * v.at[1], place = row % at;
    int64_t image = row / at * v.size[0] * v.size[1] * channels + col;
    int best[V];
    float most[V];
    largest_last<V>(v, x, channels, image, place / v.at[1], place % v.at[1], best, most);
    store_vec<V>(y, e, most);
}

template <int V>
__global__ void pool_backward_last(pool v, int64_t n, int64_t channels, view dx, view dy, view x)
{
    int64_t e = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) * V;
    if (e >= n) return;
    int64_t col = e % channels, row = e / channels, places = v.size[0] * v.size[1];
    int64_t image = row / places, place = row % places, i0, i1, j0, j1;
    float sum[V] = {0}, most[V], g[V];
    int best[V];
    reach(v, 0, place / v.size[1], &i0, &i1);
    reach(v, 1, place % v.size[1], &j0, &j1);
    for (int64_t i = i0; i <= i1; i++)
        for (int64_t j = j0; j <= j1; j++) {
            largest_last<V>(v, x, channels, image * places * channels + col, i, j, best, most);
            load_vec<V>(dy, ((image * v.at[0] + i) * v.at[1] + j) * channels + col, g);
#pragma unroll
            for (int k = 0; k < V; k++)
                if (best[k] == place) sum[k] += g[k];
        }
    store_vec<V>(dx, e, sum);
}

// Whether a pooling row runs channels last: where its images lie so, of which `g`, a gradient, may
// be a copy; *y lies so then. Else all is as declared.
static const char *pool_begins(cuda_context *x, const hap_op_call *c, hap_tensor *images,
                               hap_tensor *g, bool *last, bool *vec)
{
    hap_tensor *y = c->out[0];
    cuda_last to = y->rank == 4 ? cuda_last_shape(y) : cuda_last{0, 0, 0}, lies;
    *last = y->rank == 4 && cuda_lies_last(x, images, &lies) && cuda_is_last(x, images) &&
            lies.places <= INT32_MAX && cuda_may_lie_last(x, y, &to);
    if (*last && g) {
        cuda_last shape = cuda_last_shape(g);
        hap_tensor at;
        CUDA_TRY(cuda_all_last(x, &g, 1, &shape, 0, &at, NULL, last));
        if (*last) *g = at;
    }
    if (!*last) return cuda_call_begins(x, c);
    *vec = to.channels % 8 == 0 && aligned(images) && aligned(g) && aligned(y);
    return cuda_lie_last(x, y, &to);
}

CUDA_ROW(max_pool)
{
    pool v;
    hap_tensor *y = c->out[0];
    bool last, vec;
    CUDA_TRY(pool_of(&v, c, c->in[0], y));
    if (y->elements == 0) return NULL;
    CUDA_TRY(pool_begins(x, c, c->in[0], NULL, &last, &vec));
    if (last) {
        int64_t threads = vec ? y->elements / 8 : y->elements;
        auto *run = vec ? pool_forward_last<8> : pool_forward_last<1>;
        run<<<(unsigned)ceil_div(threads, THREADS), THREADS, 0, x->stream>>>(
            v, y->elements, y->local[1], view_of(y), view_of(c->in[0]));
        return launched();
    }
    pool_forward<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]));
    return launched();
}

CUDA_ROW(max_pool_bwd)
{
    pool v;
    hap_tensor *y = c->out[0], g = *c->in[0];
    bool last, vec;
    CUDA_TRY(pool_of(&v, c, c->in[1], c->in[0]));
    if (!cuda_same_shape(c->in[1], y)) return cuda_fail("max_pool_bwd: shapes do not fit");
    if (y->elements == 0) return NULL;
    CUDA_TRY(pool_begins(x, c, c->in[1], &g, &last, &vec));
    if (last) {
        int64_t threads = vec ? y->elements / 8 : y->elements;
        auto *run = vec ? pool_backward_last<8> : pool_backward_last<1>;
        run<<<(unsigned)ceil_div(threads, THREADS), THREADS, 0, x->stream>>>(
            v, y->elements, y->local[1], view_of(y), view_of(&g), view_of(c->in[1]));
        return launched();
    }
    pool_backward<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]));
    return launched();
}
