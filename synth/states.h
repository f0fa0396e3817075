// States and forms: the pieces of a space (states.c, forms.c), inside synth only.

#ifndef HAP_SYNTH_STATES_H
#define HAP_SYNTH_STATES_H

#include "synth/space.h"

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor);
uint64_t syn_tensor_signature(const syn_space *s, int tensor); // equal: equal lists and prices

// Forms of one node; never empty unless the strategy forbids all.
syn_forms *syn_forms_build(hb_arena *a, const syn_space *s, int node);
uint64_t syn_node_signature(const syn_space *s, int node);

#endif
