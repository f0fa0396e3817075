// Plans of stages that are given: which layers on which machines.

#ifndef HAP_SYNTH_PLAN_STAGES_SEARCH_H
#define HAP_SYNTH_PLAN_STAGES_SEARCH_H

#include "synth/plan/staged.h"
#include "synth/search/synth.h"

typedef struct syn_stage_wish {
    int first_layer;
    int under_way;        // micro-batches at most; 0: as memory allows
    syn_mesh_choice mesh; // where the options have none
} syn_stage_wish;

typedef struct syn_staged_result {
    syn_status status;
    hb_str why;       // INFEASIBLE: the first stage, and why; FAILED_CHECK: the checker's words
    syn_staged *plan; // OK
} syn_staged_result;

// The cost model of devices of m's cluster (device, rank: as of cl_part). False after errors were
// added to d.
bool syn_stage_model(hb_arena *a, const cost_model *m, const bool *device, int *rank,
                     cost_model *out, hb_diag *d);

// step: as syn_plan takes it. models, rank: by stage, as of syn_stage_model. Micro-batches as the
// options say; 0: the number whose plan is predicted fastest, among powers of two. Blocks that are
// computed again likewise; NULL: those of stages that do not fit otherwise and, with vary_blocks,
// of those that memory shapes and where that gains. Orders of slots: stage_orders.h. The plan is
// proved. Errors of the request are added to d; then the status is SYN_INFEASIBLE.
syn_staged_result syn_plan_stages(hb_arena *a, ir_graph *step, const cl_cluster *cluster, int n,
                                  const syn_stage_wish *wish, const cost_model *models,
                                  int *const *rank, const syn_options *o, hb_diag *d);

// Stages that were planned in tries so far, whichever they are stages of. Lives in a; so must the
// models and pins of these tries.
typedef struct syn_known_stages syn_known_stages;
syn_known_stages *syn_known_stages_new(hb_arena *a);

// One try of these, of a variant of the step; neither named nor proved: syn_finish_stages does
// that, and leaves no plan where the proof fails. among: seconds that it is expected to take, or
// more, where weight gradients are made among the others (0: unknown); of many stages such plans
// are not looked for where it is clearly faster with them apart.
syn_staged_result syn_try_stages(hb_arena *a, const ir_graph *variant, const cl_cluster *cluster,
                                 int n, const syn_stage_wish *wish, const cost_model *models,
                                 int *const *rank, const syn_options *o, double among,
                                 syn_known_stages *known, hb_diag *d);
void syn_finish_stages(hb_arena *a, syn_staged_result *r);

#endif
