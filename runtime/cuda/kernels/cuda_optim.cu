// Optimizers, in place (cpu/ops_optim.c states them), of hundreds of parameters in one launch: its
// arguments list them, so that nothing is allocated or copied in the step. The learning rate and
// the step are read from the device, so that a captured step can be replayed. Every rounding is
// spelled out: a parameter gets the same bits whoever stands beside it.

#include <cstring>

#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_shadow.h"

namespace
{
enum { THREADS = 256, DEEP = 8, FULL = 132 * 8 }; // vectors a thread, at most; blocks of a full GPU
enum { RATES = 16, FEW = 60, MANY = 600 };        // of a launch, at most

// What updates go by that differ in their tensors alone.
struct rates {
    double lr_scale, wd, b1, b2; // b1: mu of momentum
    const void *clip;            // NULL: 1
    float eps;
    short op;
    unsigned char clip_type, flag; // flag: decoupled of adam, nesterov of momentum
};
static_assert(sizeof(rates) == 48, "is compared byte by byte");

struct updated {
    void *w, *m, *v, *g, *copy; // f32 but for g and copy; momentum has m alone, sgd neither
    uint64_t n : 48, rates : 7, g_type : 4, copy_type : 4, vec : 1;
};

struct update_head {
    int n, n_rates;
    const cuda_step *now;
    rates rate[RATES];
};

template <int MOST> struct update_list : update_head {
    updated at[MOST];
    int first[MOST + 1]; // block of each; of the launch, behind the last
};
static_assert(sizeof(update_list<FEW>) <= 4096, "what any driver takes as a kernel's arguments");
static_assert(sizeof(update_list<MANY>) <= 32764, "what drivers of CUDA 12.1 take");

// Block `block` of the `blocks` that one parameter has.
struct share {
    int64_t block, blocks;
};

template <class Body>
__device__ inline void for_share(const updated &t, const share &s, const Body &body)
{
    int64_t i = s.block * THREADS + threadIdx.x, step = s.blocks * THREADS, n = (int64_t)t.n;
    int64_t n8 = t.vec ? n / 8 : 0;
    for (int64_t k = i; k < n8; k += step)
        body(width<8>(), k * 8);
    for (int64_t k = n8 * 8 + i; k < n; k += step)
        body(width<1>(), k);
}

__device__ inline float clip_of(const rates &a)
{
    return a.clip ? load({(void *)a.clip, a.clip_type}, 0) : 1.0f;
}

// The new parameter, in another type too where the next step reads it so (cuda_fuse_copies.c).
template <int V> __device__ inline void store_new(const updated &t, int64_t i, const float (&p)[V])
{
    store_vec<V>({t.w, HAP_F32}, i, p);
    if (t.copy) store_vec<V>({t.copy, (int)t.copy_type}, i, p);
}

__device__ inline void sgd(const updated &t, const share &s, const rates &a, const cuda_step *now)
{
    float lr = (float)__dmul_rn(now->lr, a.lr_scale), k = clip_of(a), wd = (float)a.wd;
    for_share(t, s, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float p[V], d[V];
        load_vec<V>({t.w, HAP_F32}, i, p);
        load_vec<V>({t.g, (int)t.g_type}, i, d);
#pragma unroll
        for (int e = 0; e < V; e++)
            p[e] = __fmaf_rn(-lr, __fmaf_rn(wd, p[e], __fmul_rn(k, d[e])), p[e]);
        store_new<V>(t, i, p);
    });
}

// Nesterov: the step is u + mu m, else m.
__device__ inline void momentum(const updated &t, const share &s, const rates &a,
                                const cuda_step *now)
{
    float lr = (float)__dmul_rn(now->lr, a.lr_scale), k = clip_of(a), wd = (float)a.wd;
    float mu = (float)a.b1, keep = a.flag ? mu : 1.0f, add = a.flag ? 1.0f : 0.0f;
    for_share(t, s, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float p[V], q[V], d[V];
        load_vec<V>({t.w, HAP_F32}, i, p);
        load_vec<V>({t.m, HAP_F32}, i, q);
        load_vec<V>({t.g, (int)t.g_type}, i, d);
#pragma unroll
        for (int e = 0; e < V; e++) {
            float u = __fmaf_rn(wd, p[e], __fmul_rn(k, d[e]));
            q[e] = __fmaf_rn(mu, q[e], u);
            p[e] = __fmaf_rn(-lr, __fmaf_rn(keep, q[e], __fmul_rn(add, u)), p[e]);
        }
        store_vec<V>({t.m, HAP_F32}, i, q);
        store_new<V>(t, i, p);
    });
}

