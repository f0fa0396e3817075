#include "solver/ms_grid.h"

#include <math.h>

#include "solver/solver_limits.h"

typedef struct keep_list {
    int n;
    const int *at;
} keep_list;

struct ms_grids {
    hb_arena *arena;
    HB_VEC(ms_grid) grid;
    ms_keys *pointers, *derived, *keep_keys, *compositions; // their ids count these vectors:
    HB_VEC(int) by_pointer, by_derived;
    HB_VEC(keep_list) keeps;
    HB_VEC(const int *) by_composition;
    double cells;
};

ms_grids *ms_grids_new(hb_arena *a)
{
    ms_grids *g = HB_NEW(a, ms_grids);
    g->arena = a;
    g->pointers = ms_keys_new(a);
    g->derived = ms_keys_new(a);
    g->keep_keys = ms_keys_new(a);
    g->compositions = ms_keys_new(a);
    return g;
}

static int new_grid(ms_grids *g, int rows, int cols, const double *p)
{
    g->cells += (double)rows * cols;
    HB_PUSH(g->arena, &g->grid, (ms_grid){rows, cols, p, -1, NULL});
    return g->grid.n - 1;
}

double ms_grids_cells(const ms_grids *g)
{
    return g->cells;
}

ms_grid ms_grid_at(const ms_grids *g, int id)
{
    return g->grid.p[id];
}

int ms_grid_given(ms_grids *g, const double *p, int rows, int cols)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    uint32_t key[4] = {(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)rows,
                       (uint32_t)cols};
    bool is_new;
    int at = ms_key_id(g->pointers, key, 4, &is_new);
    if (is_new) {
        if (!p) p = HB_ARRAY(g->arena, double, rows *cols);
        hb_assert(ms_best_kernels()->costs(p, (size_t)rows * (size_t)cols));
        HB_PUSH(g->arena, &g->by_pointer, new_grid(g, rows, cols, p));
    }
    return g->by_pointer.p[at];
}

int ms_grid_twin(ms_grids *g, int id)
{
    ms_grid x = g->grid.p[id];
    if (x.twin >= 0) return x.twin;
    double *t = hb_room(g->arena, sizeof *t, x.rows * x.cols);
    ms_best_kernels()->turn(t, x.p, x.rows, x.cols);
    int to = new_grid(g, x.cols, x.rows, t);
    g->grid.p[id].twin = to;
    g->grid.p[to].twin = id;
    return to;
}

const int *ms_grid_cheapest(ms_grids *g, int id)
{
    ms_grid *x = &g->grid.p[id];
    if (x->cheapest) return x->cheapest;
    int *at = hb_room(g->arena, sizeof *at, x->rows);
    ms_best_kernels()->cheapest(at, x->p, x->rows, x->cols);
    return x->cheapest = at;
}

enum { ADD, SHRINK, FOLD_ONE, FOLD_TWO };

// Slot of the table that `what` made of these ids; -1 in it if it was not made yet.
static int *made(ms_grids *g, uint32_t what, int a, int b, int c)
{
    uint32_t key[4] = {what, (uint32_t)a, (uint32_t)b, (uint32_t)c};
    bool is_new;
    int at = ms_key_id(g->derived, key, 4, &is_new);
    if (is_new) HB_PUSH(g->arena, &g->by_derived, -1);
    return &g->by_derived.p[at];
}

int ms_grid_add(ms_grids *g, int x, int y)
{
    int a = x < y ? x : y, b = x < y ? y : x;
    int *slot = made(g, ADD, a, b, 0);
    if (*slot >= 0) return *slot;
    int rows = g->grid.p[a].rows, cols = g->grid.p[a].cols;
    size_t n = (size_t)rows * (size_t)cols;
    const double *p = g->grid.p[a].p, *q = g->grid.p[b].p;
    double *t = hb_room(g->arena, sizeof *t, (int)n);
    for (size_t i = 0; i < n; i++)
        t[i] = p[i] + q[i];
    return *slot = new_grid(g, rows, cols, t);
}

