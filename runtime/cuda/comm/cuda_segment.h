// SEG_SYM of the ranks of a host, mapped by one another.
//
// Where a rank has peers, its SEG_SYM is one allocation of the driver's virtual memory interface.
// Its descriptor goes to every peer over a Unix socket, and every peer maps it: a peer's tensor
// lies at the same offset of `at[peer]` as this rank's of `at[me]`. Flags (cuda_put.c) lie behind
// the tensors. Peers are ranks of one host (hap_places may emulate several), whose devices reach
// each other's memory, both ways. A rank without any, or --cuda peers=off, has plain
// memory; so has a program whose SEG_SYM is empty.

#ifndef HAP_RUNTIME_CUDA_SEGMENT_H
#define HAP_RUNTIME_CUDA_SEGMENT_H

#include "cuda/device/cuda_context.h"

typedef struct cuda_segment {
    char **at;      // by member of the stage; NULL: not mapped, or there are no peers at all
    bool *peer;     // [n_members * n_members]: the two have each other's memory mapped
    int64_t bytes;  // of tensors, and where the flags begin
    int64_t mapped; // bytes of each mapping
} cuda_segment;

// Called by all ranks of a stage with the same bytes and flag_bytes; zeroed. NULL: this rank has no
// peers, its memory is still to be had.
char *cuda_segment_start(hap_rank *r, cuda_segment *g, int64_t bytes, int64_t flag_bytes);
// The others' mappings keep the memory.
void cuda_segment_end(hap_rank *r, cuda_segment *g);

#endif
