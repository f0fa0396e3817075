// What a synthesis searches, and in which order.

#ifndef HAP_SYNTH_EXPLORE_H
#define HAP_SYNTH_EXPLORE_H

#include "synth/search/candidates.h"

// Everything that is worth a search on all meshes: fills best, smallest, baselines.
void pool_explore(pool *p);

#endif
