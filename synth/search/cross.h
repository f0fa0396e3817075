// The best plan with parts of other choices, one by one. Of a choice that is slow as a whole one
// part may be what makes the best plan faster; where no edge joins it with the rest of what differs
// (ms_parts) it can be had by itself.

#ifndef HAP_SYNTH_CROSS_H
#define HAP_SYNTH_CROSS_H

#include "synth/search/found_plans.h"

// A choice of a space that need not be there any more: by variable its value's number, and what
// that is (syn_meaning_of).
typedef struct crossed_choice {
    const int *x;
    const uint64_t *is;
} crossed_choice;

// Other choices, and which of them were crossed with the pool's best plan. {.n_crossed = 0}: none.
typedef struct crossing {
    hb_arena *arena;      // of the choices; NULL: there is none
    const syn_mesh *mesh; // what their variables are of
    syn_strategy strategy;
    int n_vars;
    HB_VEC(crossed_choice) choice;
    hb_arena *base_arena;  // of what follows; NULL: they were crossed with no plan yet
    const int *x, *domain; // assignment of the plan that they were crossed with, of so many values
    const uint64_t *is;    // what that means
    const int *kind;       // by variable: equal ones of equal layers
    found_plans parts, joined; // it, with one part each; with several
    int n_crossed;
} crossing;

// One more choice, an assignment of a space's variables. Those on other meshes are forgotten.
void cross_add(crossing *c, const syn_space *s, const int *x);
// Simulates the pool's best plan with parts of these, the cheapest first, and with those together
// that gain by themselves; again with what that found, while it gains.
void pool_cross(pool *p, crossing *c);
void cross_free(crossing *c);

#endif
