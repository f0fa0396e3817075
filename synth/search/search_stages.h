// The search for stages: which layers on which machines, in how many micro-batches.
//
// For every way to form groups of machines and every number of micro-batches a table of costs is
// made (stage_costs.h) and its quickest pipeline found, exactly (solver/pipeline.h). The quickest
// of these are planned and simulated in full; the simulator decides.

#ifndef HAP_SYNTH_SEARCH_STAGES_H
#define HAP_SYNTH_SEARCH_STAGES_H

#include "synth/search/plan_stages.h"

// Tables of costs and their quickest pipelines, of stages that take less than `worth` seconds
// (INFINITY: any). step, m: of the whole cluster, as syn_plan takes them. Micro-batches and blocks
// that are computed again as the options say, or its choice. All lives in a; errors of the request
// are added to d.
typedef struct syn_stage_search syn_stage_search;
syn_stage_search *syn_stage_tables(hb_arena *a, ir_graph *step, const cost_model *m,
                                   const syn_options *o, double worth, hb_diag *d);
// Seconds that the best stages hardly exceed, by the tables; INFINITY: there are none.
double syn_stage_promise(const syn_stage_search *x);
// The best plan of two stages or more that takes less than `worth` seconds (INFINITY: any), proved;
// INFEASIBLE, with a reason, if there is none.
syn_staged_result syn_best_stages(syn_stage_search *x, double worth);

#endif
