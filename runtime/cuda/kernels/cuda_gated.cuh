// silu(gate) up and its gradients of pairs of bf16, each value rounded as the op rounds that makes
// it: what one kernel of their own and the endings of matmuls share.

#ifndef HAP_RUNTIME_CUDA_GATED_CUH
#define HAP_RUNTIME_CUDA_GATED_CUH

#include "cuda/kernels/tile_ptx.cuh"
#include "hap/formulas.cuh"

__device__ inline uint32_t silu_pair(uint32_t gate)
{
    return pack_bf16(hap_formula::hap_silu(low_of(gate)), hap_formula::hap_silu(high_of(gate)));
}
__device__ inline uint32_t gated_pair(uint32_t gate, uint32_t up)
{
    return multiply_pairs(silu_pair(gate), up);
}
__device__ inline float2 silu_slopes(uint32_t gate)
{
    return make_float2(hap_formula::silu_slope(low_of(gate)),
                       hap_formula::silu_slope(high_of(gate)));
}
// The gradient of gate, by the slopes at it.
__device__ inline uint32_t gate_gradient(uint32_t dy, uint32_t up, float2 slope)
{
    const uint32_t by_up = multiply_pairs(dy, up);
    return pack_bf16(__fmul_rn(low_of(by_up), slope.x), __fmul_rn(high_of(by_up), slope.y));
}

#endif
