// File descriptors from rank to rank of a host.

#ifndef HAP_RUNTIME_CUDA_DESCRIPTORS_H
#define HAP_RUNTIME_CUDA_DESCRIPTORS_H

#include "core/rank.h"

// Gives `mine` to every member of the stage with want[member] and takes theirs to got[member], -1
// where none came in time. Called by all of them.
void cuda_descriptors_swap(hap_rank *r, int mine, const bool *want, int *got);

#endif
