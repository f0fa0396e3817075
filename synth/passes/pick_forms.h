// Pass: which collectives go by one-sided puts, as the simulator finds it. By itself a collective
// is fastest in one form; beside computing, from which the library's take more than puts, it may be
// the other that makes the step faster.

#ifndef HAP_SYNTH_PICK_FORMS_H
#define HAP_SYNTH_PICK_FORMS_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// Collectives that are no part of a pair get their cheapest put in place of the library's cheapest
// form, or the other way, equal ones together, then each by itself, while the step gets faster.
// Scratch and segments follow; what is fused is to be found again. Before loops are found. Whether
// any changed.
bool syn_pick_forms(syn_program *p, const syn_costs *c);

#endif
