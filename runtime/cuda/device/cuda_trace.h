// With --trace: when calls run on the device, by events of its streams before and behind each. No
// call is waited for, so that what runs side by side is seen side by side. The events of a step
// become spans behind it, when the device is idle (hap_backend_trace).

#ifndef HAP_RUNTIME_CUDA_TRACE_H
#define HAP_RUNTIME_CUDA_TRACE_H

#include "core/trace.h"
#include "cuda/device/cuda_backend.h"

void cuda_trace_begin(hap_rank *r); // of a step: the time that events are told from

// A span begins on stream s: its number, -1 without --trace. It is of `name` and `line`, which must
// live as long as the program.
int cuda_trace_open(hap_rank *r, cudaStream_t s, int lane, const char *name, int line);
void cuda_trace_close(hap_rank *r, int span, cudaStream_t s);
// The open span is of this call as well.
void cuda_trace_joined(hap_rank *r, int span, const char *name, int line);
// A call that takes no time of its own: another does it.
void cuda_trace_nothing(hap_rank *r, const char *name, int line);

void cuda_trace_free(struct cuda_trace *t);

#endif
