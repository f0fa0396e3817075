// States fixed by hand: what the best plan keeps parameters in, how it updates them, and how other
// ops are cut is changed, one after the other and all that are alike together, and what is near is
// chosen again; what is farther stays as it is. The additive model likes each of these plans a
// little less; the simulator may like one more. So what a pin (`hapc --pin`) asks for is hardly
// ever faster than the plan without it.

#ifndef HAP_SYNTH_FIXED_STATES_H
#define HAP_SYNTH_FIXED_STATES_H

#include "synth/search/candidates.h"

typedef enum {
    FIX_QUICK,    // the states of parameters of one kind alone
    FIX_ALL,      // updates, products and single layers too
    FIX_EVEN_CUTS // in the space with even cuts beside the plan's own
} fix_way;

// Searches in the best plan's space, for a share of the work that was done before, and simulates
// the cheapest; where one is better, begins there again. A strategy's plan is followed in the space
// of all plans at its cuts. Whether the pool's best changed.
bool pool_fix_states(pool *p, fix_way way);

#endif
