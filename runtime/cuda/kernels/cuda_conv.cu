// Convolution, its gradients and pooling (cpu/ops_conv.c and cpu/ops_pool.c state them). Local
// sizes are all they need. Convolutions are cuDNN's (cuda_cudnn_conv.cpp). What it does not take,
// and pooling, is done here, a thread an entry of the result: each sum has one order, so that the
// same bits come in every run. These reuse nothing from shared memory and are slow.

#include "cuda/kernels/cuda_chains.h"
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

// --- a channel a group, channels last ---
//
// cuDNN takes up to 40 times as long (H200). A block has DEPTH_CHANNELS channels, 8 a thread, and
// their weights in shared memory; a thread makes RUN results of a row at a time, and reads what
// they share once where windows move by one place. Each sum goes through the window in order.

enum { DEPTH_CHANNELS = 64, DEPTH_ROWS = 32, RUN = 4, DEPTH_WINDOW = 128 }; // the last: places

struct depth {
    int images, channels, h, w, i, j, p, q; // of what is read, of what is made; the window
    int stride[2], padding[2], dilation[2];
    bool back; // windows from their ends
};

__global__ void depthwise(depth v, view y, view x, view weight, view bias)
{
    extern __shared__ float taps[]; // [window, DEPTH_CHANNELS]
    int own = threadIdx.y * blockDim.x + threadIdx.x, window = v.p * v.q;
    int base = blockIdx.x * DEPTH_CHANNELS, col = base + threadIdx.x * 8;
    for (int e = own; e < window * DEPTH_CHANNELS; e += blockDim.x * blockDim.y) {
        int at = e / DEPTH_CHANNELS, c = base + e % DEPTH_CHANNELS;
        int from = v.back ? window - 1 - at : at;
        taps[e] = c < v.channels ? load(weight, (int64_t)c * window + from) : 0.0f;
    }
    __syncthreads();
    if (col >= v.channels) return;
    float start[8] = {0};
    if (bias.p)
#pragma unroll
        for (int k = 0; k < 8; k++)
            start[k] = load(bias, col + k);
    int runs = (v.j + RUN - 1) / RUN, n = v.images * v.i * runs;
    bool by_one = v.stride[1] == 1 && v.dilation[1] == 1;
    for (int e = blockIdx.y * blockDim.y + threadIdx.y; e < n; e += gridDim.y * blockDim.y) {
        int j0 = e % runs * RUN, i = e / runs % v.i, image = e / runs / v.i;
        float sum[RUN][8];
#pragma unroll
        for (int r = 0; r < RUN; r++)
#pragma unroll
            for (int k = 0; k < 8; k++)
                sum[r][k] = start[k];
        for (int p = 0; p < v.p; p++) {
            int h = i * v.stride[0] + p * v.dilation[0] - v.padding[0];
            if (h < 0 || h >= v.h) continue;
            int64_t row = (int64_t)(image * v.h + h) * v.w;
            const float *of = taps + p * v.q * DEPTH_CHANNELS + threadIdx.x * 8;
            if (by_one) {
                for (int t = 0; t < v.q + RUN - 1; t++) {
                    int w = j0 + t - v.padding[1];
                    float u[8];
                    if (w < 0 || w >= v.w) continue;
                    load_vec<8>(x, (row + w) * v.channels + col, u);
#pragma unroll
                    for (int r = 0; r < RUN; r++) {
                        if (t < r || t - r >= v.q) continue;
                        const float *tap = of + (t - r) * DEPTH_CHANNELS;
#pragma unroll
                        for (int k = 0; k < 8; k++)
                            sum[r][k] += u[k] * tap[k];
                    }
                }
            } else {
                for (int q = 0; q < v.q; q++)
#pragma unroll
                    for (int r = 0; r < RUN; r++) {
                        int w = (j0 + r) * v.stride[1] + q * v.dilation[1] - v.padding[1];
                        float u[8];
                        if (w < 0 || w >= v.w) continue;
                        load_vec<8>(x, (row + w) * v.channels + col, u);
#pragma unroll
                        for (int k = 0; k < 8; k++)
                            sum[r][k] += u[k] * of[q * DEPTH_CHANNELS + k];
                    }
            }
        }
#pragma unroll
        for (int r = 0; r < RUN; r++)
            if (j0 + r < v.j)
                store_vec<8>(y, ((int64_t)(image * v.i + i) * v.j + j0 + r) * v.channels + col,
                             sum[r]);
    }
}

