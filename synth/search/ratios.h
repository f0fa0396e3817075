// Ratios: how much of every cut factor each class should own, by linear programming (ratios.c).

#ifndef HAP_SYNTH_RATIOS_H
#define HAP_SYNTH_RATIOS_H

#include "synth/space/space.h"

typedef struct syn_ratio {
    int set, cut;  // candidate partitions set, and the program's cut it replaces
    int axis;      // of the cut
    double *share; // by coordinate of the axis (SYN_BOTH: by rank), sum to 1
} syn_ratio;

typedef struct syn_ratios {
    int n;
    syn_ratio *v;
    double weight[CL_MAX_CLASSES]; // dual weight of every class, sums to 1
    double objective;              // seconds the LP promises
} syn_ratios;

// One LP over all cut sets of a priced, scheduled program: minimizes the sum over stages of the
// slowest class's time plus exposed communication, under each class's memory. Times are affine
// around the present cut; shares may move by `trust` of their present value. False if the LP has no
// solution. dump: NULL or a path for CPLEX LP text.
bool syn_ratio_lp(hb_arena *a, const syn_program *p, const syn_partitions *pal, syn_costs *m,
                  const cost_timeline *t, double trust, bool memory_first, syn_ratios *out);

#endif
