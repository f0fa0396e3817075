// What a synthesis searches, and in which order.

#ifndef HAP_SYNTH_EXPLORE_H
#define HAP_SYNTH_EXPLORE_H

#include "synth/search/candidates.h"

// Everything that is worth a search on all meshes: fills best, smallest, baselines (explore.c).
void pool_explore(pool *p);
// The baseline of one strategy, whatever its time.
void pool_baseline(pool *p, syn_strategy s);
// The baselines on the devices of the leader alone, where it leaves some out, and the best single
// device: fills others. Each is a plan as well, and may lead.
void pool_others(pool *p);
// If the best plan is a baseline, its forms at the LP's cuts instead of a starting ratio's, where
// that is faster.
void pool_refine_baseline(pool *p);

#endif
