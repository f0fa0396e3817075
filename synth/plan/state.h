// States: how a tensor lies on the ranks, per mesh axis.
//
//     R            whole on every coordinate
//     S(dim.pos@cut)  one factor of one dim is cut: entry `pos` of the dim's factor list, by a
//     table P(sum|max)   every coordinate holds a partial value; their reduction is the tensor
//
// A cut is a table of entries per coordinate; equal tables of one factor size are one cut. An axis
// that does not exist is R. docs/theory.md section 2.
//
// One factor cut over both axes has one table over all ranks, machine-major, so that a machine's
// devices may share its part unevenly: ax[1].cut is then a cut of axis SYN_BOTH, and ax[0].cut the
// table of its sums by machine. Two different factors of one dim are never cut at once.

#ifndef HAP_SYNTH_STATE_H
#define HAP_SYNTH_STATE_H

#include "ir/factors.h"

enum { SYN_MAX_AXES = 2, SYN_BOTH = SYN_MAX_AXES };

typedef enum { SYN_R, SYN_S, SYN_P } syn_kind;

typedef struct syn_axis_state {
    uint8_t kind;     // syn_kind
    uint8_t dim, pos; // S
    uint8_t reducer;  // P: 's' or 'm'
    int16_t cut;      // S: index into the mesh's cuts
} syn_axis_state;

typedef struct syn_state {
    syn_axis_state ax[SYN_MAX_AXES];
} syn_state;

bool syn_state_eq(const syn_state *a, const syn_state *b);

// One cut: how a factor of `size` entries is divided over the coordinates of one axis, or over all
// ranks (SYN_BOTH).
typedef struct syn_cut {
    int axis; // 0, 1 or SYN_BOTH
    int64_t size;
    int n;          // entries of the table: coordinates of the axis, or ranks
    int64_t *table; // sums to size; zeros are legal
    hb_str name;    // "even", "compute", "memory", "bandwidth", "lp1", ...
    int coarse;     // SYN_BOTH: the cut of axis 0 that holds its sums by machine; else -1
    int64_t grain;  // boundaries are multiples of it; 0: of 1
} syn_cut;

// The ranks a program runs on and the cuts it uses. One axis: {n}. Two: machines x devices, rank =
// coord0 * size[1] + coord1.
typedef struct syn_mesh {
    int n_axes, size[SYN_MAX_AXES], n_ranks;
    int n_classes;
    int *class_of;      // by rank of the mesh
    int *cluster_rank;  // by rank of the mesh: rank in the cluster file (devices may be dropped)
    int *cluster_class; // by class of the mesh: class of the cluster
    // Coordinates that nothing tells apart form a class: a cut gives them equal parts, up to
    // rounding. SYN_BOTH: class_of.
    int n_coord_classes[SYN_MAX_AXES + 1], *coord_class[SYN_MAX_AXES + 1];
    HB_VEC(syn_cut) cuts;
} syn_mesh;

int syn_coord(const syn_mesh *m, int rank, int axis); // SYN_BOTH: the rank itself
int syn_extent(const syn_mesh *m, int axis);          // coordinates of an axis, or ranks
// Is one factor cut over both axes?
bool syn_joint(const syn_mesh *m, const syn_state *s);
// Index of the cut with this table, added if new; SYN_BOTH adds its sums, too.
int syn_cut_intern(hb_arena *a, syn_mesh *m, int axis, int64_t size, const int64_t *table,
                   hb_str name);

// Elements a rank of the mesh holds of a tensor in a state (product of local dims).
int64_t syn_local_elements(const syn_mesh *m, const ir_graph *g, const ir_factors *f, int tensor,
                           const syn_state *s, int rank);
void syn_state_print(hb_buf *out, const syn_mesh *m, const ir_factors *f, int tensor,
                     const syn_state *s);

#endif
