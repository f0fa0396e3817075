// The gradient of attention, blocks by heads (cuda_sdpa_heads.cu): which heads the kernel
// takes, given that there is neither mask nor dropout, that addresses and strides allow vectors of
// 16 bytes, and that a causal mask hides no query from all keys.

#ifndef HAP_RUNTIME_CUDA_SDPA_HEADS_H
#define HAP_RUNTIME_CUDA_SDPA_HEADS_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

bool cuda_heads_takes(const cuda_context *x, const cuda_heads *h);
const char *cuda_heads_backward(cuda_context *x, const cuda_heads *h, const cuda_head_grads *g);

#ifdef __cplusplus
}
#endif

#endif
