// What generated kernels (kernels.cu of a plan folder) are written with.
//
// A kernel does the ops of a fusion on this rank's part of its domain: rows of `cols` entries.
//     FULL    load(w, p, i)        entries i .. i + V of the domain; V = 8 (16-byte accesses) or 1
//     ROW     load_one(p, row)     COLUMN  load_column(w, p, j)     ONE  load_one(p, 0)
//     TAIL    load_tail(w, p, i, count)    of the `count` elements of the domain's last dims;
//             load_column(w, p, r.tail(count) + j) in kernels over rows
//     ADDED   added<SLOTS>, store_at       the same, of all rows that lie so many elements apart
// Values are f32 in registers, as<bf16>(t) is the value that memory of that type would hold; every
// op's result is rounded to f32 as if it had been stored (formulas.cuh). EACH ops are
// functions op::NAME; ROWS ops are types op::NAME: made from the row and its statistics, called
// with entries; those that reduce `add` entries to a sum or maximum, `total` is that of the row.
// Threads go over a row as in the runtime's own kernels, so sums have the same bits.

#ifndef HAP_KERNELS_CUH
#define HAP_KERNELS_CUH

#include "hap/elements.cuh"
#include "hap/formulas.cuh"
#include "hap/fusion_args.h"

// A kernel over elements, and one over rows. text: the fusion as synth/passes/fuse.h writes it; the
// runtime reads it in the source.
// clang-format off
#define HAP_KERNEL(name, text)                                                                     \
    extern "C" __global__ void __launch_bounds__(512)                                              \
    name(const __grid_constant__ hap_fusion_args g)
#define HAP_ROW_KERNEL(name, text) HAP_KERNEL(name, text)
// clang-format on

