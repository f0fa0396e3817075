// Sums of what came by one-sided puts.

#ifndef HAP_RUNTIME_CUDA_PUT_ADD_H
#define HAP_RUNTIME_CUDA_PUT_ADD_H

#include "core/runtime_core.h"
#include "cuda/device/cuda_error.h"

#ifdef __cplusplus
extern "C" {
#endif

// y[i] = the sum over members of element i of their slots, `pitch` bytes apart
// (core/coll_geometry.h), in the order of coordinates, 16-bit types in f32. own: this member's
// part, in its slot or elsewhere.
const char *cuda_put_add(cudaStream_t s, hap_dtype type, void *y, const void *slots, int64_t pitch,
                         int n_members, int me, const void *own, int64_t elements);

#ifdef __cplusplus
}
#endif

#endif