// The same where windows of Q columns, 7 rows at most, move by one place: a thread has two channels
// and SIDE x DOWN results, whose sums stay in registers while it goes down the rows that they read,
// so each weight is loaded once for SIDE results. A warp has DEPTH_CHANNELS channels.
enum { SIDE = 8, DOWN = 4, DEPTH_WARPS = 8, DEPTH_Q = 7 };

__device__ inline float2 load_two(view v, int64_t i)
{
    uint32_t w = *(const uint32_t *)((const uint16_t *)v.p + i);
    if (v.type != HAP_BF16) return __half22float2(*(const __half2 *)&w);
    return make_float2(__uint_as_float(w << 16), __uint_as_float(w & 0xFFFF0000u));
}

__device__ inline void store_two(view v, int64_t i, float2 u)
{
    uint16_t *to = (uint16_t *)v.p + i;
    if (v.type == HAP_BF16)
        *(__nv_bfloat162 *)to = __floats2bfloat162_rn(u.x, u.y);
    else
        *(__half2 *)to = __floats2half2_rn(u.x, u.y);
}

template <int Q>
__global__ void __launch_bounds__(32 * DEPTH_WARPS)
    depthwise_rows(depth v, view y, view x, view weight, view bias)
{
    __shared__ float2 taps[DEPTH_Q * Q][32];
    int window = v.p * Q, base = blockIdx.x * DEPTH_CHANNELS, col = base + threadIdx.x * 2;
    for (int at = threadIdx.y; at < window; at += DEPTH_WARPS) {
        int from = v.back ? window - 1 - at : at;
        taps[at][threadIdx.x] =
            col < v.channels ? make_float2(load(weight, (int64_t)col * window + from),
                                           load(weight, (int64_t)(col + 1) * window + from))
                             : make_float2(0, 0);
    }
    __syncthreads();
    if (col >= v.channels) return;
    float2 start = bias.p ? make_float2(load(bias, col), load(bias, col + 1)) : make_float2(0, 0);
    int across = (v.j + SIDE - 1) / SIDE, down = (v.i + DOWN - 1) / DOWN;
    int n = v.images * down * across;
    for (int e = blockIdx.y * DEPTH_WARPS + threadIdx.y; e < n; e += gridDim.y * DEPTH_WARPS) {
        int j0 = e % across * SIDE, i0 = e / across % down * DOWN, image = e / across / down;
        float2 sum[DOWN][SIDE];
#pragma unroll
        for (int r = 0; r < DOWN; r++)
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                sum[r][k] = start;
        for (int t = 0; t < v.p + DOWN - 1; t++) {
            int h = i0 + t - v.padding[0];
            if (h < 0 || h >= v.h) continue;
            int64_t row = (int64_t)(image * v.h + h) * v.w;
            float2 u[SIDE + Q - 1];
#pragma unroll
            for (int k = 0; k < SIDE + Q - 1; k++) {
                int w = j0 + k - v.padding[1];
                u[k] = w >= 0 && w < v.w ? load_two(x, (row + w) * v.channels + col)
                                         : make_float2(0, 0);
            }
#pragma unroll
            for (int r = 0; r < DOWN; r++) {
                int p = t - r;
                if (p < 0 || p >= v.p) continue;
#pragma unroll
                for (int q = 0; q < Q; q++) {
                    float2 tap = taps[p * Q + q][threadIdx.x];
#pragma unroll
                    for (int k = 0; k < SIDE; k++) {
                        sum[r][k].x = __fmaf_rn(u[k + q].x, tap.x, sum[r][k].x);
                        sum[r][k].y = __fmaf_rn(u[k + q].y, tap.y, sum[r][k].y);
                    }
                }
            }
        }
#pragma unroll
        for (int r = 0; r < DOWN; r++)
#pragma unroll
            for (int k = 0; k < SIDE; k++)
                if (i0 + r < v.i && j0 + k < v.j)
                    store_two(y,
                              ((int64_t)(image * v.i + i0 + r) * v.j + j0 + k) * v.channels + col,
                              sum[r][k]);
    }
}

