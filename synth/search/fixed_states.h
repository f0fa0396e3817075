// States fixed by hand: what the best plan keeps parameters in, and how it updates them, is
// changed, one after the other and all that are alike together, and everything else is chosen
// again. The additive model likes each of these plans a little less; the simulator may like one
// more. So what a pin
// (`hapc --pin`) asks for is hardly ever faster than the plan without it.

#ifndef HAP_SYNTH_FIXED_STATES_H
#define HAP_SYNTH_FIXED_STATES_H

#include "synth/search/candidates.h"

// Searches in the best plan's space, for a share of the work that was done before, and simulates
// the cheapest; where one is better, begins there again. A strategy's plan is followed in the space
// of all plans at its cuts. Whether the pool's best changed.
bool pool_fix_states(pool *p);

#endif
