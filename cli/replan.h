// hapc run --on-failure replan: what a job goes on with when it has lost ranks.
//
//     replan *x = replan_new(a, dir, save, &job);         // the job of the plan in dir
//     int code = supervise(a, &job, command, env, &out);  // ended, because a rank died
//     if (replan_next(x, &job, &out, &code)) …            // job.arg goes on from the last
//                                                         // checkpoint, replan_dir(x) is the plan
//
// Hosts are asked whether they answer. All devices of one that does not are left out, else the
// device of the rank that was lost. A plan for what is left is made as the first one was, of the
// same graph, in SAVE/plan; where nothing is left out it is the first one. Both read the same
// checkpoints, and global rows follow each other as ever, so losses are those of a run without
// failures.

#ifndef HAP_CLI_REPLAN_H
#define HAP_CLI_REPLAN_H

#include "cli/launch.h"

typedef struct replan replan;

// dir: the plan folder; save: the folder of --save. Sets job->moves, which says when hosts are
// back. NULL after an error was printed.
replan *replan_new(hb_arena *a, const char *dir, const char *save, run_job *job);
// Whether the run goes on: job->arg is then what it goes on with. *code: of the run so far; where
// it cannot go on, what hapc run exits with.
bool replan_next(replan *x, run_job *job, const run_outcome *out, int *code);
const char *replan_dir(const replan *x);

#endif
