// The formulas of pointwise and row-wise ops on a device, one element at a time in f32. The CUDA
// runtime's own kernels and generated ones (kernels.cuh) share them, so that an op gives the same
// bits in both: every product and sum is written out with its rounding, so that no compiler joins
// them across ops, or otherwise in one kernel than in another. Included by nvcc and by NVRTC: no
// header stands above it.

#ifndef HAP_FORMULAS_CUH
#define HAP_FORMULAS_CUH

namespace hap_formula
{

// --- the words of the formulas of ops.def (runtime/cpu/ops_unary.c has the CPU's), and parts ---

__device__ inline float times(float a, float b)
{
    return __fmul_rn(a, b);
}
__device__ inline float plus(float a, float b)
{
    return __fadd_rn(a, b);
}
__device__ inline float minus(float a, float b)
{
    return __fsub_rn(a, b);
}
__device__ inline float times_plus(float a, float b, float c) // a b + c
{
    return __fmaf_rn(a, b, c);
}

__device__ inline float exp_of(float v)
{
    return expf(v);
}

// tanh by one exponential: absolute error below 2e-7; near 0 the polynomial of Cephes.
__device__ inline float tanh_of(float v)
{
    float a = fabsf(v), s = times(v, v);
    float p = -5.70498872745e-3f;
    p = times_plus(p, s, 2.06390887954e-2f);
    p = times_plus(p, s, -5.37397155531e-2f);
    p = times_plus(p, s, 1.33314422036e-1f);
    p = times_plus(p, s, -3.33332819422e-1f);
    p = times_plus(times(p, s), v, v);
    float far = minus(1.0f, 2.0f / plus(__expf(times(2.0f, a)), 1.0f));
    return a < 0.625f ? p : copysignf(far, v);
}

__device__ inline float quick_exp2(float x)
{
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline float quick_inverse(float x)
{
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
}

__device__ inline float sigmoid_of(float v)
{
    return quick_inverse(plus(1.0f, quick_exp2(times(-1.4426950408889634f, v))));
}

// (1 + tanh u) / 2 = 1 / (1 + exp(-2 u)), u = sqrt(2 / pi) (v + 0.044715 v^3).
__device__ inline float gelu_tanh_gate(float v)
{
    constexpr float k = -2.0f * 1.4426950408889634f * 0.7978845608028654f;
    float inner = times_plus(k * 0.044715f, times(v, v), k);
    return quick_inverse(plus(1.0f, quick_exp2(times(v, inner))));
}

__device__ inline float erf_part(float v)
{
    return plus(1.0f, erff(times(v, 0.70710678118654752f)));
}

__device__ inline float gelu_tanh_slope(float v)
{
    constexpr float k = 2.0f * 0.7978845608028654f;
    float s = gelu_tanh_gate(v), inner = times_plus(k * 3.0f * 0.044715f, times(v, v), k);
    return times(s, times_plus(times(v, minus(1.0f, s)), inner, 1.0f));
}

__device__ inline float gelu_erf_slope(float v)
{
    return times_plus(times(v, 0.3989422804014327f), __expf(times(times(-0.5f, v), v)),
                      times(0.5f, erf_part(v)));
}

__device__ inline float silu_slope(float v)
{
    float s = sigmoid_of(v);
    return times(s, times_plus(v, minus(1.0f, s), 1.0f));
}

// Large, and rarely called: once in a kernel.
__device__ __noinline__ inline float power(float v, float c)
{
    return powf(v, c);
}

// --- pointwise ops: the values that ops.def has, and gelu's two ---

#define HAP_POINT __device__ inline
#include "hap/pointwise.h"

__device__ inline float hap_gelu_erf(float x)
{
    return times(times(0.5f, x), erf_part(x));
}
__device__ inline float hap_gelu_tanh(float x)
{
    return times(x, gelu_tanh_gate(x));
}
__device__ inline float hap_gelu_erf_bwd(float a, float b)
{
    return times(a, gelu_erf_slope(b));
}
__device__ inline float hap_gelu_tanh_bwd(float a, float b)
{
    return times(a, gelu_tanh_slope(b));
}

// --- rows: what an entry adds to a statistic t, softmax, layer norm (cpu/ops_norm.c states it) ---

__device__ inline float m2_add(float t, float v, float mean)
{
    float d = minus(v, mean);
    return times_plus(d, d, t);
}

__device__ inline float exp_term(float v, float max)
{
    return expf(minus(v, max));
}

__device__ inline float expsum_add(float t, float v, float max)
{
    return plus(t, exp_term(v, max));
}

__device__ inline float softmax_of(float v, float max, float k) // k: 1 / sum
{
    return times(exp_term(v, max), k);
}

__device__ inline float softmax_slope(float dy, float y, float dot)
{
    return times(y, minus(dy, dot));
}

__device__ inline float log_softmax_of(float v, float max, float log_sum)
{
    return minus(minus(v, max), log_sum);
}

__device__ inline float log_softmax_slope(float dy, float y, float sum)
{
    return times_plus(-expf(y), sum, dy);
}

__device__ inline float norm_mean(float sum, double n)
{
    return (float)((double)sum / n);
}

__device__ inline float norm_rstd(float m2, double n, double eps)
{
    return (float)(1.0 / ::sqrt((double)m2 / n + eps));
}

__device__ inline float norm_hat(float v, float mean, float rstd)
{
    return times(minus(v, mean), rstd);
}

// u: the output's gradient by the weight; a, b: means of u and of u xhat.
__device__ inline float norm_slope(float u, float v, float mean, float rstd, float a, float b)
{
    return times(rstd, times_plus(-norm_hat(v, mean, rstd), b, minus(u, a)));
}

// --- random numbers (cpu/ops_kernels.h defines them) ---

__device__ inline unsigned long long mix64(unsigned long long z)
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

__device__ inline unsigned long long random_key(unsigned long long seed, unsigned long long step,
                                                unsigned long long node)
{
    return mix64(mix64(mix64(seed) ^ step) ^ node);
}

// The four words of a block.
__device__ __noinline__ inline uint4 philox(unsigned long long block, unsigned long long key)
{
    unsigned c0 = (unsigned)block, c1 = (unsigned)(block >> 32), c2 = 0, c3 = 0;
    unsigned k0 = (unsigned)key, k1 = (unsigned)(key >> 32);
    for (int round = 0; round < 10; round++) {
        unsigned n0 = __umulhi(0xCD9E8D57u, c2) ^ c1 ^ k0, n2 = __umulhi(0xD2511F53u, c0) ^ c3 ^ k1;
        c1 = 0xCD9E8D57u * c2;
        c3 = 0xD2511F53u * c0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    return make_uint4(c0, c1, c2, c3);
}

// 0 or 1 / (1 - p), by 32 random bits.
__device__ inline float dropout_of(unsigned bits, float p)
{
    return (float)(bits >> 8) * 0x1p-24f >= p ? 1.0f / (1.0f - p) : 0.0f;
}

} // namespace hap_formula

#endif
