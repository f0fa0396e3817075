// hapc run --on-failure replan and --rebalance: what a job goes on with when it has lost ranks, or
// when some have become slower or faster than planned.
//
//     replan *x = replan_new(a, dir, save, true, true, &job); // the job of the plan in dir
//     replan_begin(x, &job);
//     int code = supervise(a, &job, command, env, &out);  // ended, because a rank died
//     if (replan_next(x, &job, &out, &code)) …            // job.arg goes on from the last
//                                                         // checkpoint, replan_dir(x) is the plan
//
// Hosts are asked whether they answer. All devices of one that does not are left out, else the
// device of the rank that was lost. A plan for what is left is made as the first one was, of the
// same graph, in SAVE/plan; where nothing is left out it is the first one. Both read the same
// checkpoints, and global rows follow each other as ever, so losses are those of a run without
// failures.
//
// Where ranks drift (cli/drift.h) a plan is made for the speeds that they have, while the job goes
// on: SAVE/next. If the steps behind the next checkpoint gain more by it than a start of the ranks
// takes, all ranks agree to end behind that checkpoint, and the job goes on with it as SAVE/plan.

#ifndef HAP_CLI_REPLAN_H
#define HAP_CLI_REPLAN_H

#include "cli/launch.h"

typedef struct replan replan;

// dir: the plan folder; save: the folder of --save. lost: goes on without what is lost; rebalances:
// follows the speed of the ranks. Sets job->moves, which says when hosts are back or a better plan
// is there. NULL after an error was printed.
replan *replan_new(hb_arena *a, const char *dir, const char *save, bool lost, bool rebalances,
                   run_job *job);
// The job is about to start, of the plan in replan_dir(x). CLI_GO, or an exit code after an error
// was printed.
int replan_begin(replan *x, run_job *job);
// Whether the run goes on: job->arg is then what it goes on with. *code: of the run so far; where
// it cannot go on, what hapc run exits with.
bool replan_next(replan *x, run_job *job, const run_outcome *out, int *code);
const char *replan_dir(const replan *x);

#endif
