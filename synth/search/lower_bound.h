// What the simulated time of a plan cannot be below: of every plan of the graph on the cluster,
// whatever its mesh, cuts and strategy (docs/theory.md section 3).

#ifndef HAP_SYNTH_LOWER_BOUND_H
#define HAP_SYNTH_LOWER_BOUND_H

#include "costmodel/cost.h"
#include "ir/factors.h"

// What a node takes at least on one device of a class; launch: besides, where a device does it.
double syn_least_op(const cost_model *m, const ir_graph *g, const ir_factors *f, int node, int cls,
                    double *launch);

// What every op takes at least on one device of each class.
typedef struct syn_least_times syn_least_times;
const syn_least_times *syn_least_times_of(hb_arena *a, const cost_model *m, const ir_graph *g,
                                          const ir_factors *f);
// The bound for some of the cluster's ranks, one or more, a little weaker.
double syn_least_seconds(const syn_least_times *t, const bool *keep);
double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f);

#endif