namespace hap
{

template <class T> __device__ inline T *at(const hap_fusion_args &g, int k)
{
    return (T *)g.tensor[k];
}

// --- loops ---

// body(w, i) for all elements of the domain.
template <class Body> __device__ inline void each_element(const hap_fusion_args &g, Body body)
{
    i64 n = g.rows * g.cols, t = (i64)blockIdx.x * blockDim.x + threadIdx.x,
        step = (i64)gridDim.x * blockDim.x;
    for (i64 i = t; i < n / 8; i += step)
        body(width<8>(), i * 8);
    for (i64 i = n / 8 * 8 + t; i < n; i += step)
        body(width<1>(), i);
}

// body(w, i, row, j): the same, with the place in the row.
template <class Body> __device__ inline void each_entry(const hap_fusion_args &g, Body body)
{
    i64 n = g.rows * g.cols, t = (i64)blockIdx.x * blockDim.x + threadIdx.x,
        step = (i64)gridDim.x * blockDim.x;
    bool small = n <= 0x7FFFFFFF;
    auto run = [&](auto w, i64 i) {
        i64 row = small ? (i64)((unsigned)i / (unsigned)g.cols) : i / g.cols;
        body(w, i, row, i - row * g.cols);
    };
    if (g.cols % 8 == 0) {
        for (i64 i = t; i < n / 8; i += step)
            run(width<8>(), i * 8);
        return;
    }
    for (i64 i = t; i < n; i += step)
        run(width<1>(), i);
}

// One row of the domain, by a warp (blockDim.x 32) or a block; its next one where it takes several.
struct row {
    i64 at, cols;
    double n;
    bool here;
    __device__ explicit row(const hap_fusion_args &g, i64 turn = 0) : at(0), cols(g.cols), n(g.n)
    {
        i64 own = (i64)blockIdx.x * blockDim.y + threadIdx.y;
        here = own < g.own && turn < g.turns;
        if (here) at = turn * g.own + own;
    }
    __device__ bool leads() const { return threadIdx.x == 0; }
    // Where the row begins in what repeats every `count` elements.
    __device__ i64 tail(i64 count) const
    {
        const i64 i = at * cols;
        const bool small = i <= 0x7FFFFFFF && count <= 0x7FFFFFFF;
        return small ? (i64)((unsigned)i % (unsigned)count) : i % count;
    }
};

// body(w, i, j) for the row's entries j, at i in the domain. Vectors start at multiples of 8 of i,
// wherever the row starts.
template <class Body> __device__ inline void each_of(const row &r, Body body)
{
    i64 base = r.at * r.cols, head = (8 - base % 8) % 8;
    int t = threadIdx.x, T = blockDim.x;
    if (head > r.cols) head = r.cols;
    i64 n8 = (r.cols - head) / 8, tail = head + n8 * 8;
    for (i64 j = t; j < head; j += T)
        body(width<1>(), base + j, j);
    for (i64 k = t; k < n8; k += T)
        body(width<8>(), base + head + k * 8, head + k * 8);
    for (i64 j = tail + t; j < r.cols; j += T)
        body(width<1>(), base + j, j);
}

constexpr bool ragged = true; // rows that are no whole vectors

// body(w, i, j, slot): the same where a thread has no more than SLOTS vectors of a row. What is
// kept by slot is kept in registers. Before and behind vectors of ragged rows a thread has at most
// an entry: slots 0 and 1 of width 1.
template <int SLOTS, bool RAGGED = false, class Body>
__device__ inline void each_slot(const row &r, Body body)
{
    const i64 base = r.at * r.cols;
    const int cols = (int)r.cols, t = threadIdx.x, T = blockDim.x;
    const int front = RAGGED ? (int)(-base & 7) : 0, head = RAGGED && front > cols ? cols : front;
    const int tail = RAGGED ? head + (cols - head) / 8 * 8 : cols;
    if constexpr (RAGGED)
        if (t < head) body(width<1>(), base + t, (i64)t, 0);
#pragma unroll
    for (int slot = 0; slot < SLOTS; slot++) {
        const int j = head + (slot * T + t) * 8;
        if (j < tail) body(width<8>(), base + j, (i64)j, slot);
    }
    if constexpr (RAGGED)
        if (t < cols - tail) body(width<1>(), base + tail + t, (i64)tail + t, 1);
}

// What a thread has of a row's entries in its slots, as elements of memory of type T.
template <class T, int SLOTS> struct held {
    pack<T> v[SLOTS];
    T one[2];
    __device__ vec<8> get(width<8>, int slot) const { return unpacked(v[slot]); }
    __device__ vec<1> get(width<1>, int slot) const { return {to_f32(one[slot])}; }
    __device__ void put(width<8>, int slot, const vec<8> &u) { v[slot] = exactly<T>::of(u); }
    __device__ void put(width<1>, int slot, const vec<1> &u) { one[slot] = from_f32<T>(u.x[0]); }
    __device__ void load(width<8>, int slot, const T *p, i64 i) { v[slot] = read(p + i); }
    __device__ void load(width<1>, int slot, const T *p, i64 i) { one[slot] = p[i]; }
    __device__ void load_column(width<8> w, int slot, const T *p, i64 j)
    {
        if (j % 8 == 0)
            load(w, slot, p, j);
        else
            put(w, slot, hap::load_column(w, p, j));
    }
    __device__ void load_column(width<1> w, int slot, const T *p, i64 j) { load(w, slot, p, j); }
};

// What a thread's entries of all rows that it takes in turn add up to. -0 + x is x.
template <int SLOTS> struct added {
    vec<8> v[SLOTS];
    __device__ added()
    {
#pragma unroll
        for (int s = 0; s < SLOTS; s++)
#pragma unroll
            for (int k = 0; k < 8; k++)
                v[s].x[k] = -0.0f;
    }
    __device__ void add(int slot, const vec<8> &u)
    {
#pragma unroll
        for (int k = 0; k < 8; k++)
            v[slot].x[k] = hap_formula::plus(v[slot].x[k], u.x[k]);
    }
    template <class T> __device__ void store_at(const hap_fusion_args &g, T *p) const
    {
        const row r(g);
        if (!r.here) return;
        each_slot<SLOTS>(r, [&](auto, i64 i, i64, int slot) { store(p, i, v[slot]); });
    }
};

struct sum {
    float v = 0;
    __device__ static float zero() { return 0; }
    __device__ static float join(float a, float b) { return hap_formula::plus(a, b); }
};
struct most { // a NaN does not count, so that all threads agree
    float v = zero();
    __device__ static float zero() { return __int_as_float(0xFF800000); }
    __device__ static float join(float a, float b) { return fmaxf(a, b); }
};

// The same in every thread and every run.
template <class Op> __device__ inline float total(Op of)
{
    __shared__ float part[32];
    float v = of.v;
    for (int k = 16; k > 0; k >>= 1)
        v = Op::join(v, __shfl_xor_sync(0xFFFFFFFFu, v, k));
    if (blockDim.x == 32) return v;
    __syncthreads(); // part may still be read by the call before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    float r = Op::zero();
    for (unsigned i = 0; i < blockDim.x / 32; i++)
        r = Op::join(r, part[i]);
    return r;
}

// All threads of the row are here: what was read of it may be written over.
__device__ inline void row_done()
{
    if (blockDim.x == 32)
        __syncwarp();
    else
        __syncthreads();
}

// --- entries by entries; a row's own values are floats ---

__device__ inline float entry(float v, int)
{
    return v;
}
template <int V> __device__ inline float entry(const vec<V> &v, int k)
{
    return v.x[k];
}
template <class A> struct width_of {
    static constexpr int value = 0;
};
template <int V> struct width_of<vec<V>> {
    static constexpr int value = V;
};
template <class... A> constexpr int widest = 0;
template <class A, class... B>
constexpr int widest<A, B...> =
    width_of<A>::value > widest<B...> ? width_of<A>::value : widest<B...>;

template <class F, class... A> __device__ inline auto over(F f, A... a)
{
    constexpr int V = widest<A...>;
    if constexpr (V == 0) {
        return f(a...);
    } else {
        vec<V> y;
#pragma unroll
        for (int k = 0; k < V; k++)
            y.x[k] = f(entry(a, k)...);
        return y;
    }
}

// Global index of element i of the domain.
__device__ inline i64 place_of(const hap_fusion_args &g, i64 i)
{
    if (g.straight) return g.offset + i;
    i64 e = 0, stride = 1;
    for (int d = g.rank - 1; d >= 0; d--) {
        i64 l = i % g.dim[d].local;
        i /= g.dim[d].local;
        e += (l / g.dim[d].part * g.dim[d].block + g.dim[d].first + l % g.dim[d].part) * stride;
        stride *= g.dim[d].whole;
    }
    return e;
}

} // namespace hap

