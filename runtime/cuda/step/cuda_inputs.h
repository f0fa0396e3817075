// Rows of the next step on their way to the device while a step runs (hap_backend_rows).
//
// The host writes an input's rows into page-locked memory of the input's own. Copy engines bring
// them to the device beside the step, on a stream of their own, and the next step begins with a
// copy on the device, which takes a small part of the transfer's time. Where the device has no room
// for that, which the planner does not count, the step begins with the transfer itself.
//
//     host writes ─ transfer ─┐ arrived                 the stream of rows
//     ────────── a step ──────┴ copy to the tensor ─ the next step
//                                └ taken: a transfer may begin
//
// Nothing waits for a step here, and a transfer waits only for what stands before a step. So it
// ends whatever one-sided puts wait for.

#ifndef HAP_RUNTIME_CUDA_INPUTS_H
#define HAP_RUNTIME_CUDA_INPUTS_H

#include "cuda/step/cuda_program.h"

void cuda_inputs_end(cuda_backend *b);

#endif
