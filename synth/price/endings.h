// Fusions whose kernel never runs, as the matmul before them ends with what they do: a tile kernel
// of sm_90 makes both. Which these are stands in runtime/hap/joins.def (HAP_ENDING); the runtime's
// own look at them is runtime/cuda/fuse/cuda_fuse_gated.c and takes() of kernels/cuda_tiles.cu.
// It may still run the kernel, where it finds that quicker, or no memory for a result that must
// lie apart.
//
//     syn_endings e = syn_endings_of(scratch, p);
//     syn_ending_seconds(p, &e, &p->fusions.p[k], sec); // sec: as kernels

#ifndef HAP_SYNTH_ENDINGS_H
#define HAP_SYNTH_ENDINGS_H

#include "synth/plan/program.h"

// Of a program, found once.
typedef struct syn_endings {
    int *reads;   // by tensor: operands of the step that it is
    bool *paired; // by instruction: of an overlapped pair
} syn_endings;

syn_endings syn_endings_of(hb_arena *a, const syn_program *p);
// Whether a matmul of class c ends with the fusion.
bool syn_ends_matmul(const syn_program *p, const syn_endings *e, const syn_fusion *g, int c);
// Seconds by class of a fusion's kernel become what is left of them beside the matmul's. Whether a
// matmul ends with the fusion on any class.
bool syn_ending_seconds(const syn_program *p, const syn_endings *e, const syn_fusion *g,
                        double *sec);

#endif
