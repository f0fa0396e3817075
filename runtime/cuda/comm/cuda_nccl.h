// NCCL: communicators by axis mask, element types, errors.

#ifndef HAP_RUNTIME_CUDA_NCCL_H
#define HAP_RUNTIME_CUDA_NCCL_H

#include "cuda/device/cuda_backend.h"

void cuda_nccl_check(hap_rank *r, ncclResult_t e, const char *call);
void cuda_nccl_start(hap_rank *r);
void cuda_nccl_end(hap_rank *r);
void cuda_nccl_poll(hap_rank *r);                // fails on an error of a communicator
void cuda_nccl_state(hap_rank *r, ncclComm_t c); // the same of this one
int cuda_agree(hap_rank *r,
               int number); // the least of all members' of the stage, which all call this
ncclDataType_t cuda_nccl_type(hap_dtype t);

#endif
