// The calls of a measured trace (`hapc run --trace`), as compare reads them.

#ifndef HAP_CLI_MEASURED_CALLS_H
#define HAP_CLI_MEASURED_CALLS_H

#include "cli/cli.h"

typedef struct measured_call {
    hb_str name; // "op_linear:83"
    int rank;
    double ms;
} measured_call;

typedef struct measured_calls {
    HB_VEC(measured_call) list;
    HB_VEC(double) step; // ms of each step that counts, of rank 0; none in a trace without steps
    int n_steps;         // of the trace
    double ms;           // from the first event to the last
} measured_calls;

// The first half of the steps does not count: devices that begin to work run at other clocks.
// `known`: the plan's calls by name, predicted[k] of call k in any unit. The time of calls that ran
// as one (args.joined) is shared out as it is predicted. Events that are no calls of a rank are
// left out. False: it is no trace, said.
bool measured_calls_read(hb_arena *a, const hb_tree *trace, const char *path, hb_map *known,
                         const double *predicted, measured_calls *out);

// The median, 0 of none; sorts them.
double measured_median(double *v, int n);

#endif
