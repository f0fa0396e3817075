// Inside of hapc run --on-failure replan and --rebalance (cli/replan.h): a job's devices and plans.

#ifndef HAP_CLI_REPLAN_STATE_H
#define HAP_CLI_REPLAN_STATE_H

#include <time.h>

#include "cli/drift.h"
#include "cli/launch.h"
#include "clusters/cluster.h"

typedef struct replan replan;

typedef struct device {
    hb_str host, name;
    bool gone;
    int lost;                    // times, on a host that answered
    double said, slowdown, next; // by the cluster file; in the plan under way; in SAVE/next
} device;

// A plan for the speeds that devices have: made while the job goes on.
typedef struct ahead {
    hb_str dir;            // SAVE/next
    int question;          // -1: nothing is under way
    bool ready;            // it is there, and worth a move
    struct timespec begun; // when it was asked for
    struct timespec calm;  // when no rank was off last
    double start_sec;      // that the ranks took from their start to the first step
    double *times;         // by rank: how many times slower than the plan under way says
    double noticed_sec, planned_sec;
    char **argv;
    hb_str cluster;
} ahead;

struct replan {
    hb_arena *arena;
    const char *dir, *save; // absolute
    hb_str plan;            // SAVE/plan
    const char *now;        // of the two, the plan under way
    hb_source cluster;
    const cl_cluster *whole; // it, read
    hb_str curves;           // absolute; empty: none
    int n;
    device *device;     // of the cluster
    int *of_plan;       // by rank of the plan's cluster, the device
    int64_t saved;      // step of the last checkpoint, -1
    int64_t save_every; // 0: not given
    bool lost, rebalances;
    drift drift;
    ahead ahead;
    const run_job *job;
    int in_vain;
    char **arg; // of the job as it began
    int n_args;
    struct timespec asked; // when hosts were last asked
    int *question;         // by device; -1: none under way
    bool *back;            // by device: its host answers again
};

// --- replan_hosts.c ---

double replan_since(const struct timespec *t); // seconds
// Marks the devices of hosts that do not answer. Returns how many they are.
int replan_ask_all(replan *x);
hb_str replan_list_of(const replan *x, const bool *mark); // "2 x V100 of node3, T4"
bool replan_any_back(const replan *x);
bool replan_is_back(replan *x); // some host that was lost answers again
void replan_take_back(replan *x);
bool *replan_gone_of(const replan *x, int *left); // by device; how many are not

// --- replan_plan.c ---

char *replan_copy(hb_arena *a, hb_str text);
bool replan_is_in(const char *const *list, const char *text, size_t n); // NULL ends it
// What was asked of the planner, without its files and what it was to print. NULL after an error.
char **replan_asked(hb_arena *a, const char *dir, int *n);
bool replan_as_said(const replan *x); // devices are as fast as the cluster file says
void replan_sweep(const replan *x);   // cluster files that a hapc left that was killed
bool replan_plan_again(replan *x);    // as SAVE/plan; false after an error was printed
void replan_number_devices(replan *x, bool whole);
void replan_hear(void *ctx, const char *line, double start_sec); // run_job's `heard`
bool replan_moves(void *ctx);                                    // run_job's `moves`
// The run has ended: a plan that is being made goes with it, one that is there is taken or left.
// Returns whether it was taken: as SAVE/plan.
bool replan_take_ahead(replan *x, bool as_it_is);

#endif
