// Palettes: which cuts each factor class may use.
//
// Classes that play the same part in repeated blocks (same size, letter and uses) share one
// palette group, so that equal layers keep equal tables and the ratio LP has one column set a
// group.

#ifndef HAP_SYNTH_PARTITIONS_H
#define HAP_SYNTH_PARTITIONS_H

#include "costmodel/cost.h"
#include "synth/plan/search_limits.h"
#include "synth/plan/state.h"

typedef struct syn_palette {
    int n_groups;
    int *group_of; // by factor class
    struct syn_palette_group {
        int64_t size, grain;
        bool batch;
        // By axis of the cuts (SYN_BOTH: over both): indices in mesh->cuts. The sums by machine of
        // every cut over both axes are among those of axis 0.
        int n[SYN_MAX_AXES + 1], cut[SYN_MAX_AXES + 1][SYN_MAX_PALETTE];
    } * group;
} syn_palette;

// A ray: relative speed or capacity per class of the mesh.
typedef enum {
    SYN_RAY_EVEN,
    SYN_RAY_COMPUTE,
    SYN_RAY_MEMORY,
    SYN_RAY_BANDWIDTH,
    SYN_N_RAYS
} syn_ray;
const char *syn_ray_name(syn_ray r);
void syn_ray_weights(const cost_model *m, const syn_mesh *mesh, syn_ray ray, double *per_rank);

syn_palette *syn_palette_new(hb_arena *a, const ir_graph *g, const ir_factors *f);
syn_palette *syn_palette_copy(hb_arena *a, const syn_palette *p);
void syn_palette_clear(syn_palette *p);
bool syn_palette_same(const syn_palette *a, const syn_palette *b); // of one mesh and graph
// Adds one cut of an axis to one group (-1: to all), rounded from weights per coordinate; equal
// tables are added once. A factor with so few granules that half of the coordinates or more would
// be left without is not cut there, unless it is the batch.
void syn_palette_add(hb_arena *a, syn_palette *p, syn_mesh *mesh, int group, int axis,
                     const double *weight, hb_str name);
// The cuts of every axis that weights per rank mean.
void syn_palette_add_ranks(hb_arena *a, syn_palette *p, syn_mesh *mesh, int group,
                           const double *per_rank, hb_str name);

#endif