template <int Q>
static void launch_rows(cuda_context *x, const depth &d, view y, view image, view weight, view bias)
{
    int64_t tiles = ceil_div(d.channels, DEPTH_CHANNELS);
    int64_t n = (int64_t)d.images * ceil_div(d.i, DOWN) * ceil_div(d.j, SIDE);
    int64_t blocks = ceil_div(n, DEPTH_WARPS);
    if (blocks > ceil_div(132 * 16, tiles)) blocks = ceil_div(132 * 16, tiles);
    depthwise_rows<Q><<<dim3((unsigned)tiles, (unsigned)blocks), dim3(32, DEPTH_WARPS), 0,
                        x->stream>>>(d, y, image, weight, bias);
}

static bool by_rows(const depth &d)
{
    bool one = true;
    for (int k = 0; k < 2; k++)
        one = one && d.stride[k] == 1 && d.dilation[k] == 1;
    return one && d.p <= DEPTH_Q && (d.q == 3 || d.q == 5 || d.q == 7);
}

// A convolution of 16-bit floats with a channel a group, or its gradient where windows move by one
// place, which is such a convolution of the gradient.
static const char *by_depth(cuda_context *x, const cuda_windows &v, const hap_op_call *c, bool back,
                            bool *done)
{
    const hap_tensor *from = c->in[0], *weight = c->in[1], *bias = cuda_in(c, 2);
    hap_tensor *y = c->out[0];
    depth d = {(int)v.b, (int)v.g, (int)v.h, (int)v.w, (int)v.i, (int)v.j, (int)v.p, (int)v.q,
               {1, 1},   {0, 0},   {1, 1},   back};
    cuda_last to = cuda_last_shape(y), of = cuda_last_shape(from);
    *done = x->options.conv != HAP_CUDA_conv_own && v.c == 1 && v.o == 1 && v.g % 8 == 0 &&
            v.p * v.q <= DEPTH_WINDOW && from->type != HAP_F32 && y->type != HAP_F32 &&
            from->elements > 0 && from->elements <= INT32_MAX && y->elements <= INT32_MAX &&
            aligned(y) && aligned(from);
    for (int k = 0; k < 2; k++) {
        int64_t window = k ? v.q : v.p;
        *done = *done && (!back || v.stride[k] == 1);
        d.stride[k] = (int)v.stride[k], d.dilation[k] = (int)v.dilation[k];
        d.padding[k] = (int)(back ? (window - 1) * v.dilation[k] - v.padding[k] : v.padding[k]);
    }
    if (back) d.h = (int)v.i, d.w = (int)v.j, d.i = (int)v.h, d.j = (int)v.w;
    *done = *done && cuda_may_lie_last(x, y, &to);
    if (!*done) return NULL;
    bool lies = cuda_is_last(x, from);
    view image = view_of(from);
    if (!lies) {
        const char *why = NULL;
        CUDA_TRY(cuda_will_read(x, from->data, from->bytes));
        image.p = cuda_work(x, from->bytes, &why);
        if (!image.p) return why;
        CUDA_TRY(cuda_turn(x, from->type, image.p, from->type, from->data, of.images, of.channels,
                           of.places));
    }
    CUDA_TRY(cuda_will_read(x, weight->data, weight->bytes));
    if (bias) CUDA_TRY(cuda_will_read(x, bias->data, bias->bytes));
    CUDA_TRY(cuda_lie_last(x, y, &to));
    if (by_rows(d)) {
        (d.q == 3   ? launch_rows<3>
         : d.q == 5 ? launch_rows<5>
                    : launch_rows<7>)(x, d, view_of(y), image, view_of(weight), view_of(bias));
        return launched();
    }
    int64_t tiles = ceil_div(v.g, DEPTH_CHANNELS), all = 132 * 8;
    int64_t blocks = ceil_div((int64_t)d.images * d.i * ceil_div(d.j, RUN), DEPTH_ROWS);
    if (blocks > ceil_div(all, tiles)) blocks = ceil_div(all, tiles);
    depthwise<<<dim3((unsigned)tiles, (unsigned)blocks), dim3(DEPTH_CHANNELS / 8, DEPTH_ROWS),
                (size_t)(v.p * v.q * DEPTH_CHANNELS) * sizeof(float), x->stream>>>(
        d, view_of(y), image, view_of(weight), view_of(bias));
    return launched();
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
    CUDA_TRY(by_depth(x, v, c, false, &taken));
    if (taken) return NULL;
    cuda_conv_tensors t = {c->in[0], c->in[1], y, bias ? c->in[2] : NULL, false};
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

// conv, relu, where nobody else reads what conv makes, and cuDNN takes both.
const char *cuda_conv_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                            bool *done)
{
    cuda_windows v;
    hap_tensor *y = c[0]->out[0], *relu = c[1]->out[0], *bias = c[0]->n_in > 2 ? c[0]->in[2] : NULL;
    bool added;
    (void)n;
    *done = (unread & 1) && y->elements > 0 && y->type == relu->type && cuda_same_shape(y, relu) &&
            (!bias || bias->elements == y->local[1]);
    if (!*done) return NULL;
    CUDA_TRY(conv_of(&v, c[0], c[0]->in[0], c[0]->in[1], y));
    cuda_conv_tensors t = {c[0]->in[0], c[0]->in[1], relu, bias, true};
    return cuda_cudnn_conv(x, &v, c[0], &t, done, &added);
}

