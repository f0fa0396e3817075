// A context with the libraries that its kernels use.

#ifndef HAP_RUNTIME_CUDA_COMPUTE_H
#define HAP_RUNTIME_CUDA_COMPUTE_H

#include "cuda/device/cuda_start.h"

#ifdef __cplusplus
extern "C" {
#endif

// As cuda_context_start, whose context it starts: with cuBLASLt, and with cuDNN where it is found.
const char *cuda_compute_start(cuda_context *x, int sms);
void cuda_compute_end(cuda_context *x);

#ifdef __cplusplus
}
#endif

#endif
