// When collectives start and when they are waited for (schedule.c). Needs priced instructions.

#ifndef HAP_SYNTH_SCHEDULE_H
#define HAP_SYNTH_SCHEDULE_H

#include "synth/space/space.h"

// The three steps of a schedule, in this order, on a lowered and priced program.
void syn_sink_waits(syn_program *p);           // wait as late as possible (schedule.c)
void syn_bucket(syn_program *p, syn_costs *c); // join small all-reduces (bucket.c)
void syn_raise_starts(syn_program *p);         // start early enough to hide (schedule.c)
// Where memory is short: what a collective holds is let go once others are under way behind it.
void syn_limit_flight(syn_program *p);
// On GPUs: waits of collectives that have ended when a push or pair begins, or end before a break
// would have, go ahead of it. Pairs keep their members (wait_early.c).
void syn_wait_early(syn_program *p);

// Instruction i goes before the instruction that was at before[i] (-1: stays); WAITs stand in front
// of STARTs there. Pairs move whole.
void syn_reorder(syn_program *p, const int *before);

#endif
