// Lanes: the compute stream, and a stream beside it on the same SMs, to which only products of
// dense rows go (cuda_pair.c). Products of a lane have a workspace of their own there; all else
// that rows share (cuda_work, padded copies, what is put off) is lane 0's.

#ifndef HAP_RUNTIME_CUDA_LANES_H
#define HAP_RUNTIME_CUDA_LANES_H

#include "cuda/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_LANES = 2 };

// A stream on the SMs of the compute stream (cuda_green.c).
const char *cuda_lane_stream(const cuda_context *x, cudaStream_t *s);
// Products from here on take the workspace of that lane (cuda_dense.c); made when first taken.
const char *cuda_dense_lane(cuda_context *x, int lane);

#ifdef __cplusplus
}
#endif

#endif
