// Loops: runs of the instruction list that repeat.

#ifndef HAP_SYNTH_ROLL_H
#define HAP_SYNTH_ROLL_H

#include "synth/plan/program.h"

// Finds repetitions and families, and fusions (fuse.h) as the loops allow.
void syn_roll(syn_program *p);

#endif
