// Synthesis: from graph and cluster to the best program found.
//
//     strategies -> starting ratios of cuts -> [search <-> ratio LP]* -> pool -> simulator -> roll,
//     arena -> certificate
//
// See docs/theory.md sections 3-6. A search with nothing feasible says why in numbers.

#ifndef HAP_SYNTH_SYNTH_H
#define HAP_SYNTH_SYNTH_H

#include "synth/plan/program.h"
#include "synth/search/gap.h"
#include "synth/space/synthesis_options.h"

// One other choice for a node's form or a tensor's state, and what it would cost in the additive
// model with everything else re-optimised (one exact search each).
typedef struct syn_alternative {
    hb_str what;
    double delta_sec;
    bool chosen;
} syn_alternative;

typedef enum { SYN_COMPUTE, SYN_MEMORY, SYN_LINK } syn_resource;

typedef enum { SYN_OK, SYN_INFEASIBLE, SYN_FAILED_CHECK } syn_status;

// What the plan is compared with, for the report. Seconds are those of the simulator.
typedef struct syn_others {
    double baseline_sec[SYN_MAX_STRATEGIES]; // on the devices of the plan alone; < 0: none
    hb_str why[SYN_MAX_STRATEGIES]; // of result.baseline_sec < 0: why there is none, a clause
    const int *kept; // whose they are: n_kept ranks of the cluster; NULL: not asked for, all kept
    int n_kept;
    double near_sec[SYN_MAX_STRATEGIES]; // on whichever devices it was fastest; < 0: none
    int near_n[SYN_MAX_STRATEGIES];      // how many these are
    double one_sec;         // of the best device alone; < 0: fits on none, or not asked for
    int one_class;          // its class of the cluster; -1: none
    const double *with_sec; // by rank of the cluster: the fastest plan seen that uses it; 0: none
    const double *without_sec; // by class: that uses none of it
} syn_others;

typedef struct syn_result {
    syn_status status;
    hb_str why; // INFEASIBLE: what does not fit where, in bytes; FAILED_CHECK: the checker's words,
                // of the last plan; none was left that passes
    syn_program *program; // rolled, placed, checked
    // The best plan without pairs and its seconds, also if `program` is another: what a synthesis
    // with no_pairs would return. NULL: none fits
    const syn_program *plain;
    double plain_sec;
    cost_timeline timeline;
    double predicted_sec, additive_sec, additive_bound_sec,
        lower_bound_sec; // bounds: < 0 = not computed
    syn_bound_levels additive_levels;
    double plan_sec;                         // search to certificate
    double baseline_sec[SYN_MAX_STRATEGIES]; // < 0: infeasible or not asked for
    syn_others others;
    struct syn_what_if { // what a tenth more of one resource would bring, of each a line
        syn_resource what;
        int cls;         // class of the cluster: COMPUTE, MEMORY
        int axis;        // LINK
        double gain_sec; // COMPUTE, LINK: this plan simulated again; MEMORY: prices of the additive
                         // bound
    } what_if[2 * CL_MAX_CLASSES + 2];
    int n_what_if;
    // Among few layers: where the search ended without pairs, where the fastest plan with pairs
    // lies, unless it is there, a faster one that nearly fits, and the fastest on other meshes.
    struct syn_end {
        double sec[2]; // of plans without pairs, with them; HUGE_VAL: none
        syn_lead lead; // mesh NULL: there is no such end
    } end, paired_end, near_end, other_end[SYN_OTHER_ENDS];
    const struct syn_space *space; // the search that found the program: for syn_explain
    const struct pool *ended;      // where it was; NULL: the plan was not finished
    double space_value;
    int n_solved, n_states; // searches, and states of the largest
    double work;            // states of all searches
    double effort;          // of the step of --effort that found it, and its draws; 0: one step
    int first_draw;
    bool cut_short; // that was too much (syn_work): not all that may be faster was planned
    double found_sec, found_leads_sec; // what was found before it was finished, as plain_sec and
                                       // predicted_sec; HUGE_VAL: none
    bool tight;                        // memory shaped the plan, or left none
    double quickest_sec;               // of all that were simulated, whether they fit or not
    double least_share;                // of the fullest memory, of the plan that took least
    double least_capacity;             // bytes that the devices of that plan have in all
} syn_result;

syn_result syn_synthesize(hb_arena *a, const ir_graph *g, const ir_factors *f, const cost_model *m,
                          const syn_options *o);

// As syn_synthesize, of the step (with its blocks marked) or of a variant of it (ir/variant.h), as
// the options say or, where memory binds and no pins are given, as the simulator likes best: the
// result's program names its graph and factors.
syn_result syn_plan(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o);

struct ms_warm; // solver/minsum.h

// Alternatives for graph node `id` (is_node) or graph tensor `id`, cheapest first; at most max are
// filled, their number returned. 0 for a tensor that has no choice of its own (one producer, one
// consumer).
int syn_explain(hb_arena *a, const syn_result *r, bool is_node, int id, syn_alternative *out,
                int max);
// What is best where the values of a collective (instruction `start` of the plan) are not moved so,
// everything else chosen again. delta_sec is +inf where no plan does without. False if the search
// that the result holds does not know these states (a plan of another strategy). *warm: NULL first,
// then what the call before with the same a left, which saves two thirds of the time.
bool syn_explain_move(hb_arena *a, const syn_result *r, int start, struct ms_warm **warm,
                      syn_alternative *out);

#endif
