// exp, tanh, erf for loops: branch-free arithmetic that compilers vectorise, relative error a few
// units in the last place of a float. And sums of floats in double with independent lanes.
// haprt-cpu is built with -fno-math-errno -fno-trapping-math: square roots and selects then
// vectorise too (nothing reads errno or the exception flags); values do not change.

#ifndef HAP_RUNTIME_CPU_OPS_MATH_H
#define HAP_RUNTIME_CPU_OPS_MATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

// Loops under CPU_WIDE are compiled for AVX2 too, chosen at load.
// Results are the same: no contraction, no reassociation. (gcc only: clang 14 knows no
// target_clones with inlining of plain functions; sanitizers do not work with ifunc resolvers.)
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&                             \
    !defined(__SANITIZE_ADDRESS__) && defined(__OPTIMIZE__)
#    define CPU_WIDE __attribute__((target_clones("default", "avx2")))
#else
#    define CPU_WIDE
#endif

#define CPU_INLINE static inline __attribute__((always_inline))

CPU_INLINE uint32_t cpu_bits(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

CPU_INLINE float cpu_float(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

// exp x = 2^n exp r, |r| <= ln2 / 2 (Cephes expf's polynomial). 2^n in two factors, so that results
// down to denormals and up to inf come out right.
CPU_INLINE float cpu_expf(float x)
{
    const float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer in the low bits
    x = x > 89.0f ? 89.0f : x;
    x = x < -104.0f ? -104.0f : x;
    float t = x * 1.44269504088896341f + magic, n = t - magic;
    float r = x - n * 0.693359375f;
    r = r - n * -2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * (r * r) + r + 1.0f;
    uint32_t k = cpu_bits(t) - 0x4B400000u; // n as two's complement, in [-151, 129]
    uint32_t half = ((k + 512u) >> 1) - 256u, rest = k - half;
    return p * cpu_float((half + 127u) << 23) * cpu_float((rest + 127u) << 23);
}

CPU_INLINE float cpu_sigmoidf(float x)
{
    return 1.0f / (1.0f + cpu_expf(-x));
}

// Cephes tanhf: odd polynomial near 0, 1 - 2 / (exp(2|x|) + 1) beyond.
CPU_INLINE float cpu_tanhf(float x)
{
    float a = fabsf(x), s = x * x;
    float p = -5.70498872745e-3f;
    p = p * s + 2.06390887954e-2f;
    p = p * s + -5.37397155531e-2f;
    p = p * s + 1.33314422036e-1f;
    p = p * s + -3.33332819422e-1f;
    p = p * s * x + x;
    float far = 1.0f - 2.0f / (cpu_expf(2.0f * a) + 1.0f);
    far = x < 0.0f ? -far : far;
    return a < 0.625f ? p : far;
}

// erf by two polynomials (N. Juffa's erff); the outer is 1 - exp(-q(|x|)).
CPU_INLINE float cpu_erff(float x)
{
    float a = fabsf(x), s = x * x;
    float r = -1.72853470e-5f * a + 3.83197126e-4f;
    float u = -3.88396438e-3f * a + 2.42546219e-2f;
    r = r * s + u;
    r = r * a + -1.06777877e-1f;
    r = r * a + -6.34846687e-1f;
    r = r * a + -1.28717512e-1f;
    r = r * a - a;
    float far = 1.0f - cpu_expf(r);
    far = x < 0.0f ? -far : far;
    float p = -5.96761703e-4f;
    p = p * s + 4.99119423e-3f;
    p = p * s + -2.67681349e-2f;
    p = p * s + 1.12819925e-1f;
    p = p * s + -3.76125336e-1f;
    p = p * s + 1.28379166e-1f;
    p = p * x + x;
    return a > 0.927734375f ? far : p;
}

CPU_INLINE double cpu_lane_sum(const float *x, int64_t n)
{
    double s[8] = {0};
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            s[k] += (double)x[i + k];
    for (; i < n; i++)
        s[0] += (double)x[i];
    return ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
}

#endif
