// The kernel that raises flags when the host says so (step/cuda_release.h).

#ifndef HAP_RUNTIME_CUDA_RAISE_H
#define HAP_RUNTIME_CUDA_RAISE_H

#include "cuda/device/cuda_error.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_order {
    volatile uint32_t go, stop, number;
} cuda_order;

// n flags, `apart` bytes apart, at least once.
const char *cuda_raise_flags(cudaStream_t s, void *flags, int n, int64_t apart,
                             const cuda_order *o);

#ifdef __cplusplus
}
#endif

#endif
