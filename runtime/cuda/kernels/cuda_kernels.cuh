// Device code that kernels share: elements of any float type as floats, in vectors of 8 where the
// addresses allow it, sums and maxima over a block, Philox.

#ifndef HAP_RUNTIME_CUDA_KERNELS_CUH
#define HAP_RUNTIME_CUDA_KERNELS_CUH

#include <cmath>
#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <type_traits>

#include "cuda/kernels/cuda_ops.h"
#include "hap/formulas.cuh"

// A tensor's elements; which type they have is known at run time, the same for all threads.
struct view {
    void *p;
    int type;
};

static inline view view_of(const hap_tensor *t)
{
    return t ? view{t->data, (int)t->type} : view{nullptr, HAP_F32};
}

// Vectors of 8 elements are read with 16-byte accesses.
static inline bool aligned(const hap_tensor *t)
{
    return !t || (uintptr_t)t->data % 16 == 0;
}

static inline bool all_aligned(const hap_op_call *c)
{
    bool ok = true;
    for (int i = 0; i < c->n_in; i++)
        ok &= aligned(c->in[i]);
    for (int i = 0; i < c->n_out; i++)
        ok &= aligned(c->out[i]);
    return ok;
}

static inline int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

// Blocks of a loop over n items of `per` a thread that strides over the grid.
static inline unsigned blocks_for(int64_t n, int threads, int per = 1)
{
    int64_t b = ceil_div(n, (int64_t)threads * per);
    return (unsigned)(b < 1 ? 1 : b > 132 * 32 ? 132 * 32 : b);
}

static inline const char *launched()
{
    return cuda_said(cudaGetLastError(), "kernel launch");
}

// --- elements ---

__device__ inline float load(view v, int64_t i)
{
    if (v.type == HAP_F32) return ((const float *)v.p)[i];
    if (v.type == HAP_BF16) return __bfloat162float(((const __nv_bfloat16 *)v.p)[i]);
    return __half2float(((const __half *)v.p)[i]);
}

__device__ inline void store(view v, int64_t i, float x)
{
    if (v.type == HAP_F32)
        ((float *)v.p)[i] = x;
    else if (v.type == HAP_BF16)
        ((__nv_bfloat16 *)v.p)[i] = __float2bfloat16_rn(x);
    else
        ((__half *)v.p)[i] = __float2half_rn(x);
}

__device__ inline int64_t load_int(view v, int64_t i)
{
    if (v.type == HAP_I64) return ((const int64_t *)v.p)[i];
    if (v.type == HAP_I32) return ((const int32_t *)v.p)[i];
    return ((const uint8_t *)v.p)[i];
}

__device__ inline void store_int(view v, int64_t i, int64_t x)
{
    if (v.type == HAP_I64)
        ((int64_t *)v.p)[i] = x;
    else if (v.type == HAP_I32)
        ((int32_t *)v.p)[i] = (int32_t)x;
    else
        ((uint8_t *)v.p)[i] = (uint8_t)x;
}

// V elements from i on; V = 8 wants i a multiple of 8.
template <int V> __device__ inline void load_vec(view v, int64_t i, float (&x)[V])
{
    static_assert(V == 1 || V == 8, "");
    if constexpr (V == 1) {
        x[0] = load(v, i);
    } else if (v.type == HAP_F32) {
        const float4 *p = (const float4 *)((const float *)v.p + i);
        float4 a = p[0], b = p[1];
        x[0] = a.x, x[1] = a.y, x[2] = a.z, x[3] = a.w;
        x[4] = b.x, x[5] = b.y, x[6] = b.z, x[7] = b.w;
    } else {
        uint4 u = *(const uint4 *)((const uint16_t *)v.p + i);
        uint32_t w[4] = {u.x, u.y, u.z, u.w};
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (v.type == HAP_BF16) {
                x[2 * k] = __uint_as_float(w[k] << 16);
                x[2 * k + 1] = __uint_as_float(w[k] & 0xFFFF0000u);
            } else {
                float2 f = __half22float2(*(const __half2 *)&w[k]);
                x[2 * k] = f.x, x[2 * k + 1] = f.y;
            }
        }
    }
}

// A vector of 8 as it lies in memory: kernels that read several first fetch them all, and so wait
// for memory once, then unpack them.
struct raw_vec {
    uint4 lo, hi; // hi: of f32
};

__device__ inline void fetch_vec(view v, int64_t i, raw_vec *r)
{
    bool wide = v.type == HAP_F32;
    const uint4 *p = (const uint4 *)((const char *)v.p + i * (wide ? 4 : 2));
    r->lo = p[0];
    if (wide) r->hi = p[1];
}

