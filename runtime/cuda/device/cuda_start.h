// The start and the end of a context, and what a step tells it.

#ifndef HAP_RUNTIME_CUDA_START_H
#define HAP_RUNTIME_CUDA_START_H

#include "cuda/device/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

// NULL, or why not. The device must be current. sms: as in hap_places.
const char *cuda_context_start(cuda_context *x, int sms);
void cuda_context_end(cuda_context *x);
const char *cuda_context_set(cuda_context *x, const hap_step_state *s); // on the stream
// NULL, or what a trap says. Call after the stream has been waited for.
const char *cuda_trapped(const cuda_context *x);

#ifdef __cplusplus
}
#endif

#endif
