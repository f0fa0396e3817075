// What the additive cost of a plan of one space that fits in memory cannot be below
// (docs/theory.md section 3).

#ifndef HAP_SYNTH_BOUNDS_H
#define HAP_SYNTH_BOUNDS_H

#include "synth/search/gap.h"
#include "synth/search/interpolate.h"

typedef struct syn_bound_start {
    const syn_choice *optimum; // without regard to memory
    double takes;              // what it takes of the fullest memory, as simulated; < 0: unknown
    double lower;              // proved of it
    double feasible;           // least additive cost of a plan that fits, +inf if none is known
    const syn_choice *fits;    // NULL, or the choice of a plan that fits, and its share of the
    double share;              // fullest memory
    syn_bound_levels *levels;  // NULL, or to be filled in
    double *worth; // NULL, or by class of the mesh: seconds that as much memory again is worth, at
                   // the prices that proved the bound
} syn_bound_start;
// Choices that it comes by and that may fit are simulated.
double syn_additive_bound(const syn_space *s, const syn_bound_start *start,
                          const syn_bound_calls *calls);

#endif