__device__ inline void unpack_vec(int type, const raw_vec &r, float (&x)[8])
{
    const uint32_t w[8] = {r.lo.x, r.lo.y, r.lo.z, r.lo.w, r.hi.x, r.hi.y, r.hi.z, r.hi.w};
    if (type == HAP_F32) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            x[k] = __uint_as_float(w[k]);
        return;
    }
#pragma unroll
    for (int k = 0; k < 4; k++) {
        if (type == HAP_BF16) {
            x[2 * k] = __uint_as_float(w[k] << 16);
            x[2 * k + 1] = __uint_as_float(w[k] & 0xFFFF0000u);
        } else {
            float2 f = __half22float2(*(const __half2 *)&w[k]);
            x[2 * k] = f.x, x[2 * k + 1] = f.y;
        }
    }
}

// The same of a type that the kernel knows; NONE: nothing.
enum { NONE = -1 };
template <int TYPE> struct typed_vec {
    static constexpr int WORDS = TYPE == HAP_F32 ? 2 : TYPE == NONE ? 0 : 1;
    uint4 w[WORDS ? WORDS : 1];
    __device__ void fetch(const void *p, int64_t i)
    {
        const uint4 *from = (const uint4 *)((const char *)p + i * (TYPE == HAP_F32 ? 4 : 2));
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            w[k] = from[k];
    }
    __device__ void fetch_last(const void *p, int64_t i) // nobody reads it soon after
    {
        const uint4 *from = (const uint4 *)((const char *)p + i * (TYPE == HAP_F32 ? 4 : 2));
#pragma unroll
        for (int k = 0; k < WORDS; k++)
            w[k] = __ldcs(from + k);
    }
    __device__ void unpack(float (&x)[8]) const
    {
        raw_vec r;
        r.lo = w[0], r.hi = w[WORDS - 1];
        unpack_vec(TYPE, r, x);
    }
    __device__ void pack(const float (&x)[8]) // of f32
    {
        static_assert(TYPE == HAP_F32, "");
        for (int k = 0; k < 2; k++)
            w[k] = make_uint4(__float_as_uint(x[4 * k]), __float_as_uint(x[4 * k + 1]),
                              __float_as_uint(x[4 * k + 2]), __float_as_uint(x[4 * k + 3]));
    }
};

