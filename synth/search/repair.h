// The best mixes of several choices of one space that fit in memory.
//
// Prices on memory find the corners of what cost and bytes can be together; the best plan that fits
// may lie between two of them, and no price finds it. Here every variable may be as in any of the
// choices, and a dynamic program over the variables keeps, for each of its cells, not the least
// cost alone but all pairs of cost and bytes that none beats in both (thinned). What is cheapest
// and seems to fit is simulated, and what that took corrects what its neighbours seem to take.

#ifndef HAP_SYNTH_REPAIR_H
#define HAP_SYNTH_REPAIR_H

#include "synth/search/interpolate.h"

// As syn_interpolate; bytes are weighed by the prices of the places.
bool syn_repair(const syn_live_bound *h, int n_planes, const syn_plane *plane, int n_places,
                const syn_place *place, const syn_bound_calls *calls, double feasible);

#endif
