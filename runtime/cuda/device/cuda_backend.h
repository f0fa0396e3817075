// A rank on its device: the context, communicators and streams of each axis mask, rooms of
// transfers. What is known of steps is the step room's (step/cuda_program.h).

#ifndef HAP_RUNTIME_CUDA_BACKEND_H
#define HAP_RUNTIME_CUDA_BACKEND_H

#include <mpi.h>
#include <nccl.h>

#include "core/rank.h"
#include "cuda/device/cuda_context.h"
#include "cuda/device/cuda_limits.h"

typedef struct cuda_backend {
    cuda_context x;
    int device;
    MPI_Comm stage; // the ranks of this rank's stage, by member
    bool warm;      // the first pass of the program's step is over: all plans are found
    // By axis mask. between (over axis 0) and inside (over axis 1) are for the phases of two-level
    // all-reduces, which run on stream[3].
    ncclComm_t group[CUDA_MASKS], between, inside;
    cudaStream_t stream[CUDA_MASKS];
    struct cuda_ports *ports;     // cuda_ports.h; NULL: the program has one stage
    struct cuda_puts *puts;       // cuda_put.c
    char *own_sym;                // SEG_SYM, where no other rank maps it
    cuda_room bounce[CUDA_MASKS]; // of the calls on stream[mask]: cuda_put_forms.c
    void *staging;                // page-locked
    int64_t staging_bytes;
    bool staging_taken;
    cudaStream_t beside, waits; // of pairs: copies and sums; waits for flags
    cudaEvent_t *mark;          // of the pair that is being enqueued
    int n_marks, cap_marks;
    struct cuda_pair_tiles *tiles; // cuda_pair_tiles.c
    bool peers[CUDA_MASKS]; // all groups of the mask are peers (cuda_put_peers): known to all ranks
    struct cuda_trace *trace; // cuda_trace.h; NULL: no step was traced
    struct cuda_steps *steps; // step/cuda_program.h
} cuda_backend;

// Ranks of a host may be more than its devices (--cuda share).
static inline bool cuda_shares(const hap_rank *r)
{
    return r->opt.cuda.share == HAP_CUDA_share_on && r->n_ranks > 1;
}

static inline cuda_backend *cuda_of(const hap_rank *r)
{
    return r->backend;
}

void cuda_check(hap_rank *r, const char *why); // fails unless NULL
void cuda_device_take(hap_rank *r);            // it is current from here on; makes `stage`

#endif
