// Streams that may use a part of the device alone (hap_places).

#ifndef HAP_RUNTIME_CUDA_GREEN_H
#define HAP_RUNTIME_CUDA_GREEN_H

#include "cuda/device/cuda_context.h"

// A stream whose kernels stay on about `sms` of the current device's SMs (x->sms: on how many), and
// its end.
const char *cuda_green_start(cuda_context *x, int sms);
void cuda_green_end(cuda_context *x);

#endif
