// Whether a step is run as one graph with its one-sided puts in it (cuda_whole.h): found by trial.
//
// The step is captured and launched some times, bounded: by 2 s, or 20 times what the same calls
// took one by one. First all ranks launch it at once, then some late, so that of any two each is
// behind the other once: a wait that holds up what another rank waits for does no harm while it is
// over when it is come to. If a launch does not end on some rank, the ranks agree on that and each
// raises all flags of its own past what anyone waits for, until its graph has ended
// (cuda_release.h). In any case all then take one number as that which all masks have come to.
// Where a launch did not end the graph is dropped, and one-sided puts stay live.
//
// Released, and launched more than once, a step computes nothing of use, so a trial belongs before
// the first step that counts. --cuda litmus=off: none is made; =fail: the last rank keeps
// its flags to itself, so that it fails.

#ifndef HAP_RUNTIME_CUDA_LITMUS_H
#define HAP_RUNTIME_CUDA_LITMUS_H

#include "cuda/step/cuda_program.h"

// Called by all ranks when the list has run, with the device idle; tensors hold anything behind it.
void cuda_litmus(hap_rank *r);

#endif