namespace op
{

using hap::each_of;
using hap::i64;
using hap::over;
using hap::row;
using hap::vec;

// --- EACH ---

// k0 and k1: real attributes, in order.
#define HAP_EACH_1(name, args)                                                                     \
    template <class A> __device__ inline auto name(A a, double c0 = 0, double c1 = 0)              \
    {                                                                                              \
        float k0 = (float)c0, k1 = (float)c1;                                                      \
        (void)k0, (void)k1;                                                                        \
        return over([=](float u) { return hap_formula::hap_##name args; }, a);                     \
    }
#define HAP_EACH_2(name, args)                                                                     \
    template <class A, class B>                                                                    \
    __device__ inline auto name(A a, B b, double c0 = 0, double c1 = 0)                            \
    {                                                                                              \
        float k0 = (float)c0, k1 = (float)c1;                                                      \
        (void)k0, (void)k1;                                                                        \
        return over([=](float u, float v) { return hap_formula::hap_##name args; }, a, b);         \
    }
HAP_POINTS_1(HAP_EACH_1)
HAP_POINTS_2(HAP_EACH_2)

#define HAP_OP_2(name, expr)                                                                       \
    template <class A, class B> __device__ inline auto name(A a, B b)                              \
    {                                                                                              \
        return over([](float u, float v) -> float { return expr; }, a, b);                         \
    }
HAP_OP_2(add, hap_formula::plus(u, v))
HAP_OP_2(sub, hap_formula::minus(u, v))
HAP_OP_2(mul, hap_formula::times(u, v))
HAP_OP_2(div, u / v)
HAP_OP_2(eq, u == v)
HAP_OP_2(ne, u != v)
HAP_OP_2(lt, u < v)
HAP_OP_2(le, u <= v)
HAP_OP_2(gt, u > v)
HAP_OP_2(ge, u >= v)
HAP_OP_2(logical_and, u != 0.0f && v != 0.0f)
HAP_OP_2(logical_or, u != 0.0f || v != 0.0f)

template <class A> __device__ inline auto logical_not(A a)
{
    return over([](float v) -> float { return v == 0.0f; }, a);
}

template <class A> __device__ inline A cast(A a) // its type says the rest
{
    return a;
}

template <class A, class B, class C> __device__ inline auto where(A a, B b, C c)
{
    return over([](float p, float u, float v) { return p != 0.0f ? u : v; }, a, b, c);
}

template <bool TANH, class A> __device__ inline auto gelu(A a)
{
    return over(
        [](float v) { return TANH ? hap_formula::hap_gelu_tanh(v) : hap_formula::hap_gelu_erf(v); },
        a);
}

template <bool TANH, class A, class B> __device__ inline auto gelu_bwd(A a, B b)
{
    return over(
        [](float u, float v) {
            return TANH ? hap_formula::hap_gelu_tanh_bwd(u, v)
                        : hap_formula::hap_gelu_erf_bwd(u, v);
        },
        a, b);
}

// What entries i.. of the domain are multiplied by. Large: once in a kernel.
template <int V>
__device__ __noinline__ vec<V> dropout_factors(float p, i64 key, i64 first,
                                               const hap_fusion_args &g, i64 i)
{
    unsigned long long k = hap_formula::random_key(g.step->seed, (unsigned long long)g.step->step,
                                                   (unsigned long long)key);
    i64 have = -1;
    uint4 w = {0, 0, 0, 0};
    vec<V> y;
#pragma unroll
    for (int e = 0; e < V; e++) {
        i64 at = first + hap::place_of(g, i + e);
        if (at >> 2 != have) {
            have = at >> 2;
            w = hap_formula::philox((unsigned long long)have, k);
        }
        unsigned lo = at & 1 ? w.y : w.x, hi = at & 1 ? w.w : w.z;
        y.x[e] = hap_formula::dropout_of(at & 2 ? hi : lo, p);
    }
    return y;
}

template <int V>
__device__ inline vec<V> dropout(vec<V> a, double p, i64 key, i64 first, const hap_fusion_args &g,
                                 i64 i)
{
    return over([](float v, float k) { return hap_formula::times(v, k); }, a,
                dropout_factors<V>((float)p, key, first, g, i));
}

// --- ROWS: statistics ---

struct row_sum {
    __device__ explicit row_sum(const row &) {}
    template <int V> __device__ void add(float &t, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::plus(t, x.x[k]);
    }
};

struct row_max {
    __device__ explicit row_max(const row &) {}
    template <int V> __device__ void add(float &t, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = x.x[k] > t ? x.x[k] : t;
    }
};

struct row_m2 {
    float mean;
    __device__ row_m2(const row &r, float sum) : mean(hap_formula::norm_mean(sum, r.n)) {}
    template <int V> __device__ void add(float &t, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::m2_add(t, x.x[k], mean);
    }
};

struct row_sq {
    __device__ explicit row_sq(const row &) {}
    template <int V> __device__ void add(float &t, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::m2_add(t, x.x[k], 0);
    }
};

struct row_expsum {
    float max;
    __device__ row_expsum(const row &, float m) : max(m) {}
    // What is added up, and adding that.
    template <int V> __device__ vec<V> terms(vec<V> x) const
    {
        float m = max;
        return over([m](float v) { return hap_formula::exp_term(v, m); }, x);
    }
    template <int V> __device__ void add_terms(float &t, vec<V> e) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::plus(t, e.x[k]);
    }
    template <int V> __device__ void add(float &t, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::expsum_add(t, x.x[k], max);
    }
};

struct row_dot {
    __device__ explicit row_dot(const row &) {}
    template <int V> __device__ void add(float &t, vec<V> x, vec<V> y) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::times_plus(x.x[k], y.x[k], t);
    }
};

// --- ROWS: softmax ---

struct softmax_apply {
    float max, k;
    __device__ softmax_apply(const row &, float m, float sum) : max(m), k(1.0f / sum) {}
    template <int V> __device__ vec<V> operator()(vec<V> x) const
    {
        float m = max, s = k;
        return over([m, s](float v) { return hap_formula::softmax_of(v, m, s); }, x);
    }
    // Of row_expsum's terms.
    template <int V> __device__ vec<V> of_terms(vec<V> e) const
    {
        float s = k;
        return over([s](float v) { return hap_formula::times(v, s); }, e);
    }
};

struct log_softmax_apply {
    float max, k;
    __device__ log_softmax_apply(const row &, float m, float sum) : max(m), k(logf(sum)) {}
    template <int V> __device__ vec<V> operator()(vec<V> x) const
    {
        float m = max, s = k;
        return over([m, s](float v) { return hap_formula::log_softmax_of(v, m, s); }, x);
    }
};

struct softmax_bwd {
    float k;
    __device__ softmax_bwd(const row &, float dot) : k(dot) {}
    template <int V> __device__ vec<V> operator()(vec<V> dy, vec<V> y) const
    {
        float s = k;
        return over([s](float v, float u) { return hap_formula::softmax_slope(v, u, s); }, dy, y);
    }
};

struct log_softmax_bwd {
    float k;
    __device__ log_softmax_bwd(const row &, float sum) : k(sum) {}
    template <int V> __device__ vec<V> operator()(vec<V> dy, vec<V> y) const
    {
        float s = k;
        return over([s](float v, float u) { return hap_formula::log_softmax_slope(v, u, s); }, dy,
                    y);
    }
};

// --- ROWS: layer norm ---

struct norm_row {
    float mean, rstd;
    __device__ norm_row(const row &r, float sum, float m2, double eps)
        : mean(hap_formula::norm_mean(sum, r.n)), rstd(hap_formula::norm_rstd(m2, r.n, eps))
    {
    }
    template <int V> __device__ vec<V> by(vec<V> u, vec<V> w) const
    {
        return over([](float a, float b) { return hap_formula::times(a, b); }, u, w);
    }
};

struct norm_apply : norm_row {
    using norm_row::norm_row;
    template <int V> __device__ vec<V> operator()(vec<V> x) const
    {
        float m = mean, s = rstd;
        return over([m, s](float v) { return hap_formula::norm_hat(v, m, s); }, x);
    }
    template <int V> __device__ vec<V> operator()(vec<V> x, vec<V> w) const
    {
        return by((*this)(x), w);
    }
    template <int V> __device__ vec<V> operator()(vec<V> x, vec<V> w, vec<V> b) const
    {
        return over([](float u, float v) { return hap_formula::plus(u, v); }, (*this)(x, w), b);
    }
};

struct norm_bwd_stats : norm_row {
    using norm_row::norm_row;
    template <int V> __device__ void add(float &a, float &b, vec<V> u, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            a = hap_formula::plus(a, u.x[k]),
            b = hap_formula::times_plus(u.x[k], hap_formula::norm_hat(x.x[k], mean, rstd), b);
    }
    template <int V> __device__ void add(float &a, float &b, vec<V> dy, vec<V> x, vec<V> w) const
    {
        add(a, b, by(dy, w), x);
    }
};

struct norm_bwd : norm_row {
    float a, b;
    __device__ norm_bwd(const row &r, float sum, float m2, float s1, float s2, double eps)
        : norm_row(r, sum, m2, eps), a(hap_formula::norm_mean(s1, r.n)),
          b(hap_formula::norm_mean(s2, r.n))
    {
    }
    template <int V> __device__ vec<V> operator()(vec<V> u, vec<V> x) const
    {
        float m = mean, s = rstd, p = a, q = b;
        return over([=](float w, float v) { return hap_formula::norm_slope(w, v, m, s, p, q); }, u,
                    x);
    }
    template <int V> __device__ vec<V> operator()(vec<V> dy, vec<V> x, vec<V> w) const
    {
        return (*this)(by(dy, w), x);
    }
};

// --- ROWS: RMS norm, layer norm of mean 0 ---

struct rms_apply : norm_apply {
    __device__ rms_apply(const row &r, float sq, double eps) : norm_apply(r, 0, sq, eps) {}
};

struct rms_bwd_stats : norm_row {
    __device__ rms_bwd_stats(const row &r, float sq, double eps) : norm_row(r, 0, sq, eps) {}
    template <int V> __device__ void add(float &t, vec<V> u, vec<V> x) const
    {
#pragma unroll
        for (int k = 0; k < V; k++)
            t = hap_formula::times_plus(u.x[k], hap_formula::norm_hat(x.x[k], 0, rstd), t);
    }
    template <int V> __device__ void add(float &t, vec<V> dy, vec<V> x, vec<V> w) const
    {
        add(t, by(dy, w), x);
    }
};

struct rms_bwd : norm_bwd {
    __device__ rms_bwd(const row &r, float sq, float dot, double eps)
        : norm_bwd(r, 0, sq, 0, dot, eps)
    {
    }
};

} // namespace op

using namespace hap;

#endif
