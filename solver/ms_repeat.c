#include <math.h>
#include <string.h>

#include "solver/ms_dual.h"
#include "solver/ms_reduce.h"
#include "solver/ms_tile.h"

// What is left of the tile after reduction, by the names of the whole problem.
static ms_names names_in_whole(hb_arena *a, const ms_problem *p, const ms_tile *tile,
                               const ms_reduced *r)
{
    ms_names names = ms_reduced_names(r);
    int n = ms_reduced_problem(r)->n_vars, *var = HB_ARRAY(a, int, n + 1);
    for (int v = 0; v < n; v++)
        var[v] = tile->whole_var[names.var[v]];
    return (ms_names){var, names.state, p->domain};
}

// Copies of the repeated layer meet as that layer meets the next one.
static bool fits_itself(const ms_tile *tile, const int *x)
{
    for (int v = 0; v < tile->small.n_vars; v++)
        if (tile->above[v] >= 0 && x[v] != x[tile->above[v]]) return false;
    return true;
}

static const ms_tile nothing; // repeats

ms_status ms_solve_repeated(hb_arena *a, const ms_problem *p, double gap, ms_warm **warm,
                            const ms_tile **repeats, int *assignment, double *value)
{
    if (!p->unary || (repeats && *repeats == &nothing)) return MS_TOO_LARGE;
    hb_arena *tmp = hb_arena_new();
    const ms_tile *tile = repeats && *repeats ? ms_tile_again(tmp, *repeats, p) : NULL;
    if (!tile) {
        tile = ms_tile_find(repeats ? a : tmp, p);
        if (repeats) *repeats = tile ? tile : &nothing;
    }
    ms_reduced *r = tile ? ms_reduce(tmp, &tile->small, NULL) : NULL;
    ms_status status = MS_TOO_LARGE;
    if (r) {
        const ms_problem *rest = ms_reduced_problem(r);
        int *x = HB_ARRAY(tmp, int, rest->n_vars + 1),
            *y = HB_ARRAY(tmp, int, tile->small.n_vars + 1);
        double lower = 0;
        ms_names names = names_in_whole(tmp, p, tile, r);
        status = ms_solve_bound(rest, 0, -1, gap, ms_warm_of(a, warm), &names, x, value, &lower);
        if (status == MS_OPTIMAL) ms_reduced_expand(r, x, y);
        if (status == MS_OPTIMAL && fits_itself(tile, y)) {
            for (int v = 0; v < p->n_vars; v++)
                assignment[v] = y[tile->like_var[v]];
            *value = ms_value(p, assignment);
        } else {
            status = MS_TOO_LARGE;
        }
    }
    hb_arena_free(tmp);
    return status;
}
