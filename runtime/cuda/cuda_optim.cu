// Optimizers, in place (cpu/ops_optim.c states them). The learning rate and the step are read from
// the device, so that a captured step can be replayed.

#include "cuda/cuda_chains.h"
#include "cuda/cuda_kernels.cuh"
#include "cuda/cuda_record.h"
#include "cuda/cuda_shadow.h"

enum { THREADS = 256 };

static const char *prepare(const hap_op_call *c, int n_full)
{
    CUDA_TRY(cuda_want_floats(c));
    for (int i = 1; i < n_full; i++)
        if (!cuda_same_shape(c->in[0], c->in[i]))
            return cuda_fail("the parameter and operand %d differ in local shape", i);
    return NULL;
}

__device__ inline float clip_of(view k)
{
    return k.p ? load(k, 0) : 1.0f;
}

__global__ void sgd(int64_t n, view w, view g, view clip, const cuda_step *now, double lr_scale,
                    float wd, bool vec)
{
    float lr = (float)(now->lr * lr_scale), k = clip_of(clip);
    for_all(n, vec, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float a[V], b[V];
        load_vec<V>(w, i, a);
        load_vec<V>(g, i, b);
#pragma unroll
        for (int e = 0; e < V; e++)
            a[e] -= lr * (k * b[e] + wd * a[e]);
        store_vec<V>(w, i, a);
    });
}

CUDA_ROW(sgd)
{
    CUDA_TRY(prepare(c, 2));
    int64_t n = c->in[0]->elements;
    if (n == 0) return NULL;
    sgd<<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
        n, view_of(c->in[0]), view_of(c->in[1]), view_of(cuda_in(c, 2)), x->step, c->attr[0].f,
        (float)c->attr[1].f, all_aligned(c));
    return launched();
}

__global__ void momentum(int64_t n, view w, view m, view g, view clip, const cuda_step *now,
                         double lr_scale, float wd, float mu, float keep, float add, bool vec)
{
    float lr = (float)(now->lr * lr_scale), k = clip_of(clip);
    for_all(n, vec, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float a[V], b[V], d[V];
        load_vec<V>(w, i, a);
        load_vec<V>(m, i, b);
        load_vec<V>(g, i, d);
#pragma unroll
        for (int e = 0; e < V; e++) {
            float u = k * d[e] + wd * a[e];
            b[e] = mu * b[e] + u;
            a[e] -= lr * (keep * b[e] + add * u);
        }
        store_vec<V>(m, i, b);
        store_vec<V>(w, i, a);
    });
}

// Nesterov: the step is u + mu m, else m.
CUDA_ROW(momentum)
{
    CUDA_TRY(prepare(c, 3));
    int64_t n = c->in[0]->elements;
    float mu = (float)c->attr[1].f;
    bool nesterov = c->attr[2].i != 0;
    if (n == 0) return NULL;
    momentum<<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
        n, view_of(c->in[0]), view_of(c->in[1]), view_of(c->in[2]), view_of(cuda_in(c, 3)), x->step,
        c->attr[0].f, (float)c->attr[3].f, mu, nesterov ? mu : 1.0f, nesterov ? 1.0f : 0.0f,
        all_aligned(c));
    return launched();
}

struct adam_args {
    double lr_scale, b1, b2, wd;
    float eps;
    bool decoupled;
};

// Block `block` of `blocks` of one tensor. Every rounding is spelled out: the kernel of one tensor
// and that of many give the same bits.
__device__ inline void adam_part(int64_t n, view w, view m, view v, view g, view copy, view clip,
                                 const cuda_step *now, const adam_args &a, bool vec, int64_t block,
                                 int64_t blocks)
{
    __shared__ float factor[3]; // lr / (1 - b1^t), 1 / sqrt(1 - b2^t), 1 - lr wd
    if (threadIdx.x == 0) {
        double t = (double)(now->step + 1), lr = __dmul_rn(now->lr, a.lr_scale);
        factor[0] = (float)(lr / (1 - pow(a.b1, t)));
        factor[1] = (float)(1 / sqrt(1 - pow(a.b2, t)));
        factor[2] = a.decoupled ? (float)__fma_rn(-lr, a.wd, 1.0) : 1.0f;
    }
    __syncthreads();
    float step = factor[0], root = factor[1], shrink = factor[2], k = clip_of(clip);
    float wd = a.decoupled ? 0.0f : (float)a.wd, b1 = (float)a.b1, c1 = (float)(1 - a.b1);
    float b2 = (float)a.b2, c2 = (float)(1 - a.b2);
    auto update = [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float p[V], q[V], r[V], d[V];
        load_vec<V>(w, i, p);
        load_vec<V>(m, i, q);
        load_vec<V>(v, i, r);
        load_vec<V>(g, i, d);
#pragma unroll
        for (int e = 0; e < V; e++) {
            float u = __fmaf_rn(wd, p[e], __fmul_rn(k, d[e]));
            q[e] = __fmaf_rn(b1, q[e], __fmul_rn(c1, u));
            r[e] = __fmaf_rn(b2, r[e], __fmul_rn(c2, __fmul_rn(u, u)));
            float down = __fdiv_rn(__fmul_rn(step, q[e]), __fmaf_rn(__fsqrt_rn(r[e]), root, a.eps));
            p[e] = __fmaf_rn(shrink, p[e], -down);
        }
        store_vec<V>(m, i, q);
        store_vec<V>(v, i, r);
        store_vec<V>(w, i, p);
        if (copy.p) store_vec<V>(copy, i, p);
    };
    int64_t t = block * blockDim.x + threadIdx.x, stride = blocks * blockDim.x;
    int64_t n8 = vec ? n / 8 : 0;
    for (int64_t i = t; i < n8; i += stride)
        update(width<8>(), i * 8);
    for (int64_t i = n8 * 8 + t; i < n; i += stride)
        update(width<1>(), i);
}

