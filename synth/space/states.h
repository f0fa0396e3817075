// States of one kind of tensor, and what moving between them costs.

#ifndef HAP_SYNTH_STATES_H
#define HAP_SYNTH_STATES_H

#include "synth/space/space.h"

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor);
// Those of a built space, where no path takes the direct move between two of them.
syn_states *syn_states_without(hb_arena *a, const syn_space *s, int tensor, int from, int to);

#endif