__device__ inline void adam(const updated &t, const share &s, const rates &a, const cuda_step *now)
{
    __shared__ float factor[3]; // lr / (1 - b1^t), 1 / sqrt(1 - b2^t), 1 - lr wd
    if (threadIdx.x == 0) {
        double step = (double)(now->step + 1), lr = __dmul_rn(now->lr, a.lr_scale);
        factor[0] = (float)(lr / (1 - pow(a.b1, step)));
        factor[1] = (float)(1 / sqrt(1 - pow(a.b2, step)));
        factor[2] = a.flag ? (float)__fma_rn(-lr, a.wd, 1.0) : 1.0f;
    }
    __syncthreads();
    float step = factor[0], root = factor[1], shrink = factor[2], k = clip_of(a);
    float wd = a.flag ? 0.0f : (float)a.wd, b1 = (float)a.b1, c1 = (float)(1 - a.b1);
    float b2 = (float)a.b2, c2 = (float)(1 - a.b2);
    for_share(t, s, [&](auto width, int64_t i) {
        constexpr int V = decltype(width)::value;
        float p[V], q[V], r[V], d[V];
        load_vec<V>({t.w, HAP_F32}, i, p);
        load_vec<V>({t.m, HAP_F32}, i, q);
        load_vec<V>({t.v, HAP_F32}, i, r);
        load_vec<V>({t.g, (int)t.g_type}, i, d);
#pragma unroll
        for (int e = 0; e < V; e++) {
            float u = __fmaf_rn(wd, p[e], __fmul_rn(k, d[e]));
            q[e] = __fmaf_rn(b1, q[e], __fmul_rn(c1, u));
            r[e] = __fmaf_rn(b2, r[e], __fmul_rn(c2, __fmul_rn(u, u)));
            float down = __fdiv_rn(__fmul_rn(step, q[e]), __fmaf_rn(__fsqrt_rn(r[e]), root, a.eps));
            p[e] = __fmaf_rn(shrink, p[e], -down);
        }
        store_vec<V>({t.m, HAP_F32}, i, q);
        store_vec<V>({t.v, HAP_F32}, i, r);
        store_new<V>(t, i, p);
    });
}

template <int MOST>
__global__ void __launch_bounds__(THREADS) update(const __grid_constant__ update_list<MOST> list)
{
    int lo = 0, hi = list.n; // the last parameter that starts at this block or before
    while (hi - lo > 1) {
        int mid = (lo + hi) / 2;
        *(list.first[mid] <= (int)blockIdx.x ? &lo : &hi) = mid;
    }
    const updated t = list.at[lo];
    const rates a = list.rate[t.rates];
    share s = {(int)blockIdx.x - list.first[lo], list.first[lo + 1] - list.first[lo]};
    if (a.op == HAP_OP_adam)
        adam(t, s, a, list.now);
    else if (a.op == HAP_OP_momentum)
        momentum(t, s, a, list.now);
    else
        sgd(t, s, a, list.now);
}

const char *prepare(const hap_op_call *c)
{
    int places = cuda_update_places(c->op);
    CUDA_TRY(cuda_want_floats(c));
    for (int i = 0; i < places; i++)
        if (c->in[i]->type != HAP_F32)
            return cuda_fail("not supported: a parameter or its state that is not f32");
    for (int i = 1; i <= places; i++)
        if (!cuda_same_shape(c->in[0], c->in[i]))
            return cuda_fail("the parameter and operand %d differ in local shape", i);
    return NULL;
}

