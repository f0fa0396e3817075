// Searches at other prices on memory.

#ifndef HAP_SYNTH_MEMORY_PRICES_H
#define HAP_SYNTH_MEMORY_PRICES_H

#include "synth/search/candidates.h"

// One search each at prices on memory from low to high, at the cuts of the best plan or, if none
// fits, of the smallest.
void pool_sweep(pool *p);

#endif
