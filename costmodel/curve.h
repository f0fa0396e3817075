// A measured curve: seconds by size. Inside of the cost model.
//
// Points lie in families of equal `thin` (flop per byte of dense ops; one family elsewhere), sizes
// ascending in each. At a size between two points, and between two families, log-log; below the
// first size its seconds, above the last in proportion. Below the least `thin` memory binds: time
// in proportion to bytes; above the greatest as there.

#ifndef HAP_COSTMODEL_CURVE_H
#define HAP_COSTMODEL_CURVE_H

#include "costmodel/cost.h"
#include "ir/base/diag.h"
#include "ir/base/tree.h"

typedef struct cost_curve {
    int n_families;
    double *thin;       // ln, ascending
    int *first;         // n_families + 1: of its points
    double *size, *sec; // ln
} cost_curve;

// [[size, seconds]…], or [[thin, size, seconds]…] ordered by thin, then size. False after errors.
bool cost_curve_read(hb_arena *a, const hb_tree *t, const hb_source *src, hb_diag *d,
                     cost_curve *out);
double cost_curve_at(const cost_curve *c, double thin, double size);
// Least seconds per unit of size in any family, up to `size`: what parts take at least.
double cost_curve_rate(const cost_curve *c, double size);

// Of a model's curves; NULL: not measured. A curve of n ranks stands for other numbers of ranks,
// too
// (*measured_n).
const cost_curve *cost_curve_of_op(const cost_model *m, int cls, ir_op op);
const cost_curve *cost_curve_of_copy(const cost_model *m, int cls);
const cost_curve *cost_curve_of_coll(const cost_model *m, cost_coll k, cost_form f, int n,
                                     bool crosses, int *measured_n);

#endif
