// Small collectives of form PUT whose members store what they have for one another by a kernel
// (kernels/cuda_put_store.h), in place of copy engines: the same places, sums and bits. Credits are
// those of any one-sided put; flags are STORED (cuda_put.h). What takes this way, on all members or
// on none: gathers, and sums of bf16 or f32, of few tensors of CUDA_STORES_MOST bytes together,
// whose parts are runs of whole vectors. Of --cuda stores=all.
//
// A rank waits in the kernel, on processors that nothing else needs: it has come after all that its
// compute stream had to do before, credits are given beside it, and each rank's kernel comes once.

#ifndef HAP_RUNTIME_CUDA_PUT_STORES_H
#define HAP_RUNTIME_CUDA_PUT_STORES_H

#include "cuda/comm/cuda_put.h"

#ifdef __cplusplus
extern "C" {
#endif

// On stream s, between open and close; false: not one of those, and nothing is done.
bool cuda_put_stores_run(hap_rank *r, const hap_coll_call *c, cuda_put *put, cudaStream_t s);

#ifdef __cplusplus
}
#endif

#endif
