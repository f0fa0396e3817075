// Views: reshapes in place, which a program declares as another shape of their operand's bytes and
// does not call (views.c).

#ifndef HAP_SYNTH_VIEWS_H
#define HAP_SYNTH_VIEWS_H

#include "synth/plan/program.h"

// By instr: is it a view? After syn_arena.
bool *syn_views(hb_arena *a, const syn_program *p);

#endif
