// Overlapped pairs on the device.

#ifndef HAP_RUNTIME_CUDA_PAIR_H
#define HAP_RUNTIME_CUDA_PAIR_H

#include "core/rank.h"
#include "cuda/device/cuda_error.h"

// Whether the pair is more than its calls one by one, and it. alone: no other collective is under
// way, on all ranks alike. A consumer is done when the compute stream is; the collective of a
// producer when the event is.
bool cuda_pair_overlaps(const hap_rank *r, const hap_pair *p);
void cuda_pair_run(hap_rank *r, const hap_pair *p, bool alone, cudaEvent_t done);
void cuda_pair_start(hap_rank *r);
void cuda_pair_end(hap_rank *r);

#endif
