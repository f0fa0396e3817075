// hapc GRAPH CLUSTER --stages: stages as they are asked for, or as the planner finds them.

#ifndef HAP_CLI_STAGES_COMMAND_H
#define HAP_CLI_STAGES_COMMAND_H

#include "cli/cli.h"
#include "synth/search/plan_stages.h"

// What is to be said and written; strings as of emit_plan.
typedef struct cli_staged {
    const char *text; // of --stages
    const char *out;  // NULL: nothing is written
    bool quiet, json, full, only_read;
    emit_plan about; // command, version, paths, batch, strategy
} cli_staged;

// Plans, proves, writes and reports stages; in: the step without a variant. Returns the exit code.
int cli_plan_stages(hb_arena *a, const cli_inputs *in, const syn_options *o, const cli_staged *x);
// Looks for stages that take less than `worth` seconds, and proves them. CLI_GO: *out has the plan,
// or says why there is none.
int cli_search_stages(hb_arena *a, const cli_inputs *in, const syn_options *o, double worth,
                      syn_staged_result *out);
// The same, of stages that take less than the best plan without them. That is not kept, and it is
// planned in full only where it may be faster.
int cli_stages_alone(hb_arena *a, const cli_inputs *in, const syn_options *o,
                     syn_staged_result *out);
// Writes and reports a plan of stages. Returns the exit code.
int cli_give_stages(hb_arena *a, const cli_inputs *in, const cli_staged *x,
                    const syn_staged_result *r);

#endif
