// States of a tensor and the price of moving between them (states.c), inside synth only.

#ifndef HAP_SYNTH_STATES_H
#define HAP_SYNTH_STATES_H

#include "synth/space.h"

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor);
uint64_t syn_tensor_signature(const syn_space *s, int tensor); // equal: equal lists and prices
int syn_states_find(const syn_states *st, const syn_axis_state *x); // -1 if not in the list

// Seconds a class needs to copy bytes inside its memory.
double syn_local_copy_seconds(const cost_model *m, const syn_mesh *mesh, int cls, double bytes);

// Forms of one node; never empty unless the strategy forbids all.
syn_forms *syn_forms_build(hb_arena *a, const syn_space *s, int node);
uint64_t syn_node_signature(const syn_space *s, int node);

#endif
