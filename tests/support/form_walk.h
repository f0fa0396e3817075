// The least cost over all combinations of the forms of a space's nodes, by walking them one node
// after the other: an oracle that shares no step with the search's solver (no elimination, no
// messages that are improved by turns). Once forms are fixed, what a tensor is kept in is its own
// minimum, so combinations of forms stand for all assignments.
//
//     form_walk *w = form_walk_new(a, space);
//     form_walk_all(w, &best);                     every combination
//     form_walk_bounded(w, start, 1000000, &best)  those that a lower bound does not exclude

#ifndef HAP_TESTS_FORM_WALK_H
#define HAP_TESTS_FORM_WALK_H

#include "synth/space/space.h"

typedef struct form_walk form_walk;
form_walk *form_walk_new(hb_arena *a, const syn_space *s);
double form_walk_combinations(const form_walk *w);
void form_walk_all(form_walk *w, double *best);
// Only combinations cheaper than `start`; *best is start if there is none. False after `most`
// nodes of the tree.
bool form_walk_bounded(form_walk *w, double start, long most, double *best);
// What its bound says before any form is fixed, and combinations that the walk completed.
double form_walk_bound(const form_walk *w);
double form_walk_seen(const form_walk *w);

#endif