__global__ void adam(int64_t n, view w, view m, view v, view g, view copy, view clip,
                     const cuda_step *now, adam_args a, bool vec)
{
    adam_part(n, w, m, v, g, copy, clip, now, a, vec, blockIdx.x, gridDim.x);
}

// Where the parameter goes in another type too (cuda_fuse_copies.c).
static view copy_of(const hap_op_call *c)
{
    return view_of(c->n_out > 3 ? c->out[3] : NULL);
}

static adam_args adam_args_of(const hap_op_call *c)
{
    return {c->attr[0].f, c->attr[1].f,        c->attr[2].f,
            c->attr[4].f, (float)c->attr[3].f, c->attr[5].i != 0};
}

CUDA_ROW(adam)
{
    CUDA_TRY(prepare(c, 4));
    int64_t n = c->in[0]->elements;
    if (n == 0) return NULL;
    adam<<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
        n, view_of(c->in[0]), view_of(c->in[1]), view_of(c->in[2]), view_of(c->in[3]), copy_of(c),
        view_of(cuda_in(c, 4)), x->step, adam_args_of(c), all_aligned(c));
    return launched();
}

// --- many tensors in one launch ---

struct adam_tensor {
    void *w, *m, *v, *g, *copy; // f32 but for g and copy
    int64_t n;
    int first; // block
    unsigned char g_type, copy_type, vec;
};

struct adam_list {
    int n, blocks;
    adam_tensor at[CUDA_MAX_CHAIN + 1];
};
static_assert(sizeof(adam_list) <= 4000, "a kernel's arguments are 4 KiB at most");

__global__ void adam_many(adam_list list, view clip, const cuda_step *now, adam_args a)
{
    int lo = 0, hi = list.n; // the last tensor that starts at this block or before
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        *(list.at[mid].first <= (int)blockIdx.x ? &lo : &hi) = mid;
    }
    adam_tensor t = list.at[lo];
    int end = lo + 1 < list.n ? list.at[lo + 1].first : list.blocks;
    adam_part(t.n, {t.w, HAP_F32}, {t.m, HAP_F32}, {t.v, HAP_F32}, {t.g, t.g_type},
              {t.copy, t.copy_type}, clip, now, a, t.vec, blockIdx.x - t.first, end - t.first);
}

const char *cuda_adam_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                            bool *done)
{
    adam_list list = {};
    (void)unread;
    *done = false;
    for (int k = 0; k < n; k++) {
        const hap_op_call *o = c[k];
        CUDA_TRY(prepare(o, 4));
        for (int i = 0; i < 3; i++)
            if (o->in[i]->type != HAP_F32) return NULL;
        for (int i = 0; i < o->n_in; i++)
            if (o->in[i]) CUDA_TRY(cuda_will_read(x, o->in[i]->data, o->in[i]->bytes));
        for (int i = 0; i < o->n_out; i++)
            cuda_will_write(x, o->out[i]->data, o->out[i]->bytes);
        int64_t elements = o->in[0]->elements;
        if (elements == 0) continue;
        view copy = copy_of(o);
        adam_tensor t = {o->in[0]->data, o->in[1]->data, o->in[2]->data, o->in[3]->data,
                         copy.p,         elements,       list.blocks};
        t.g_type = (unsigned char)o->in[3]->type, t.copy_type = (unsigned char)copy.type;
        t.vec = all_aligned(o);
        list.at[list.n++] = t;
        int64_t blocks = ceil_div(elements, THREADS * 8 * 8);
        list.blocks += (int)(blocks < 132 * 32 ? blocks : 132 * 32);
    }
    *done = true;
    if (list.n == 0) return NULL;
    adam_many<<<(unsigned)list.blocks, THREADS, 0, x->stream>>>(list, view_of(cuda_in(c[0], 4)),
                                                                x->step, adam_args_of(c[0]));
    return launched();
}
