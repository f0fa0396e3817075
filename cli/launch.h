// Starting and watching the ranks of a program (hapc run).

#ifndef HAP_CLI_LAUNCH_H
#define HAP_CLI_LAUNCH_H

#include <stdint.h>

#include "ir/base/arena.h"

typedef struct run_rank {
    hb_str device, host; // host empty: this machine
    int of_cluster;      // its number in the plan's cluster, which ranks may be left out of
    double own_sec;      // predicted: of a step, its own work; 0: not known
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
    bool resumed;     // the state is moved from other ranks: how long that took is said
    int64_t pace;     // ranks say how fast they are every so many steps; 0: they do not
    // Given each line in which they do, and the seconds from the start of the ranks to their first
    // step.
    void (*heard)(void *ctx, const char *line, double start_sec);
    // Asked every 100 ms, unless NULL: whether the ranks are to end behind their next checkpoint,
    // to go on elsewhere.
    bool (*moves)(void *ctx);
    void *moves_ctx; // of both
} run_job;

// How a run ended.
typedef struct run_outcome {
    bool lost;                     // a rank died, hangs or could not be started
    int rank;                      // which one; -1: not known
    bool moved;                    // the ranks ended because `moves` said so
    double noticed_sec, ended_sec; // from the last sign of life to the notice; from that until
                                   // every process was gone
} run_outcome;

// The command line that starts the ranks, NULL-terminated, and the variables it is given ("A=1").
char **launch_command(hb_arena *a, const run_job *j, char ***env);
hb_str launch_line(hb_arena *a, char *const *argv, char *const *env); // as one would type it

// The command that ends well if a process can be started on a host, NULL-terminated.
char **launch_probe(hb_arena *a, hb_str host);
bool is_this_machine(hb_str host);

// 'R', 'S', 'T' …: the state of a process in /proc, 0 if there is none; parent: of it, may be NULL.
char process_state(long pid, long *parent);

// Runs the command and supervises the ranks until every process is gone. Returns the exit code of
// hapc run. A dead rank is noticed within 5 s, ranks that hang after max(10 s, 20 predicted steps),
// while they start after 60 s; then every process ends, and one message says which rank, host,
// device, step and instruction it was.
int supervise(hb_arena *a, const run_job *j, char *const *argv, char *const *env, run_outcome *out);

#endif
