// What a synthesis searches, and in which order.

#ifndef HAP_SYNTH_EXPLORE_H
#define HAP_SYNTH_EXPLORE_H

#include "synth/search/candidates.h"

// Everything that is worth a search on all meshes: fills best, smallest, baselines.
void pool_explore(pool *p);
// What is done for the best plan alone, where that came up behind the exploration; two others stay
// in memory.
void pool_finish_found(pool *p, const candidate *one, const candidate *two);

#endif
