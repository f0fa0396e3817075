// A random search: a small graph, an unequal cluster, a mesh, candidate partitions of cuts and
// class weights. The same seed and options give the same search.
//
// One axis: 2 to 4 ranks of one machine. Two axes: 2x2, 2x3 or 3x2 machines x devices, with links
// inside, a network and classes drawn apart from each other. Candidate partitions hold 1 to 2 cuts
// an axis, some of them over both axes; tables are drawn, so that ranks of one class may have
// unequal parts and parts may be empty. Half of the settings pin one or two values to drawn states.

#ifndef HAP_TESTS_SEARCH_SETTING_H
#define HAP_TESTS_SEARCH_SETTING_H

#include "random_graph.h"
#include "synth/plan/mesh.h"
#include "synth/space/space.h"

typedef struct setting {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster cluster;
    cost_model m;
    syn_mesh *mesh;
    syn_costs *costs;
    syn_partitions *partitions;
    syn_options opt;
    double weight[CL_MAX_CLASSES], weight_comm;
} setting;

typedef struct setting_options {
    int n_axes;
    int n_ops, max_nodes;
    bool train;
    bool one_cut; // an axis: smaller spaces
} setting_options;

// False (and nothing to free) if the graph has more nodes than asked for.
bool setting_make(setting *s, uint64_t seed, const setting_options *o);
void setting_free(setting *s);
syn_space *setting_space(setting *s);

#endif
