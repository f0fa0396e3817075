// MPI as the CPU backend uses it: communicators by axis mask, element types, reductions.

#ifndef HAP_RUNTIME_CPU_MPI_GROUPS_H
#define HAP_RUNTIME_CPU_MPI_GROUPS_H

#include <mpi.h>

#include "core/rank.h"

typedef struct cpu_coll_state cpu_coll_state; // coll_part.h

// r->backend
typedef struct cpu_backend {
    MPI_Comm all;      // the ranks of the stage
    MPI_Comm group[4]; // by axis mask; members in order of coordinate
    // Later phases of two-level all-reduces have communicators of their own, since MPI matches
    // collectives by the order of their start and a later phase starts when an earlier one ends.
    MPI_Comm between, spread;
    MPI_Op sum_bf16, max_bf16, sum_f16, max_f16;
    cpu_coll_state *coll;
    double norm; // of the gradients, by clip_scale; -1
} cpu_backend;

static inline cpu_backend *cpu_of(const hap_rank *r)
{
    return r->backend;
}

MPI_Datatype cpu_mpi_type(hap_dtype t);
MPI_Op cpu_mpi_op(const hap_rank *r, hap_dtype t, hap_reduce reduce);
void cpu_mpi_check(hap_rank *r, int code, const char *call); // MPI's own words on failure
int cpu_mpi_count(hap_rank *r, int64_t n);                   // MPI counts are int

void cpu_mpi_start(hap_rank *r); // communicators and reductions
void cpu_mpi_end(hap_rank *r);

#endif
