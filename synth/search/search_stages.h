// The search for stages: which layers on which machines, in how many micro-batches.
//
// For every way to form groups of machines and every number of micro-batches a table of costs is
// made (stage_costs.h) and its quickest pipelines found, exactly (solver/pipeline.h). The quickest
// of these are planned and simulated in full; the simulator decides.

#ifndef HAP_SYNTH_SEARCH_STAGES_H
#define HAP_SYNTH_SEARCH_STAGES_H

#include "synth/search/plan_stages.h"

// Asks for the best plan without stages that takes less than `worth` seconds: its seconds, or
// HUGE_VAL if there is none. ctx: of syn_whole_plan.
typedef double syn_ask_whole(void *ctx, double worth);
typedef struct syn_whole_plan {
    syn_ask_whole *ask;
    void *ctx;
} syn_whole_plan;

// The best plan of two stages or more that takes less than `worth` seconds (INFINITY: any), and
// less than the best one without stages, if that is to be asked for (whole, else NULL): when tables
// say what stages may take, before they are planned in full. Neither named nor proved:
// syn_finish_stages does that. INFEASIBLE, with a reason or none, if there is none. step, m: of the
// whole cluster, as syn_plan takes them. Micro-batches and blocks that are computed again as the
// options say, or its choice. Errors of the request are added to d.
syn_staged_result syn_search_stages(hb_arena *a, ir_graph *step, const cost_model *m,
                                    const syn_options *o, double worth, const syn_whole_plan *whole,
                                    hb_diag *d);

#endif
