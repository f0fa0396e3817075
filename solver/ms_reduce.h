// A smaller problem with the same minimum: states no optimum needs are dropped, and variables that
// meet at most two others are eliminated. Inside solver/ only.

#ifndef HAP_SOLVER_MS_REDUCE_H
#define HAP_SOLVER_MS_REDUCE_H

#include "solver/minsum_parts.h"

typedef struct ms_reduced ms_reduced;

// NULL: no assignment is finite. The result lives in a and points into p. left, if not NULL: by
// variable and state, whether the state may be taken.
ms_reduced *ms_reduce(hb_arena *a, const ms_problem *p, const bool *const *left);
// What is left. Equal tables are one pointer; domains and tables hold live states only.
const ms_problem *ms_reduced_problem(const ms_reduced *r);
ms_names ms_reduced_names(const ms_reduced *r);  // of what is left
double ms_reduced_constant(const ms_reduced *r); // to add to the value of an assignment of the rest
// From an assignment of the rest to the assignment of the whole that extends it best.
void ms_reduced_expand(const ms_reduced *r, const int *rest, int *assignment);

#endif