template <int V> __device__ inline void store_vec(view v, int64_t i, const float (&x)[V])
{
    if constexpr (V == 1) {
        store(v, i, x[0]);
    } else if (v.type == HAP_F32) {
        float4 *p = (float4 *)((float *)v.p + i);
        p[0] = make_float4(x[0], x[1], x[2], x[3]);
        p[1] = make_float4(x[4], x[5], x[6], x[7]);
    } else {
        uint32_t w[4];
#pragma unroll
        for (int k = 0; k < 4; k++) {
            if (v.type == HAP_BF16) {
                __nv_bfloat162 h = __floats2bfloat162_rn(x[2 * k], x[2 * k + 1]);
                w[k] = *(uint32_t *)&h;
            } else {
                __half2 h = __floats2half2_rn(x[2 * k], x[2 * k + 1]);
                w[k] = *(uint32_t *)&h;
            }
        }
        *(uint4 *)((uint16_t *)v.p + i) = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

template <int V> using width = std::integral_constant<int, V>;

// body(width<V>, i) for all i < n, by all threads of the grid: vectors of 8, then what is left.
template <class Body> __device__ inline void for_all(int64_t n, bool vec, Body body)
{
    int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
            step = (int64_t)gridDim.x * blockDim.x;
    int64_t n8 = vec ? n / 8 : 0;
    for (int64_t i = t; i < n8; i += step)
        body(width<8>(), i * 8);
    for (int64_t i = n8 * 8 + t; i < n; i += step)
        body(width<1>(), i);
}

// The same from the end on: what the kernel before, which went upwards, wrote last is in the cache.
template <class Body> __device__ inline void for_all_back(int64_t n, bool vec, Body body)
{
    int64_t n8 = vec ? n / 8 : 0;
    for_all(n, vec, [&](auto w, int64_t i) {
        constexpr int V = decltype(w)::value;
        body(w, V == 8 ? (n8 - 1) * 8 - i : n8 * 8 + n - 1 - i);
    });
}

// body(width<V>, i, j) for entries j of a row that starts at element `base`, by threads t of T; i =
// base + j. Vectors start at multiples of 8 of i, wherever the row starts.
template <class Body>
__device__ inline void for_row(int64_t base, int64_t cols, bool vec, int t, int T, Body body)
{
    int64_t head = vec ? (8 - base % 8) % 8 : cols;
    if (head > cols) head = cols;
    int64_t n8 = (cols - head) / 8, tail = head + n8 * 8;
    for (int64_t j = t; j < head; j += T)
        body(width<1>(), base + j, j);
    for (int64_t k = t; k < n8; k += T)
        body(width<8>(), base + head + k * 8, head + k * 8);
    for (int64_t j = tail + t; j < cols; j += T)
        body(width<1>(), base + j, j);
}

// --- over the threads of a block (blockDim.x a multiple of 32) ---

struct join_sum {
    template <class T> __device__ static T zero() { return T(0); }
    template <class T> __device__ static T join(T a, T b) { return a + b; }
};
struct join_max {
    // A NaN does not count, so that all threads agree.
    template <class T> __device__ static T zero() { return -INFINITY; }
    template <class T> __device__ static T join(T a, T b) { return fmax(a, b); }
};

template <class Op, class T> __device__ inline T over_warp(T v)
{
    for (int k = 16; k > 0; k >>= 1)
        v = Op::join(v, __shfl_xor_sync(0xFFFFFFFFu, v, k));
    return v;
}

// Over threadIdx.x, the same result in every thread and every run. Several rows a block
// (blockDim.y > 1) must be one warp wide.
template <class Op, class T> __device__ inline T over_block(T v)
{
    __shared__ T part[32];
    v = over_warp<Op>(v);
    if (blockDim.x == 32) return v;
    __syncthreads(); // part may still be read by the call before
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
    __syncthreads();
    T r = Op::template zero<T>();
    for (unsigned i = 0; i < blockDim.x / 32; i++)
        r = Op::join(r, part[i]);
    return r;
}

// By one instruction each; off by 2^-22 relative.
using hap_formula::quick_exp2;
using hap_formula::quick_inverse;

// exp(x - max) for the softmax of a row of entries of this type. Of 16 bits: by one instruction,
// off by 2^-22, and by 2^-24 |max|: by the same factor in the whole row, so softmax is not.
__device__ inline float exp_below(int type, float x, float max)
{
    constexpr float log2_e = 1.4426950408889634f;
    return type == HAP_F32 ? expf(x - max) : quick_exp2(__fmaf_rn(x, log2_e, -log2_e * max));
}

// What makes exp_below of 16 bits, and sums of it, those of another maximum: 1 of the same one, and
// off by the factor of `to` where they were off by that of `from`.
__device__ inline float exp_moved(float from, float to)
{
    constexpr float log2_e = 1.4426950408889634f;
    return quick_exp2(__fsub_rn(__fmul_rn(log2_e, from), __fmul_rn(log2_e, to)));
}

// --- random numbers (cpu/ops_kernels.h defines them) ---

__device__ inline uint64_t random_key(const cuda_step *s, int64_t node)
{
    return hap_formula::random_key(s->seed, (uint64_t)s->step, (uint64_t)node);
}

// 0 or 1 / (1 - p) of element e.
__device__ inline float dropout_scale(uint64_t key, int64_t e, float p)
{
    uint4 w = hap_formula::philox((uint64_t)e >> 2, key);
    unsigned lo = e & 1 ? w.y : w.x, hi = e & 1 ? w.w : w.z;
    return hap_formula::dropout_of(e & 2 ? hi : lo, p);
}

// --- places ---

__device__ inline int64_t axis_global(const cuda_axis &a, int64_t l)
{
    return l / a.part * a.block + a.first + l % a.part;
}

// -1 if another rank holds it.
__device__ inline int64_t axis_local(const cuda_axis &a, int64_t g)
{
    int64_t o = g / a.block, in = g % a.block - a.first;
    if (g < 0 || o >= a.outer || in < 0 || in >= a.part) return -1;
    return o * a.part + in;
}

// Kernels that trap follow each other on one stream, and threads of one kernel differ in `value`
// alone: whoever writes last, the record is whole. Host memory takes no atomics on every machine.
__device__ inline void trap(cuda_trap *trap, int op, int line, int64_t value, int64_t limit,
                            int64_t expert = -1)
{
    volatile cuda_trap *t = trap;
    if (t->set) return;
    t->op = op;
    t->line = line;
    t->value = value;
    t->limit = limit;
    t->expert = expert;
    t->set = 1;
}

#endif
