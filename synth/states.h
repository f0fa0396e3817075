// States of a tensor and the price of moving between them (states.c), inside synth only.

#ifndef HAP_SYNTH_STATES_H
#define HAP_SYNTH_STATES_H

#include "synth/space.h"

syn_states *syn_states_build(hb_arena *a, const syn_space *s, int tensor);
uint64_t syn_tensor_signature(const syn_space *s, int tensor);      // equal: equal lists and prices
int syn_states_find(const syn_states *st, const syn_axis_state *x); // -1 if not in the list

// Seconds a class needs to copy bytes inside its memory.
double syn_local_copy_seconds(const cost_model *m, const syn_mesh *mesh, int cls, double bytes);

// Pieces of the judge, for polish.c: prices one instruction; what list entry i of a collective
// moves.
void syn_price_moves(syn_program *p,
                     const cost_model *m); // all but the ops: syn_lower prices those
void syn_price_one(syn_program *p, const cost_model *m, syn_instr *in);
cost_shards syn_shards(const syn_program *p, const syn_instr *in, int i);
// Largest local bytes of a buffer in every class, from its state and the mesh's cuts.
void syn_measure(const syn_program *p, syn_tensor *t);

// Forms of one node; never empty unless the strategy forbids all.
syn_forms *syn_forms_build(hb_arena *a, const syn_space *s, int node);
uint64_t syn_node_signature(const syn_space *s, int node);

#endif
