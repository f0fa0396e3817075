// What the variants of a step tell each other.

#ifndef HAP_SYNTH_KNOWN_SETS_H
#define HAP_SYNTH_KNOWN_SETS_H

#include <stdint.h>

#include "ir/base/arena.h"

// What the variants of a step (synth/search/variants.c) have found on sets of devices: none of them
// is much quicker than the step with all the memory that it wants.
struct known_set {
    uint64_t key;
    double quickest, best; // seconds, whether it fits or not, and of what fits; HUGE_VAL: none
    double near;           // the least of its plans, longer where they are far from fitting
    double saved;          // least bytes that a variant keeps for its backward pass, of those noted
    const bool *keep;      // ranks of the cluster
    bool done;             // planned as if there were no other devices
};
typedef struct syn_known_sets {
    hb_arena *arena;
    HB_VEC(struct known_set) set;
    double best;       // seconds of the fastest plan without pairs that fits; 0: none
    double leads;      // and of the fastest in all
    double unfixed;    // of the fastest before states were fixed in it; 0: in none
    bool puts_kept[2]; // a search without one-sided puts brought nothing: no, some blocks again
    // What the same variant came to in the other order, before it was finished, without pairs and
    // in all: what comes to the same is not finished again. 0: none
    double same_best, same_leads;
    // Of the first variant, whether it fits or not: on all devices, and on any.
    double first_whole, first_quickest;
} syn_known_sets;

#endif
