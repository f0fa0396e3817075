// The gradient of attention over few positions (cuda_sdpa_short.cu): which heads the kernel takes,
// given that there is neither mask nor dropout, that addresses and strides allow vectors of 16
// bytes, and that queries start at position 0.

#ifndef HAP_RUNTIME_CUDA_SDPA_SHORT_H
#define HAP_RUNTIME_CUDA_SDPA_SHORT_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

bool cuda_short_takes(const cuda_heads *h);
// sums: where the sums of the rows of dq, dk and dv go, f32, [3, heads, width]; may be NULL.
const char *cuda_short_backward(cuda_context *x, const cuda_heads *h, const cuda_head_grads *g,
                                const hap_tensor *sums);

#ifdef __cplusplus
}
#endif

#endif
