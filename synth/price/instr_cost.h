// Seconds of instructions: ops as they are cut, copies, and collectives in their forms.

#ifndef HAP_SYNTH_INSTR_COST_H
#define HAP_SYNTH_INSTR_COST_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// How an OP instruction is cut.
syn_node_cut syn_cut_of_op(const syn_program *p, const syn_instr *in);
void syn_price_one(syn_program *p, syn_costs *c, syn_instr *in);
void syn_price(syn_program *p, syn_costs *c);
// All but the ops, which syn_lower prices.
void syn_price_moves(syn_program *p, syn_costs *c);

#endif
