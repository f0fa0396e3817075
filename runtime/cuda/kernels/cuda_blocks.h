// Convolutions of few channels whose windows move by s places both ways, as convolutions whose
// windows move by one: a place of the image is then a block of s x s places, with the channels of
// all of them, channels last, zeros around and behind. Tensor cores find enough channels so.

#ifndef HAP_RUNTIME_CUDA_BLOCKS_H
#define HAP_RUNTIME_CUDA_BLOCKS_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// The size of a block; 1: this is no such convolution.
int64_t cuda_blocks_of(const cuda_windows *v);
// The windows of the convolution of blocks, with `channels` (s s v->c, or more) a block.
cuda_windows cuda_blocks_windows(const cuda_windows *v, int64_t channels);

// An image and a weight of 16-bit floats, as declared, in blocks, channels last.
const char *cuda_blocks_image(cuda_context *x, const cuda_windows *v, int64_t channels, void *to,
                              const void *image);
const char *cuda_blocks_weight(cuda_context *x, const cuda_windows *v, int64_t channels, void *to,
                               const void *weight);
// The gradient of the weight, from that of the weight in blocks.
const char *cuda_blocks_gradient(cuda_context *x, const cuda_windows *v, int64_t channels,
                                 hap_dtype type, void *dw, hap_dtype from_type, const void *from);

#ifdef __cplusplus
}
#endif

#endif
