// Choices of one space that searches at other costs found: the cheapest are simulated.

#ifndef HAP_SYNTH_FOUND_PLANS_H
#define HAP_SYNTH_FOUND_PLANS_H

#include "synth/search/candidates.h"

// One of what may be fixed (fixed_states.c) in a state.
typedef struct fixed_one {
    int at, state;
    bool alone; // not all of its kind
} fixed_one;

// What a search found, with one or two of these fixed or with none.
typedef struct found_plan {
    fixed_one of[2];
    int n;
    int *x; // assignment of the space's variables
    double additive;
    int round; // in which it was searched for
    bool simulated;
    double sec; // then, if it fits; else HUGE_VAL
} found_plan;

typedef struct found_plans {
    hb_arena *arena;
    int round;
    HB_VEC(found_plan) list;
} found_plans;

// A plan with an assignment of n_vars variables, which is copied, unless it was found before.
void found_keep(found_plans *f, int n_vars, found_plan x);
// Simulates those that were not, the cheapest first, and offers them to the pool: they belong to
// the space of `plan`. The one that became the pool's best; NULL: none did.
const found_plan *found_simulate(found_plans *f, pool *p, const candidate *plan);
// Offers a plan that is so much faster that layers may differ for it. With pairs alone it is none
// to go on from: without them all is as if there were no pairs.
void found_offer(pool *p, candidate *c);
// A candidate that the pool keeps takes its program's arena, own, into that of its space, to; else
// own is freed.
void found_settle(pool *p, hb_arena *to, hb_arena *own);
int found_faster(const void *x, const void *y); // for qsort

#endif
