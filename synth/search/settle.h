// The last passes over a candidate of the pool, and whether it fits in memory.

#ifndef HAP_SYNTH_SETTLE_H
#define HAP_SYNTH_SETTLE_H

#include "synth/passes/passes.h"
#include "synth/search/pool.h"

void pool_run_passes(candidate *c, syn_pass_id first, syn_pass_id last);
void pool_roll(candidate *c);            // finds loops; prices again
void pool_place(candidate *c);           // rolls, places every buffer
void pool_settle(pool *p, candidate *c); // does it fit, by its arena or what others wasted?
// Settles it where only the arena knows and the answer matters.
void pool_settle_if_near(pool *p, candidate *c);
double pool_overflow(const syn_program *prog); // of the fullest class; <= 0 if it fits

#endif
