// Plans of choices, simulated: as they are, and in other ways where these may make them the best.

#ifndef HAP_SYNTH_SIMULATED_H
#define HAP_SYNTH_SIMULATED_H

#include "synth/search/candidates.h"

// Lowers and simulates one choice of a space that lies in `arena`.
candidate pool_simulate(pool *p, hb_arena *arena, syn_space *space, const syn_choice *choice);
// A plan's choice once more, into `arena`, and offered to the pool.
void pool_simulate_again(pool *p, hb_arena *arena, const candidate *plan);
// Seconds that a plan's collectives take from the computing that hides them.
double pool_taken(const pool *p, const syn_program *prog);
// Share of the step: a plan that loses less to its transfers has nothing to hide.
double pool_least_waits(const pool *p);
// The best plan with collectives in other forms, by what they take from the computing that hides
// them; and so all that is simulated from now on. Whether one is better.
bool pool_other_forms(pool *p);

#endif
