// The trial of a captured step (cuda/step/cuda_litmus.h) for several ranks in one process, on
// streams without a device: with the runtime's own capture and release, and what its ranks tell
// each other by MPI said here.

#ifndef HAP_TESTS_FAKE_TRIAL_H
#define HAP_TESTS_FAKE_TRIAL_H

#include "cuda/step/cuda_whole.h"
#include "tests/support/fake_ranks.h"

// Of all fake.n ranks, whose streams are idle: captures what `enqueue` gives them and launches it
// once. silent: the last rank's flags are not raised. Whether it ended; else it has been released,
// and the graphs are gone.
bool fake_trial(hap_rank *const *r, cuda_whole *w, void (*enqueue)(int rank), bool silent);

#endif
