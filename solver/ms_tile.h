// Repeated layers: a shorter problem whose solution, copied along the layers, is a good start for
// the whole one. Inside solver/ only.
//
// Nothing here has to be right for the answer to be: messages give a valid bound whatever they are,
// and an assignment has the value it has. So a repetition is looked for and not proved.

#ifndef HAP_SOLVER_MS_TILE_H
#define HAP_SOLVER_MS_TILE_H

#include "solver/minsum.h"

typedef struct ms_tile {
    ms_problem small;
    int *like_var;  // by variable of the whole: the variable of small that stands for it
    int *like_edge; // by edge of the whole: the edge of small with the same table, -1 none
} ms_tile;

// NULL: nothing is repeated often enough.
ms_tile *ms_tile_find(hb_arena *a, const ms_problem *p);

#endif