CUDA_ROW(conv_transposed)
{
    cuda_windows v;
    hap_tensor *y = c->out[0];
    CUDA_TRY(conv_of(&v, c, y, c->in[1], c->in[0]));
    if (y->elements == 0) return NULL;
    bool taken, added;
    CUDA_TRY(by_depth(x, v, c, true, &taken));
    if (taken) return NULL;
    cuda_conv_tensors t = {y, c->in[1], c->in[0], NULL, false};
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
    cuda_conv_tensors t = {c->in[0], y, c->in[1], NULL, false};
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
//
// A block is a run of (place, channels) of a row; blockIdx.y the row, blockIdx.z the image.

struct pool_last {
    int size[2], at[2], window[2], stride[2], padding[2], dilation[2]; // as in pool
    int channels;
};

enum { NO_PLACE = 255 }; // places of a window are counted in bytes

// Of each channel the number and the value of the largest entry of the block's window at column j,
// NO_PLACE: it has none; x at the image's first place.
template <int V>
__device__ inline void largest_last(const pool_last &v, view x, int64_t image, int j,
                                    int (&best)[V], float (&most)[V])
{
#pragma unroll
    for (int k = 0; k < V; k++)
        best[k] = NO_PLACE, most[k] = -INFINITY;
    for (int p = 0; p < v.window[0]; p++) {
        int h = (int)blockIdx.y * v.stride[0] + p * v.dilation[0] - v.padding[0];
        if (h < 0 || h >= v.size[0]) continue;
        for (int q = 0; q < v.window[1]; q++) {
            int w = j * v.stride[1] + q * v.dilation[1] - v.padding[1];
            float e[V];
            if (w < 0 || w >= v.size[1]) continue;
            load_vec<V>(x, image + (int64_t)(h * v.size[1] + w) * v.channels, e);
#pragma unroll
            for (int k = 0; k < V; k++)
                if (best[k] == NO_PLACE || e[k] > most[k] || isnan(e[k]))
                    best[k] = p * v.window[1] + q, most[k] = e[k];
        }
    }
}

// The largest entries, to y, or their numbers in the windows, to number.
template <int V> __global__ void pool_windows(pool_last v, view y, uint8_t *number, view x)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, each = v.channels / V, j = t / each;
    int col = t % each * V, best[V];
    if (j >= v.at[1]) return;
    float most[V];
    int64_t image = (int64_t)blockIdx.z * v.size[0] * v.size[1] * v.channels + col;
    int64_t to = ((int64_t)blockIdx.z * v.at[0] + blockIdx.y) * v.at[1] + j;
    largest_last<V>(v, x, image, j, best, most);
    if (y.p) store_vec<V>(y, to * v.channels + col, most);
    for (int k = 0; number && k < V; k++)
        number[to * v.channels + col + k] = (uint8_t)best[k];
}

// The first and the last window along a dim that reach a place.
__device__ inline void reach_last(const pool_last &v, int d, int place, int *first, int *last)
{
    int to = place + v.padding[d], from = to - (v.window[d] - 1) * v.dilation[d];
    *first = from <= 0 ? 0 : (from + v.stride[d] - 1) / v.stride[d];
    *last = to / v.stride[d] < v.at[d] ? to / v.stride[d] : v.at[d] - 1;
}

