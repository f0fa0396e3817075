// How long the step's own work takes on each rank: what `hapc run --rebalance` goes by.
//
// A rank's own work is what it computes; what it waits for others is not. Every so many steps
// (--pace N) all ranks give the median of theirs to rank 0, which hands them on to hapc, a line on
// stderr for so many of them:
//
//     pace STEP LEFT SECONDS FIRST OWN OWN …
//
// STEP is the last of the N, LEFT how many steps are left behind it, SECONDS the median of the
// steps' times, FIRST the rank of the first OWN, all in seconds.

#ifndef HAP_RUNTIME_PACE_H
#define HAP_RUNTIME_PACE_H

#include "core/rank.h"

// A step has ended that took so many seconds, of which `own` for the rank's own work. All ranks
// together.
void hap_pace_step(hap_rank *r, double own, double seconds);
void hap_pace_end(hap_rank *r);

#endif
