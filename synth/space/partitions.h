// Candidate partitions: which cuts each factor class may use.
//
// Classes that play the same part in repeated blocks (same size, letter and uses) share one
// candidate partitions set, so that equal layers keep equal tables and the ratio LP has one column
// set a set.

#ifndef HAP_SYNTH_PARTITIONS_H
#define HAP_SYNTH_PARTITIONS_H

#include "costmodel/cost.h"
#include "synth/plan/search_limits.h"
#include "synth/plan/state.h"

typedef struct syn_partitions {
    bool level; // the batch is rounded so that the largest part per weight is least
    int n_sets;
    int *set_of; // by factor class
    struct syn_partition_set {
        int64_t size, grain;
        bool batch;
        bool causal;   // queries of an attention under a causal mask
        uint64_t like; // of the places that its classes have, however often: a folded step's set
                       // is the whole's of equal size and `like`
        // By axis of the cuts (SYN_BOTH: over both): indices in mesh->cuts. The sums by machine of
        // every cut over both axes are among those of axis 0.
        int n[SYN_MAX_AXES + 1], cut[SYN_MAX_AXES + 1][SYN_MAX_PARTITIONS];
    } * set;
} syn_partitions;

// A starting ratio: relative speed or capacity per class of the mesh.
typedef enum {
    SYN_STARTING_EVEN,
    SYN_STARTING_COMPUTE,
    SYN_STARTING_MEMORY,
    SYN_STARTING_BANDWIDTH,
    SYN_N_STARTING_RATIOS
} syn_starting_ratio;
const char *syn_starting_ratio_name(syn_starting_ratio r);
void syn_starting_ratio_weights(const cost_model *m, const syn_mesh *mesh,
                                syn_starting_ratio starting, double *per_rank);

syn_partitions *syn_partitions_new(hb_arena *a, const ir_graph *g, const ir_factors *f);
// Where all devices are GPUs, boundaries of long factors lie between rows of 16 bytes, and of very
// long ones between tiles: rows of other lengths are copied, or read slowly (docs/cuda.md).
void syn_partitions_align(syn_partitions *p, const cost_model *m, const syn_mesh *mesh);
syn_partitions *syn_partitions_copy(hb_arena *a, const syn_partitions *p);
void syn_partitions_clear(syn_partitions *p);
uint64_t syn_partitions_key(const syn_partitions *p); // equal where they have the same cuts
bool syn_partitions_same(const syn_partitions *a, const syn_partitions *b); // of one mesh and graph
// Adds one cut of an axis to one set (-1: to all), rounded from weights per coordinate; equal
// tables are added once. A factor with so few granules that half of the coordinates or more would
// be left without is not cut there, unless it is the batch.
void syn_partitions_add(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set, int axis,
                        const double *weight, hb_str name);
// The cuts of every axis that weights per rank mean. Queries under a causal mask get, beside the
// cut by weights, one whose parts cover areas of the mask by weights, where the batch cannot be
// cut.
void syn_partitions_add_ranks(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set,
                              const double *per_rank, hb_str name);

#endif
