// Bounds: what no plan can be below (docs/theory.md section 3).
//
//     syn_additive_bound  of the additive cost of plans of one space that fit in memory
//     syn_lower_bound     of the judge: of every plan of the graph on the cluster, whatever its
//                         mesh, cuts and strategy

#ifndef HAP_SYNTH_BOUNDS_H
#define HAP_SYNTH_BOUNDS_H

#include "synth/space/space.h"

typedef struct syn_bound_calls {
    void *ctx;
    bool (*stop)(void *ctx); // no more searches?
    // A choice that may fit: its additive cost if it does, else +inf. share: what it takes of the
    // fullest memory.
    double (*judge)(void *ctx, const syn_choice *c, double *share);
} syn_bound_calls;

typedef struct syn_bound_start {
    const syn_choice *optimum; // without regard to memory
    double lower;              // proved of it
    double feasible;           // least additive cost of a plan that fits, +inf if none is known
    const syn_choice *fits;    // NULL, or the choice of a plan that fits, and its share of the
    double share;              // fullest memory
    double *worth; // NULL, or by class of the mesh: seconds that as much memory again is worth, at
                   // the prices that proved the bound
} syn_bound_start;
// Choices that it comes by and that may fit are judged.
double syn_additive_bound(const syn_space *s, const syn_bound_start *start,
                          const syn_bound_calls *calls);

double syn_lower_bound(const cost_model *m, const ir_graph *g, const ir_factors *f);

#endif
