// Beyond a finished plan: it is the best of those near it, and others lie behind slower ones.

#ifndef HAP_SYNTH_BEYOND_H
#define HAP_SYNTH_BEYOND_H

#include "synth/search/candidates.h"

// From the pool's best plan, whose states were fixed: at its cuts, searches by other guesses of
// what hides, at lower memory prices and at costs that are drawn; the plan with parts of what they
// find, and states fixed behind that. It takes at most a share of syn_work, which is no part of the
// pool's work: other variants of the step have no less for it.
void pool_look_beyond(pool *p, double share);

#endif
