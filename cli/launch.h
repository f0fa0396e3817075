// Starting and watching the ranks of a program (hapc run).

#ifndef HAP_CLI_LAUNCH_H
#define HAP_CLI_LAUNCH_H

#include "ir/base/arena.h"

typedef struct run_rank {
    hb_str device, host; // host empty: this machine
} run_rank;

typedef struct run_job {
    hb_str binary; // absolute path
    hb_str folder; // absolute path of the plan folder
    int n_ranks;
    run_rank *rank;
    int n_args;
    char **arg;       // options of the program
    hb_str calls;     // of a step by stage, as program.c says (--calls); empty: not known
    double step_sec;  // predicted
    bool on_gpus;     // what the plan is for
    double peak_sec;  // its matmuls at the devices' peak, 0 unknown
    bool cuda;        // the first pass of the step loads libraries and compiles kernels
    hb_str heartbeat; // folder of the heartbeat files (docs/formats.md)
} run_job;

// The command line that starts the ranks, NULL-terminated, and the variables it is given ("A=1").
char **launch_command(hb_arena *a, const run_job *j, char ***env);
hb_str launch_line(hb_arena *a, char *const *argv, char *const *env); // as one would type it

// Runs the command and supervises the ranks until every process is gone. Returns the exit code of
// hapc run. A dead rank is noticed within 5 s, ranks that hang after max(10 s, 20 predicted steps),
// while they start after 60 s; then every process ends, and one message says which rank, host,
// device, step and instruction it was.
int supervise(hb_arena *a, const run_job *j, char *const *argv, char *const *env);

#endif
