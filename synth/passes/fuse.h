// Finds fused fusions: runs of instructions that one generated kernel does on a GPU. What a fusion
// is made of: plan/fusion_parts.h.

#ifndef HAP_SYNTH_FUSE_H
#define HAP_SYNTH_FUSE_H

#include "synth/plan/program.h"

// Finds the fusions of a scheduled program, of a rolled one as its loops allow, and brings members
// together. None where no class is a GPU.
void syn_fuse(syn_program *p);
// Numbers the kernels of n programs (a plan's, or its stages'): equal fusions share one.
void syn_name_kernels(syn_program *const *p, int n);

#endif
