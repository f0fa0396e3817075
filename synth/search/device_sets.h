// Sets of fewer devices that a synthesis searches, too.

#ifndef HAP_SYNTH_DEVICE_SETS_H
#define HAP_SYNTH_DEVICE_SETS_H

#include "synth/search/candidates.h"

typedef struct device_sets {
    int n;
    bool *keep[SYN_MAX_SUBSETS]; // by rank of the cluster; in the pool's arena
} device_sets;

// Sets of devices that may do better than all: by several orders, without the classes or machines
// that are worth least; each machine alone; equal numbers of each machine, and fewer yet.
device_sets pool_device_sets(const pool *p);

// Seconds that the arithmetic of a step takes at least, if the kept devices run as fast as an op
// is ever priced (docs/theory.md section 3). Wants p->best.
double pool_least_seconds(const pool *p, const bool *keep);

#endif