rates rates_of(const hap_op_call *c)
{
    const hap_tensor *clip = cuda_in(c, cuda_update_places(c->op) + 1);
    const hap_attr *a = c->attr;
    rates r = {};
    r.op = (short)c->op, r.lr_scale = a[0].f;
    if (clip) r.clip = clip->data, r.clip_type = (unsigned char)clip->type;
    if (c->op == HAP_OP_adam) {
        r.b1 = a[1].f, r.b2 = a[2].f, r.eps = (float)a[3].f, r.wd = a[4].f;
        r.flag = a[5].i != 0;
    } else if (c->op == HAP_OP_momentum) {
        r.b1 = a[1].f, r.wd = a[3].f;
        r.flag = a[2].i != 0;
    } else {
        r.wd = a[1].f;
    }
    return r;
}

// The index of the call's rates in the list; RATES: it has no room for them.
int rates_in(update_head *list, const hap_op_call *c)
{
    const rates r = rates_of(c);
    int k = 0;
    while (k < list->n_rates && memcmp(&list->rate[k], &r, sizeof r) != 0)
        k++;
    if (k == list->n_rates && k < RATES) list->rate[list->n_rates++] = r;
    return k;
}

// With `deep` vectors a thread. False: the list is full.
bool add(update_list<MANY> *list, const hap_op_call *c, int64_t deep)
{
    int places = cuda_update_places(c->op), rate = list->n < MANY ? rates_in(list, c) : RATES;
    if (rate == RATES) return false;
    const hap_tensor *g = c->in[places], *copy = c->n_out > places ? c->out[places] : NULL;
    updated *t = &list->at[list->n];
    int64_t n = c->in[0]->elements, blocks = ceil_div(n, THREADS * 8 * deep);
    *t = {c->in[0]->data, NULL, NULL, g->data, copy ? copy->data : NULL};
    if (places > 1) t->m = c->in[1]->data;
    if (places > 2) t->v = c->in[2]->data;
    t->n = (uint64_t)n, t->rates = (unsigned)rate, t->vec = all_aligned(c);
    t->g_type = (unsigned)g->type, t->copy_type = copy ? (unsigned)copy->type : 0;
    list->first[list->n + 1] = list->first[list->n] + (int)(blocks < FULL * 4 ? blocks : FULL * 4);
    list->n++;
    return true;
}

// Few parameters go as arguments of the size that costs least. The list is empty then.
const char *launch(cuda_context *x, update_list<MANY> *list)
{
    unsigned blocks = (unsigned)list->first[list->n];
    list->now = x->step;
    if (list->n > FEW) {
        update<<<blocks, THREADS, 0, x->stream>>>(*list);
    } else if (list->n > 0) {
        update_list<FEW> few = {};
        static_cast<update_head &>(few) = *list;
        memcpy(few.at, list->at, (size_t)list->n * sizeof *few.at);
        memcpy(few.first, list->first, (size_t)(list->n + 1) * sizeof *few.first);
        update<<<blocks, THREADS, 0, x->stream>>>(few);
    }
    list->n = list->n_rates = 0;
    return launched();
}
} // namespace

const char *cuda_update_chain(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                              bool *done)
{
    update_list<MANY> list = {};
    int64_t elements = 0;
    (void)unread;
    *done = true;
    for (int k = 0; k < n; k++)
        elements += c[k]->in[0]->elements;
    int64_t deep = elements / (THREADS * 8 * FULL);
    deep = deep < 1 ? 1 : deep > DEEP ? DEEP : deep;
    for (int k = 0; k < n; k++) {
        CUDA_TRY(prepare(c[k]));
        CUDA_TRY(cuda_call_begins(x, c[k]));
        if (c[k]->in[0]->elements == 0 || add(&list, c[k], deep)) continue;
        CUDA_TRY(launch(x, &list));
        add(&list, c[k], deep);
    }
    return launch(x, &list);
}

static const char *alone(cuda_context *x, const hap_op_call *c)
{
    bool done;
    return cuda_update_chain(x, &c, 1, 0, &done);
}

CUDA_ROW(sgd)
{
    return alone(x, c);
}

CUDA_ROW(momentum)
{
    return alone(x, c);
}

CUDA_ROW(adam)
{
    return alone(x, c);
}
