// What `hapc compare --overlay` writes.

#ifndef HAP_CLI_COMPARE_OVERLAY_H
#define HAP_CLI_COMPARE_OVERLAY_H

#include "cli/cli.h"

// The predicted step of the plan in dir and the measured one of median length as one Chrome trace:
// a process a class and a rank, with the same names, lanes and phases. False after a message.
bool compare_overlay(hb_arena *a, const char *dir, const hb_tree *plan, const hb_tree *trace,
                     const char *out);

#endif
