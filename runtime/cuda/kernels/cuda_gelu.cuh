// gelu by erf of 16-bit values, and its slope: what the kernels of ops and of matmuls share.

#ifndef HAP_RUNTIME_CUDA_GELU_CUH
#define HAP_RUNTIME_CUDA_GELU_CUH

#include "hap/formulas.cuh"

// The normal distribution's integral up to v, and g = exp(-v^2 / 2): 1.5e-7 off (Abramowitz and
// Stegun 7.1.26), for values of 16 bits.
__device__ inline float normal_below(float v, float *g)
{
    float t = hap_formula::quick_inverse(1.0f + 0.3275911f * 0.70710678118654752f * fabsf(v));
    float q = 1.061405429f;
    q = q * t - 1.453152027f;
    q = q * t + 1.421413741f;
    q = q * t - 0.284496736f;
    q = q * t + 0.254829592f;
    *g = hap_formula::quick_exp2(-0.5f * 1.4426950408889634f * (v * v));
    float tail = 0.5f * q * t * *g;
    return v < 0.0f ? tail : 1.0f - tail;
}

__device__ inline float short_gelu(float v)
{
    float g;
    return v * normal_below(v, &g);
}

__device__ inline float short_gelu_slope(float v)
{
    float g, below = normal_below(v, &g);
    return below + v * 0.3989422804014327f * g;
}

#endif
