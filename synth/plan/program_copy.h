// A program to change while another stays as it is.
//
//     syn_program *q = syn_program_copy(a, p);
//     syn_roll(q);       // p has no loops

#ifndef HAP_SYNTH_PROGRAM_COPY_H
#define HAP_SYNTH_PROGRAM_COPY_H

#include "synth/plan/program.h"

// In `a`, with buffers, instructions and pairs of its own; neither fused nor rolled. Lists of
// operands are shared: who changes one copies it first.
syn_program *syn_program_copy(hb_arena *a, const syn_program *p);

#endif
