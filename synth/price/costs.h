// What things cost on a mesh: seconds of nodes with factors cut, bytes of local parts, and moves of
// tensors between states. The search and the simulator both ask here, so that they agree.

#ifndef HAP_SYNTH_COSTS_H
#define HAP_SYNTH_COSTS_H

#include "costmodel/cost.h"
#include "ir/fold.h"
#include "synth/plan/state.h"

// The local sizes that a pair of cuts leads to: one entry for every class and size that differ. -1
// instead of a cut: none. A cut over both axes (as cut[1]) stands alone; cut[0] is then its sums.
typedef struct syn_size {
    int cls;
    int64_t n[SYN_MAX_AXES];  // entries by axis, 0 where there is no cut
    int64_t lo[SYN_MAX_AXES]; // first entry of one such rank
} syn_size;
typedef struct syn_sizes {
    int n;
    syn_size *v;
    double share[CL_MAX_CLASSES]; // largest product of shares in the class
} syn_sizes;

// Transfers of a tensor may hide for so long, and what hides is counted at a price, a share of what
// it takes; if `takes`, what it takes from the computing that hides it as well.
typedef struct syn_slack {
    const double *sec; // by tensor
    double price;
    bool takes;
    double share; // of the computing that would hide a transfer, that `sec` is; 0: all
} syn_slack;

typedef struct syn_costs {
    hb_arena *arena;
    const cost_model *m;
    const syn_mesh *mesh;
    const ir_graph *g;
    const ir_factors *f;
    cost_memory memory; // of the slowest class
    double passing;     // of a price on memory, what an op reads and makes costs while it runs
    const struct syn_slack *slack;     // of searches in which transfers may hide; else NULL
    bool no_put;                       // memory leaves no room for what one-sided puts write into
    cl_link all;                       // of all ranks
    cl_link *group_link[SYN_MAX_AXES]; // two axes: of every group of an axis
    cl_link slowest[4];                // of the groups over a mask of axes
    // [mask of axes][is a one-sided put]: what a second of a collective that computing hides takes
    // from that computing, on the class that loses most, 0 .. 1
    double taken[4][2];
    // Known parts by pair of cuts (`near`: small cut numbers, else the map), and known moves by
    // kind of tensor (states.c).
    syn_sizes **near;
    hb_map *sizes;
    HB_VEC(syn_sizes *) all_sizes;
    hb_map *moves;
    HB_VEC(struct syn_moves *) all_moves;
    // Known seconds of nodes, by the first node of equal work and its cut. like: that node, by
    // node; NULL: nothing is kept.
    const int *like;
    hb_map *seconds;
    HB_VEC(const double *) all_seconds;
    // Known pairs (overlap_pairs.h), by members.
    hb_map *pairs;
    HB_VEC(struct syn_pair *) all_pairs;
    struct syn_move_prices *prices; // of collectives, of other meshes too; NULL: none are kept
    uint64_t mesh_key;              // of what decides these, of the mesh
    HB_VEC(uint64_t) cut_key;       // by cut; 0: not known
    struct syn_listed *listed; // shardings listed last (space/shardings.h); NULL: none are kept
    const struct syn_kinds **kinds; // by strategy (space_build.c), NULL before the first; may be
                                    // those of other meshes
} syn_costs;

// Of one graph on one mesh. Cuts may be added to the mesh later; tables of known cuts must not
// change unless syn_costs_forget is called.
syn_costs *syn_costs_new(hb_arena *a, const cost_model *m, const syn_mesh *mesh, const ir_graph *g,
                         const ir_factors *f);
void syn_costs_forget(syn_costs *c);

// Do the ranks of a group over a mask of axes stand in several machines?
bool syn_group_crosses(const cl_cluster *cluster, const syn_mesh *m, unsigned axes);
// Does nothing slow down beside a library's collective over a mask of axes?
bool syn_group_quiet(const cl_cluster *cluster, const syn_mesh *m, unsigned axes);

const double *syn_state_shares(syn_costs *c, const syn_state *s); // parts' share
// Largest local bytes of a tensor in every class of the mesh.
void syn_local_bytes(syn_costs *c, int tensor, const syn_state *s, int64_t *bytes);

// How a node is cut: by axis a local factor of its rule and a cut, both -1 where it is not.
typedef struct syn_node_cut {
    int factor[SYN_MAX_AXES], cut[SYN_MAX_AXES];
} syn_node_cut;
// Seconds of a node, and of those it stands for (ir/fold.h), on the slowest rank of every class.
void syn_node_seconds(syn_costs *c, int node, const syn_node_cut *cut, double *sec);

// Seconds a class of the mesh needs to copy bytes inside its memory.
double syn_copy_seconds(const syn_costs *c, int cls, double bytes);

#endif
