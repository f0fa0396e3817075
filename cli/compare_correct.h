// What `hapc compare -o` writes.

#ifndef HAP_CLI_COMPARE_CORRECT_H
#define HAP_CLI_COMPARE_CORRECT_H

#include "cli/cli.h"

// The cluster file of the plan in dir, corrected by a measured trace, which was read from path, to
// out (NAME.yaml) and NAME.curves.json. An exit code.
int compare_correct(hb_arena *a, const char *dir, const hb_tree *plan, const hb_tree *trace,
                    const char *path, const char *out);

#endif
