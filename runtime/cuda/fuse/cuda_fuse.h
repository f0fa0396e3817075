// What a recorded step need not do as it was called.

#ifndef HAP_RUNTIME_CUDA_FUSE_H
#define HAP_RUNTIME_CUDA_FUSE_H

#include "cuda/fuse/cuda_record.h"

// Takes casts and the moves around attention out of the list where their reader can read, or their
// writer write, what they would make; then joins chains (cuda_passes.h). Returns how many calls are
// left out or joined.
int cuda_fuse(hap_rank *r, cuda_record *c);

#endif