template <int V>
__global__ void pool_gradient(pool_last v, view dx, view dy, const uint8_t *number)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x, each = v.channels / V, w = t / each;
    int col = t % each * V, h = blockIdx.y, i0, i1, j0, j1;
    if (w >= v.size[1]) return;
    float sum[V] = {0}, g[V];
    reach_last(v, 0, h, &i0, &i1);
    reach_last(v, 1, w, &j0, &j1);
    for (int i = i0; i <= i1; i++) {
        int p = h + v.padding[0] - i * v.stride[0];
        if (p % v.dilation[0]) continue;
        for (int j = j0; j <= j1; j++) {
            int q = w + v.padding[1] - j * v.stride[1];
            if (q % v.dilation[1]) continue;
            int own = p / v.dilation[0] * v.window[1] + q / v.dilation[1];
            int64_t at = (((int64_t)blockIdx.z * v.at[0] + i) * v.at[1] + j) * v.channels + col;
            load_vec<V>(dy, at, g);
#pragma unroll
            for (int k = 0; k < V; k++)
                if (number[at + k] == own) sum[k] += g[k];
        }
    }
    int64_t place = ((int64_t)blockIdx.z * v.size[0] + h) * v.size[1] + w;
    store_vec<V>(dx, place * v.channels + col, sum);
}

static pool_last small_pool(const pool &v, const hap_tensor *image)
{
    pool_last s = {};
    for (int d = 0; d < 2; d++) {
        s.size[d] = (int)v.size[d], s.at[d] = (int)v.at[d], s.window[d] = (int)v.window[d];
        s.stride[d] = (int)v.stride[d], s.padding[d] = (int)v.padding[d];
        s.dilation[d] = (int)v.dilation[d];
    }
    s.channels = (int)image->local[1];
    return s;
}

// Blocks over images of so many rows of so many places.
static dim3 over_rows(const pool_last &v, int64_t images, const int *size, bool vec)
{
    return dim3((unsigned)ceil_div((int64_t)size[1] * v.channels / (vec ? 8 : 1), THREADS),
                (unsigned)size[0], (unsigned)images);
}

// Whether a pooling row runs channels last: where its images lie so, of which `g`, a gradient, may
// be a copy; *y lies so then. Else all is as declared. *number: where g is, workspace for numbers.
static const char *pool_begins(cuda_context *x, const pool &v, const hap_op_call *c,
                               hap_tensor *images, hap_tensor *g, bool *last, bool *vec,
                               uint8_t **number)
{
    hap_tensor *y = c->out[0];
    cuda_last to = y->rank == 4 ? cuda_last_shape(y) : cuda_last{0, 0, 0}, lies;
    *last = y->rank == 4 && cuda_lies_last(x, images, &lies) && cuda_is_last(x, images) &&
            lies.places * lies.channels <= INT32_MAX && images->local[0] <= 65535 &&
            v.size[0] <= 65535 && v.at[0] <= 65535 && v.window[0] * v.window[1] < NO_PLACE &&
            cuda_may_lie_last(x, y, &to);
    if (*last && g) {
        cuda_last shape = cuda_last_shape(g);
        hap_tensor at;
        char *work;
        CUDA_TRY(cuda_all_last(x, &g, 1, &shape, g->elements, &at, &work, last));
        if (*last) *g = at, *number = (uint8_t *)work;
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
    CUDA_TRY(pool_begins(x, v, c, c->in[0], NULL, &last, &vec, NULL));
    if (last) {
        pool_last s = small_pool(v, y);
        (vec ? pool_windows<8>
             : pool_windows<1>)<<<over_rows(s, y->local[0], s.at, vec), THREADS, 0, x->stream>>>(
            s, view_of(y), NULL, view_of(c->in[0]));
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
    uint8_t *number;
    CUDA_TRY(pool_begins(x, v, c, c->in[1], &g, &last, &vec, &number));
    if (last) {
        pool_last s = small_pool(v, y);
        (vec ? pool_windows<8>
             : pool_windows<1>)<<<over_rows(s, y->local[0], s.at, vec), THREADS, 0, x->stream>>>(
            s, view_of(NULL), number, view_of(c->in[1]));
        (vec ? pool_gradient<8>
             : pool_gradient<1>)<<<over_rows(s, y->local[0], s.size, vec), THREADS, 0,
                                   x->stream>>>(s, view_of(y), view_of(&g), number);
        return launched();
    }
    pool_backward<<<(unsigned)ceil_div(y->elements, THREADS), THREADS, 0, x->stream>>>(
        v, y->elements, view_of(y), view_of(c->in[0]), view_of(c->in[1]));
    return launched();
}
