// Bounds: what no plan can be below (docs/theory.md section 3).
//
//     syn_additive_bound  of the additive cost of plans of one space that fit in memory
//     syn_lower_bound     of the judge: of every plan of the graph on the cluster, whatever its
//     mesh,
//                         cuts and strategy

#ifndef HAP_SYNTH_BOUNDS_H
#define HAP_SYNTH_BOUNDS_H

#include "synth/space.h"

typedef struct syn_bound_calls {
    void *ctx;
    bool (*stop)(void *ctx); // no more searches?
    // A choice that may fit: its additive cost if it does, else +inf.
    double (*judge)(void *ctx, const syn_choice *c);
} syn_bound_calls;

// First: the optimum without memory, at least `lower`. Feasible: additive cost of a plan that fits.
double syn_additive_bound(hb_arena *a, const syn_space *s, const syn_choice *first, double lower,
                          double feasible, const syn_bound_calls *calls);

// Bytes that a plan of this choice surely holds while node `at` runs, by class of the mesh.
void syn_held_bytes(hb_arena *a, const syn_space *s, const syn_choice *c, int at, double *bytes);

double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f);

#endif
