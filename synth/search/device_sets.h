// Sets of fewer devices that a synthesis searches, too.

#ifndef HAP_SYNTH_DEVICE_SETS_H
#define HAP_SYNTH_DEVICE_SETS_H

#include "synth/search/candidates.h"

// Sets of devices, none twice, nor two that differ in nothing but which of equal devices or
// machines they take; nor the set of all. keep[i] is by rank of the cluster.
typedef struct device_sets {
    const pool *p;
    int n, most;                      // most: that are taken
    double step_rate[CL_MAX_CLASSES]; // steps a second on one device of each class of the cluster,
                                      // if it had the memory
    double param_bytes;               // of all parameters: what links are ranked by
    bool *keep[SYN_MAX_SUBSETS];
    uint64_t kind[SYN_MAX_SUBSETS]; // equal where sets differ in nothing else
} device_sets;

// Sets of devices that may do better than all: by several orders, without the classes or machines
// that are worth least; each machine alone and parts of it; equal numbers of each machine, and
// fewer yet.
device_sets pool_device_sets(const pool *p);

// The devices of the machine that would take a step soonest, if its devices sent nothing.
const bool *pool_best_machine(const pool *p);

// Adds the neighbours of the set of a mesh: without one of its devices, of each class in a machine,
// or with one more; without or with all of a class in a machine; without or with a machine. Of many
// such the ones that are worth least go and the ones that are worth most come.
void pool_add_neighbours(device_sets *s, const syn_mesh *of);

// Steps a second on these devices, if they had the memory and sent nothing.
double pool_set_rate(const device_sets *s, const bool *keep);

// Is no plan on these devices worth a look, by what other variants took there? Worth one are those
// that were not seen, and few that did best.
bool pool_set_is_slow(const pool *p, const bool *keep);
// The set on which other variants found the best plan that fits, if it is not of all devices; NULL.
const bool *pool_leading_set(const pool *p);
// best 0: none.
void pool_note_set(const pool *p, const bool *keep, const board *b);

// What no plan on these devices can be below (lower_bound.h).
double pool_least_seconds(pool *p, const bool *keep);

#endif