int ms_keep(ms_grids *g, const int *at, int n)
{
    bool is_new;
    int id = ms_key_id(g->keep_keys, (const uint32_t *)at, n, &is_new);
    if (is_new)
        HB_PUSH(g->arena, &g->keeps, (keep_list){n, hb_copy(g->arena, at, sizeof *at * (size_t)n)});
    return id;
}

const int *ms_keep_list(const ms_grids *g, int keep, int *n)
{
    *n = g->keeps.p[keep].n;
    return g->keeps.p[keep].at;
}

const int *ms_keep_states(ms_grids *g, const int *state, int keep)
{
    uint64_t address = (uint64_t)(uintptr_t)state;
    uint32_t key[3] = {(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)keep};
    bool is_new;
    int at = ms_key_id(g->compositions, key, 3, &is_new);
    if (is_new) {
        const keep_list *k = &g->keeps.p[keep];
        int *s = HB_ARRAY(g->arena, int, k->n);
        for (int i = 0; i < k->n; i++)
            s[i] = state[k->at[i]];
        HB_PUSH(g->arena, &g->by_composition, s);
    }
    return g->by_composition.p[at];
}

int ms_grid_shrink(ms_grids *g, int id, int keep_rows, int keep_cols)
{
    if (keep_rows < 0 && keep_cols < 0) return id;
    int *slot = made(g, SHRINK, id, keep_rows, keep_cols);
    if (*slot >= 0) return *slot;
    ms_grid x = g->grid.p[id];
    int rows = keep_rows < 0 ? x.rows : g->keeps.p[keep_rows].n;
    int cols = keep_cols < 0 ? x.cols : g->keeps.p[keep_cols].n;
    double *t = hb_room(g->arena, sizeof *t, rows * cols);
    for (int i = 0; i < rows; i++) {
        const double *row = x.p + (keep_rows < 0 ? i : g->keeps.p[keep_rows].at[i]) * x.cols;
        for (int j = 0; j < cols; j++)
            t[i * cols + j] = row[keep_cols < 0 ? j : g->keeps.p[keep_cols].at[j]];
    }
    return *slot = new_grid(g, rows, cols, t);
}

int ms_grid_fold_one(ms_grids *g, int unary, int x)
{
    int *slot = made(g, FOLD_ONE, unary, x, 0);
    if (*slot >= 0) return *slot;
    ms_grid gx = g->grid.p[x];
    double *t = hb_room(g->arena, sizeof *t, gx.cols);
    ms_best_kernels()->min_rows(t, g->grid.p[unary].p, gx.p, NULL, gx.rows, gx.cols);
    return *slot = new_grid(g, gx.cols, 1, t);
}

int ms_grid_fold_two(ms_grids *g, int unary, int x, int y)
{
    if (x > y) return ms_grid_twin(g, ms_grid_fold_two(g, unary, y, x));
    int *slot = made(g, FOLD_TWO, unary, x, y);
    if (*slot >= 0) return *slot;
    int turned = ms_grid_twin(g, x), at = (int)(slot - g->by_derived.p);
    ms_grid gx = g->grid.p[turned], gy = g->grid.p[y]; // [a][v], [v][b]
    const double *u = g->grid.p[unary].p;
    double *t = hb_room(g->arena, sizeof *t, gx.rows * gy.cols);
    double *sum = HB_ARRAY(g->arena, double, gx.cols);
    const ms_kernels *kernels = ms_best_kernels();
    for (int i = 0; i < gx.rows; i++) {
        for (int v = 0; v < gx.cols; v++)
            sum[v] = u[v] + gx.p[i * gx.cols + v];
        kernels->min_rows(t + (size_t)i * (size_t)gy.cols, sum, gy.p, NULL, gy.rows, gy.cols);
    }
    int id = new_grid(g, gx.rows, gy.cols, t);
    return g->by_derived.p[at] = id;
}
