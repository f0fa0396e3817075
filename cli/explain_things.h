// What `hapc explain` says of names that are no tensor and no op: devices, machines, ranks, cuts
// and lines of program.c.

#ifndef HAP_CLI_EXPLAIN_THINGS_H
#define HAP_CLI_EXPLAIN_THINGS_H

#include "ir/base/tree.h"

// Prints what the plan says of it, or appends it to json if that is given; false, and nothing, if
// it is none of these.
bool explain_device(hb_arena *a, const hb_tree *plan, hb_str name,
                    hb_buf *json); // a model, machine, or "rank 3"
bool explain_stage(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json); // "stage 1"
bool explain_cut(hb_arena *a, const hb_tree *plan, hb_str name, hb_buf *json);   // "heads"
// Line of "program.c:83"; -1: it is no such name.
int64_t explain_line(hb_str name);
void explain_names(const hb_tree *plan, const char **names, int *n); // for hints: appends to names

#endif
