// Waits that go ahead of one-sided puts and pairs.

#ifndef HAP_SYNTH_WAIT_EARLY_H
#define HAP_SYNTH_WAIT_EARLY_H

#include "synth/plan/program.h"

// On GPUs: waits of collectives that have ended when a one-sided put or pair begins, or end before
// a break would have, go ahead of it. Pairs keep their members.
void syn_wait_early(syn_program *p);

#endif
