// Optimizers, in place (cpu/ops_optim.c states them). The learning rate and the step are read from
// the device, so that a captured step can be replayed.

#include "cuda/cuda_kernels.cuh"

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
    bool decoupled, vec;
};

__global__ void adam(int64_t n, view w, view m, view v, view g, view clip, const cuda_step *now,
                     adam_args a)
{
    __shared__ float factor[3]; // lr / (1 - b1^t), 1 / sqrt(1 - b2^t), 1 - lr wd
    if (threadIdx.x == 0) {
        double t = (double)(now->step + 1), lr = now->lr * a.lr_scale;
        factor[0] = (float)(lr / (1 - pow(a.b1, t)));
        factor[1] = (float)(1 / sqrt(1 - pow(a.b2, t)));
        factor[2] = a.decoupled ? (float)(1 - lr * a.wd) : 1.0f;
    }
    __syncthreads();
    float step = factor[0], root = factor[1], shrink = factor[2], k = clip_of(clip);
    float wd = a.decoupled ? 0.0f : (float)a.wd, b1 = (float)a.b1, c1 = (float)(1 - a.b1);
    float b2 = (float)a.b2, c2 = (float)(1 - a.b2);
    for_all(n, a.vec, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float p[V], q[V], r[V], d[V];
        load_vec<V>(w, i, p);
        load_vec<V>(m, i, q);
        load_vec<V>(v, i, r);
        load_vec<V>(g, i, d);
#pragma unroll
        for (int e = 0; e < V; e++) {
            float u = k * d[e] + wd * p[e];
            q[e] = b1 * q[e] + c1 * u;
            r[e] = b2 * r[e] + c2 * (u * u);
            p[e] = shrink * p[e] - step * q[e] / (sqrtf(r[e]) * root + a.eps);
        }
        store_vec<V>(m, i, q);
        store_vec<V>(v, i, r);
        store_vec<V>(w, i, p);
    });
}

CUDA_ROW(adam)
{
    CUDA_TRY(prepare(c, 4));
    int64_t n = c->in[0]->elements;
    if (n == 0) return NULL;
    adam_args a = {c->attr[0].f,        c->attr[1].f,      c->attr[2].f,  c->attr[4].f,
                   (float)c->attr[3].f, c->attr[5].i != 0, all_aligned(c)};
    adam<<<blocks_for(n, THREADS, 8), THREADS, 0, x->stream>>>(
        n, view_of(c->in[0]), view_of(c->in[1]), view_of(c->in[2]), view_of(c->in[3]),
        view_of(cuda_in(c, 4)), x->step, a);
    return launched();
}
