// What was chosen in one space, in another one on the same mesh: by what states are, as their
// numbers need not be the same.

#ifndef HAP_SYNTH_OTHER_SPACE_H
#define HAP_SYNTH_OTHER_SPACE_H

#include "synth/space/space.h"

// The number of a tensor's state, of a sharding of a node of space t, in space s; -1: it has none.
int syn_state_in(const syn_space *s, int tensor, const syn_state *x);
int syn_sharding_in(const syn_space *s, int node, const syn_space *t, const syn_sharding *x);
// By variable what its value in an assignment is: a hash that spaces on one mesh share.
void syn_meaning_of(const syn_space *s, const int *x, uint64_t *is);
// Makes an assignment of s that, where s has it; likely[var]: the number that it had elsewhere.
void syn_assign_meaning(const syn_space *s, const uint64_t *is, const int *likely, int *x);

#endif
