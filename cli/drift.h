// Which ranks have become slower or faster than their plan says (hapc run --rebalance).
//
// Ranks say how many seconds of a step are their own work (runtime/core/pace.h): medians of so many
// steps, a window. A rank is off if that, by what the plan predicts for it, is more than DRIFT_OFF
// times as much or as little as for most ranks, in `need` windows after another. So what slows all
// ranks alike is no drift, and neither is noise: a step's in a window, or a window's.
//
//     drift x;
//     drift_begin(&x, a, n_ranks, planned);
//     if (drift_hear(&x, "pace 19 30 0.31 0 0.2 0.1 0.6 0.1")) … drift_of(&x, 2)

#ifndef HAP_CLI_DRIFT_H
#define HAP_CLI_DRIFT_H

#include "ir/base/arena.h"

enum { DRIFT_WINDOWS = 2 }; // of `need` at first
#define DRIFT_OFF 1.25

typedef struct drift {
    int n;                 // ranks
    const double *planned; // by rank: seconds of a step that are its own work; 0: nothing to go by
    int need;              // windows
    int *off;              // by rank: so many windows it is off, > 0 slower, < 0 faster
    double *ln;            // by rank: sum over these of ln how many times
    double *own;           // of the window under way, by rank
    int heard;             // ranks of it
    // Of the last whole window: its last step, steps left behind it, seconds of a step.
    int64_t step, left;
    double step_sec;
    int calm; // whole windows since one in which no rank was off: 0, it was the last
} drift;

// A run begins; `need` stays as it is, DRIFT_WINDOWS if it is 0.
void drift_begin(drift *x, hb_arena *a, int n_ranks, const double *planned);
// Takes a line of the ranks. True where it ends a window and some rank is off long enough. Lines
// that are none of these, or broken, are passed over.
bool drift_hear(drift *x, const char *line);
// How many times slower than planned a rank is, by most ranks; 1: not off long enough. Of ranks
// that are about as slow it is their mean, so that devices of one speed stay one class.
double drift_of(const drift *x, int rank);
// Nothing is known of drifts any more, and the next is to last twice as long.
void drift_rest(drift *x);

#endif
