// What layers cost on groups of machines: the table that stages are searched in.
//
// A few layers of the step (ir/fold.h) are planned as a step of their own on a group, and the
// simulated timeline is cut at their borders: seconds of a layer's forward and backward half of a
// micro-batch, of what is done once a step, bytes that stay and bytes that each micro-batch under
// way adds. Layers between the ends of a run cost what those near its ends do.

#ifndef HAP_SYNTH_STAGE_COSTS_H
#define HAP_SYNTH_STAGE_COSTS_H

#include "solver/pipeline.h"
#include "synth/search/plan_stages.h"

typedef struct syn_layers { // of a step, and the few that stand for them
    hb_arena *arena;
    ir_graph *few;
    int n, n_few;
    int *stands;   // by layer: its few one
    double *share; // by few layer: of all parameters' elements
} syn_layers;

// NULL where the step has fewer than two layers.
syn_layers *syn_layers_new(hb_arena *a, ir_graph *step);

typedef struct syn_chunk { // the few layers with a number of micro-batches
    const syn_layers *layers;
    const ir_graph *graph;
    const ir_factors *f;
    const syn_pins *pins; // of its tensors; NULL: none
    double *border; // by layer of the step: bytes of a micro-batch from the one before, a direction
} syn_chunk;
// Every block computed again, or none. False where the batch has no such number of micro-batches,
// or where stages cannot be cut there (why).
bool syn_chunk_open(hb_arena *a, const syn_layers *l, int64_t micro_batches, bool again,
                    syn_chunk *out, hb_str *why);

// Fills an option's costs for a group of machines of a cluster, by its cost model; take is left
// alone. Bytes are shares of the fullest memory. *mesh: what the plan found has; *tight: memory
// shaped it. False where no plan is found.
bool syn_stage_costs(hb_arena *a, const syn_chunk *c, const cl_cluster *whole,
                     const cost_model *group, const syn_options *o, pl_option *out,
                     syn_mesh_choice *mesh, bool *tight);

// Seconds that a micro-batch takes at least in any layer on a group, all parts of its work cut.
double syn_stage_least(const syn_chunk *c, const cost_model *group);

#endif
