// What a gated MLP makes of two linears, y = silu(gate) up, and its gradients, as calls one by one:
//
//   silu, mul                       y
//   mul, silu_bwd, silu, mul        dgate = (dy up) silu'(gate), dup = dy silu(gate); in any order
//
// All tensors are bf16 and have the same elements. What passes between the calls is rounded.

#ifndef HAP_RUNTIME_CUDA_GATED_H
#define HAP_RUNTIME_CUDA_GATED_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_GATED_OPS = 4 };

typedef struct cuda_gated {
    const hap_tensor *gate, *up;
    const hap_tensor *dy;          // NULL: forward
    const hap_tensor *y;           // forward
    const hap_tensor *dgate, *dup; // backward
    unsigned passing;              // bit k: what op k makes is none of these results
} cuda_gated;

// Whether these ops, in their order, are such; then *g.
bool cuda_gated_of(const hap_op_call *const *op, int n, cuda_gated *g);
// The results by one kernel, the bits of the calls; what passes is not written. Rows of 8.
bool cuda_gated_takes(const cuda_gated *g);
const char *cuda_gated_run(cuda_context *x, const cuda_gated *g);

#ifdef __cplusplus
}
#endif

#endif
