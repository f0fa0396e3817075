// From a choice to the program it means.

#ifndef HAP_SYNTH_LOWER_H
#define HAP_SYNTH_LOWER_H

#include "synth/plan/program.h"
#include "synth/space/space.h"

// The program of a choice: straight-line, every conversion explicit and waited for at once.
syn_program *syn_lower(hb_arena *a, const syn_space *s, const syn_choice *c);
// Additive price of a program's instructions under the space's weights: equals the choice's value.
double syn_additive(const syn_space *s, const syn_program *p);

#endif
