// Repeated layers: a shorter problem whose solution, copied along the layers, is a good start for
// the whole one. Inside solver/ only.
//
// Nothing here has to be right for the answer to be: messages give a valid bound whatever they are,
// and an assignment has the value it has. So a repetition is looked for and not proved.

#ifndef HAP_SOLVER_MS_TILE_H
#define HAP_SOLVER_MS_TILE_H

#include "solver/ms_dual.h"

struct ms_tile {
    int n_vars, n_edges; // of the whole
    ms_problem small;
    int *whole_var;  // by variable of small: itself in the whole
    int *whole_edge; // by edge of small: one of the whole with its table
    int *like_var;   // by variable of the whole: the variable of small that stands for it
    int *like_edge;  // by edge of the whole: the edge of small with the same table, -1 none
    // One layer of small stands for several of the whole, itself among them:
    int times;
    bool *repeated; // by variable of small: is it of that layer
    int *above; // by variable of small: if of that layer, the one of its role in the next; else -1
    bool *global; // by variable of small: is it of no layer
    int *next;    // by edge of small from the layer below to that layer: the like edge from that
                  // layer to the one above; else -1
};

// NULL: nothing is repeated often enough.
ms_tile *ms_tile_find(hb_arena *a, const ms_problem *p);
// The tile of another problem of the same variables and edges; NULL if its costs do not repeat as
// those did that `like` was found in.
ms_tile *ms_tile_again(hb_arena *a, const ms_tile *like, const ms_problem *p);
// Sweeps of a dual of the small problem under which the repeated layer is like every one of the
// layers it stands for: what comes from the layer below is what goes to the layer above. Gives the
// bound that the messages prove for the whole problem, when they are copied to all edges.
double ms_tile_sweeps(const ms_tile *t, ms_dual *d, int n);

#endif
