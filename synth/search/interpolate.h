// Plans between two choices of one space: a part of the layers as in the one, the rest as in the
// other.
//
// Under one price on memory equal layers choose alike, and all change at once. The bound's planes
// end in a cheap choice that does not fit and a dear one that does; a plan on the line between them
// has the first in a run of the depth of the graph and the second in the rest. All runs
// that grow from one end of the graph (from anywhere in a shallow one) are priced; at the chosen
// one a search over the states of the two choices, with a low price on memory inside and a high one
// outside, may find something better.

#ifndef HAP_SYNTH_INTERPOLATE_H
#define HAP_SYNTH_INTERPOLATE_H

#include "synth/search/live_bound.h"

// What plans met on the way are given to (bounds.h).
typedef struct syn_bound_calls {
    void *ctx;
    bool (*stop)(void *ctx); // no more searches?
    // A choice that may fit: its additive cost if it does, else +inf. share: what it takes of the
    // fullest memory.
    double (*simulate)(void *ctx, const syn_choice *c, double *share);
} syn_bound_calls;

// Where memory is paid for: at one node, or as much at each of several equal ones.
typedef struct syn_place {
    int cls, n;
    const int *node;        // ascending
    double capacity, price; // bytes; seconds per byte
} syn_place;
// Of its nodes the share with from < node < to.
double syn_place_part(const syn_place *x, int from, int to);

typedef struct syn_plane { // an assignment
    const int *x;
    double additive;
    const double *held; // [class][node]
    double share;       // of the fullest memory, as simulated; < 0: was not
    bool fits;          // as simulated
} syn_plane;

void syn_simulate_plane(const syn_space *s, syn_plane *p, const syn_bound_calls *calls,
                        double *feasible);
// Simulates interpolated plans of the planes that promise less than `feasible`. Did one fit?
bool syn_interpolate(const syn_live_bound *h, int n_planes, const syn_plane *plane, int n_places,
                     const syn_place *place, const syn_bound_calls *calls, double feasible);

// How deep in the graph each variable lies: by how many parameters the forward pass has read on the
// way there; a backward node lies with the node it differentiates, an update with its parameter.
int *syn_depths(hb_arena *a, const syn_space *s);

#endif
