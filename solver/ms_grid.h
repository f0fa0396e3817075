// Cost tables with ids, made once for each recipe: the repeated layers of a model, whose tables are
// the same pointers, are worked on once. Inside solver/ only.
//
// A unary is a table of one column. A recipe is an operation and the ids it works on, so that equal
// ids have equal contents; different ids may, too.

#ifndef HAP_SOLVER_MS_GRID_H
#define HAP_SOLVER_MS_GRID_H

#include "solver/minsum_parts.h"

typedef struct ms_grid {
    int rows, cols;
    const double *p;
    int twin;            // the transposed table, -1 not made yet
    const int *cheapest; // by row: its first column of least cost; NULL not made yet
} ms_grid;

typedef struct ms_grids ms_grids;
ms_grids *ms_grids_new(hb_arena *a);
double ms_grids_cells(const ms_grids *g);                            // of all tables that were made
ms_grid ms_grid_at(const ms_grids *g, int id);                       // p stays where it is
int ms_grid_given(ms_grids *g, const double *p, int rows, int cols); // NULL: zeros
int ms_grid_twin(ms_grids *g, int id);
const int *ms_grid_cheapest(ms_grids *g, int id);
int ms_grid_add(ms_grids *g, int x, int y);

// A list of states to keep, ascending, by contents. -1 stands for all of them.
int ms_keep(ms_grids *g, const int *at, int n);
const int *ms_keep_list(const ms_grids *g, int keep, int *n);
int ms_grid_shrink(ms_grids *g, int id, int keep_rows, int keep_cols);
// The states state[keep[.]].
const int *ms_keep_states(ms_grids *g, const int *state, int keep);

// min over v of unary[v] + x[v][.]: a unary.
int ms_grid_fold_one(ms_grids *g, int unary, int x);
// min over v of unary[v] + x[v][a] + y[v][b]: a table [a][b].
int ms_grid_fold_two(ms_grids *g, int unary, int x, int y);

#endif
