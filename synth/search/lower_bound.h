// What the simulated time of a plan cannot be below: of every plan of the graph on the cluster,
// whatever its mesh, cuts and strategy (docs/theory.md section 3).

#ifndef HAP_SYNTH_LOWER_BOUND_H
#define HAP_SYNTH_LOWER_BOUND_H

#include "costmodel/cost.h"
#include "ir/factors.h"

double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f);

#endif
