// When collectives start and when they are waited for. Needs priced instructions.

#ifndef HAP_SYNTH_SCHEDULE_H
#define HAP_SYNTH_SCHEDULE_H

#include "synth/plan/program.h"

void syn_sink_waits(syn_program *p); // wait as late as possible
// Start early enough to hide; in the program's order, which holds least, or not. Whether that
// differs.
bool syn_raise_starts(syn_program *p, bool in_order);
// Where memory is short: what belongs behind the micro-batches stands there, not in the last one.
void syn_behind_slot(syn_program *p);
// Where memory is short: what a collective holds is let go once others are under way behind it.
void syn_limit_flight(syn_program *p);

// Instruction i goes before the instruction that was at before[i] (-1: stays); WAITs stand in front
// of STARTs there. Pairs move whole.
void syn_reorder(syn_program *p, const int *before);
void syn_permute(syn_program *p, const int *to); // instruction i goes to place to[i]

#endif
