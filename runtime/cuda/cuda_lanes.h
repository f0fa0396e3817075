// Lanes: the compute stream, and streams beside it on the same SMs, to which only products of
// dense rows go (cuda_pair.c). Products of a lane have a workspace of their own there; all else
// that rows share (cuda_work, padded copies, what is put off) is lane 0's.

#ifndef HAP_RUNTIME_CUDA_LANES_H
#define HAP_RUNTIME_CUDA_LANES_H

#include "cuda/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_LANES = 4 };

// A stream on the SMs of the compute stream (cuda_green.c), whose blocks go before those of lower
// lanes.
const char *cuda_lane_stream(const cuda_context *x, int lane, cudaStream_t *s);
// Products from here on take the workspace of that lane (cuda_dense.c); made when first taken.
const char *cuda_dense_lane(cuda_context *x, int lane);

#ifdef __cplusplus
}
#endif

#endif
