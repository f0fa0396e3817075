// The list of a step in parts: captured as CUDA graphs, or, where calls are live (cuda_live.h), run
// call by call.
//
// Between parts the arena has the truth of all tensors (cuda_shadow.h): a replayed part does not
// know what the live ones found. So a step may also run as a list between two that run in parts:
// each part begins, and each step ends, with nothing known but what the arena has.

#ifndef HAP_RUNTIME_CUDA_CAPTURE_H
#define HAP_RUNTIME_CUDA_CAPTURE_H

#include "cuda/step/cuda_program.h"
#include "cuda/step/cuda_spans.h"

typedef struct cuda_part {
    cuda_span span;
    cudaGraphExec_t graph; // of one that is not live and like none before, once it was captured
} cuda_part;

// Runs the list; the first time each part is captured before it is launched, and all ranks call it
// in the same step.
void cuda_run_parts(hap_rank *r);
void cuda_parts_free(cuda_backend *b);

#endif
