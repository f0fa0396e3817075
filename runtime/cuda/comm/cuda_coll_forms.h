// Collectives of the forms that NCCL carries out.

#ifndef HAP_RUNTIME_CUDA_COLL_FORMS_H
#define HAP_RUNTIME_CUDA_COLL_FORMS_H

#include "core/rank.h"
#include "cuda/device/cuda_error.h"

void cuda_coll_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s);

#endif
