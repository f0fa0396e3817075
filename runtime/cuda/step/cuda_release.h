// What ends a launch that does not end by itself (cuda_litmus.h): a kernel that was parked on the
// device before it, so that nothing of it stands before the kernel in any queue, and that raises
// all flags of this rank when the host says so, until it says enough.
//
//     cuda_release_park(r, &x);
//     …                                     // launches; where one does not end, at times
//     cuda_release_raise(r, &x, number);    // what graphs of others write meanwhile does not stay
//     cuda_release_rest(&x);                // what shares a queue with the kernel goes on
//     cuda_release_end(r, &x, number);      // when all ranks' launches have ended
//
// From the end on all flags of this rank are `number`, and so many numbers of each mask are taken.
// Raising them on a stream that is made afterwards does not do: that stood behind the waits of what
// it was to release (two H200s, graphs of 64 branches); and branches that stood behind the parked
// kernel went on when it ended, in all graphs of 8 to 256 branches.

#ifndef HAP_RUNTIME_CUDA_RELEASE_H
#define HAP_RUNTIME_CUDA_RELEASE_H

#include "cuda/device/cuda_context.h"
#include "cuda/kernels/cuda_raise.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_release {
    cudaStream_t stream;
    cuda_order *order; // in host memory that the device sees; NULL: this rank has no flags
} cuda_release;

void cuda_release_park(hap_rank *r, cuda_release *x);
void cuda_release_raise(hap_rank *r, const cuda_release *x, uint32_t number);
void cuda_release_rest(const cuda_release *x);
void cuda_release_end(hap_rank *r, cuda_release *x, uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
