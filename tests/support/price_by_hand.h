// What a program costs, worked out rank by rank and group by group from the buffers' states and the
// formulas of costmodel alone: nothing of synth's prices (costs.c, moves.c, simulate_plan.c) is
// used.

#ifndef HAP_TESTS_PRICE_BY_HAND_H
#define HAP_TESTS_PRICE_BY_HAND_H

#include "synth/plan/program.h"

// Sum over instructions of the class-weighted seconds (w by class of the mesh) and w_comm times the
// slowest group's communication.
double hand_additive(const syn_program *p, const cost_model *m, const double *w, double w_comm);
// A collective of one tensor in a given form, +inf where the form does not apply.
double hand_collective(const syn_program *p, const cost_model *m, const syn_instr *in,
                       cost_form form);
// Seconds of a collective in the form that is cheapest for its slowest group.
double hand_cheapest(const syn_program *p, const cost_model *m, const syn_instr *in);

#endif
