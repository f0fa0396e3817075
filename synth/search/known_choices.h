// What searches chose, by all that decides it. Variants of a step are searched on all devices, on
// sets of them, with memory first and without: what one of these searches asked and another asks
// again need not be solved.
//
//     syn_known_choices *k = syn_known_choices_new(a);    of one step
//     if (!syn_known_choice(k, a, key, space, &choice, &lower)) …solve, then syn_know_choice(…)

#ifndef HAP_SYNTH_KNOWN_CHOICES_H
#define HAP_SYNTH_KNOWN_CHOICES_H

#include "synth/space/space.h"

typedef struct syn_known_choices syn_known_choices;
syn_known_choices *syn_known_choices_new(hb_arena *a);

// A hash of what the space is of: the variant of the step, devices, axes, cuts in play.
uint64_t syn_space_key(const syn_space *s);

// The choice (in a) that was made under this key, and the bound proved of it. It is taken only
// where it costs in this space what it cost then. k may be NULL.
bool syn_known_choice(const syn_known_choices *k, hb_arena *a, uint64_t key, const syn_space *s,
                      syn_choice *out, double *lower);
void syn_know_choice(syn_known_choices *k, uint64_t key, const syn_space *s, const syn_choice *c,
                     double lower);

#endif
