// How much longer a plan's step takes where ranks have become slower or faster: from plan.json, so
// that what runs is judged by the model that judges a new plan.

#ifndef HAP_CLI_RETIME_H
#define HAP_CLI_RETIME_H

#include "cli/cli.h"

// The predicted seconds of a step if what each rank computes takes times[rank] as long. Of a class
// the slowest rank counts. Simulated twice, with and without `times`; their ratio counts, since
// overlapped pairs and rounds of micro-batches are taken one after the other. -1: plan.json is
// broken.
double retime(hb_arena *a, const hb_tree *plan, const double *times);

#endif
