// A comparison of measured with predicted times, and the page that shows it.

#ifndef HAP_CLI_COMPARE_PAGE_H
#define HAP_CLI_COMPARE_PAGE_H

#include "cli/cli.h"

typedef struct call {
    hb_str name;                // "op_linear:83", or of a kind "op_linear"
    hb_str what;                // a node that it is of
    double predicted, measured; // ms of all steps and ranks, then a step and rank
    int64_t n_predicted, n_measured;
} call;

typedef struct calls {
    hb_map *at;
    HB_VEC(call) list;
} calls;

typedef struct comparison {
    hb_arena *a;
    const hb_tree *plan;
    calls lines, kinds;            // by size of their difference
    double steps, step_ms, all_ms; // measured
    int n_ranks, n_steps;          // of the trace, 0: it does not say
    int64_t unknown;               // events that no call of the plan is
} comparison;

// Into dir/report.html, which keeps a place for it, and says so; or says why not.
void compare_page(const comparison *x, const char *dir, const char *trace);

#endif
