// When collectives start and when they are waited for (schedule.c). Needs priced instructions.

#ifndef HAP_SYNTH_SCHEDULE_H
#define HAP_SYNTH_SCHEDULE_H

#include "synth/program.h"

void syn_schedule(syn_program *p);

#endif
