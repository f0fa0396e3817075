#include "solver/ms_reduce.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/ms_grid.h"
#include "solver/solver_limits.h"

// Two exact rules, in turn until neither finds anything:
//   dominance    state i of v goes if another state k never costs more, whatever the neighbours
//   take:
//                u_i - u_k + sum over edges of min_j (F_ij - F_kj) >= 0 (Goldstein 1994). This
//                stays true when states of other variables go too, so all variables are looked at
//                at once.
//   elimination  a variable with at most two neighbours becomes a table over them. It goes in
//                rounds: in one round no two neighbours go, so that a chain of equal layers is
//                folded pairwise, with one new table a round.
// Only variables whose surroundings changed are looked at again, and tables have ids (ms_grid.h):
// the time is linear in the problem, and equal layers add little to it.

typedef struct edge {
    int a, b, table; // [a][b]; table -1: gone
    int at_a, at_b;  // places in the edge lists of a and b
} edge;

typedef struct variable {
    int n, unary;
    const int *state;  // of the problem, ascending
    HB_VEC(int) edges; // in no order
    bool gone;
    bool look, try; // listed in r->look, r->try
    int round;      // the last one that changed an edge or the unary
    int keep;       // states that stay, while states are dropped; else -1
} variable;

typedef struct removed {                     // in order of elimination
    int v, unary, n_near, near[2], table[2]; // tables [v][near]
    const int *near_state[2];                // states of the neighbours then
    int n_near_state[2];
} removed;

struct ms_memo {
    hb_arena *parent, *arena; // what is known lies in the latter
    ms_grids *grids;
    ms_keys *situations;      // (unary, tables) of a variable -> states to keep
    HB_VEC(int) by_situation; // a keep list, -1 all, -2 none is possible
    int *whole, n_whole;      // all states, 0 .. n_whole - 1
};

struct ms_reduced {
    hb_arena *arena;
    const ms_problem *p;
    ms_grids *grids; // of known
    ms_memo *known;
    variable *var;
    HB_VEC(edge) edges;
    HB_VEC(int) look; // variables whose states may be dominated now
    HB_VEC(int) try;  // variables that may go now
    int round;
    HB_VEC(removed) removed;
    HB_VEC(uint32_t) key; // scratch
    HB_VEC(int) tables;   // scratch
    double constant;      // of what is gone whole
    ms_problem rest;
    int *rest_var;          // variable of p, by variable of rest
    const int **rest_state; // its states there
};

// --- what is known ---

static void begin_memo(ms_memo *m, hb_arena *a)
{
    *m = (ms_memo){.parent = m->parent, .arena = a, .grids = ms_grids_new(a)};
    m->situations = ms_keys_new(a);
}

ms_memo *ms_memo_new(hb_arena *a)
{
    ms_memo *m = HB_NEW(a, ms_memo);
    m->parent = a;
    begin_memo(m, hb_arena_within(a));
    return m;
}

// The problem's memo, emptied if it has grown large, or one that lies in a.
static ms_memo *memo_of(hb_arena *a, const ms_problem *p)
{
    ms_memo *m = p->memo;
    if (!m) {
        m = HB_NEW(a, ms_memo);
        begin_memo(m, a);
    } else if (ms_grids_cells(m->grids) > MS_MEMO_CELLS) {
        hb_arena_free(m->arena);
        begin_memo(m, hb_arena_within(m->parent));
    }
    return m;
}

// Of the variable that has most.
static const int *all_states(ms_memo *m, const ms_problem *p)
{
    int widest = 0;
    for (int v = 0; v < p->n_vars; v++)
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    if (widest > m->n_whole) {
        m->whole = hb_room(m->arena, sizeof *m->whole, widest);
        m->n_whole = widest;
        for (int i = 0; i < widest; i++)
            m->whole[i] = i;
    }
    return m->whole;
}

// --- the graph ---

static int other_end(const edge *e, int v)
{
    return e->a == v ? e->b : e->a;
}

static int seen_from(ms_reduced *r, const edge *e, int v)
{
    return e->a == v ? e->table : ms_grid_twin(r->grids, e->table);
}

static void changed(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    x->round = r->round;
    if (!x->look) HB_PUSH(r->arena, &r->look, v);
    if (!x->try) HB_PUSH(r->arena, &r->try, v);
    x->look = x->try = true;
}

static void unlink_from(ms_reduced *r, int v, int at)
{
    variable *x = &r->var[v];
    int last = x->edges.p[--x->edges.n];
    x->edges.p[at] = last;
    *(r->edges.p[last].a == v ? &r->edges.p[last].at_a : &r->edges.p[last].at_b) = at;
}

static void cut_edge(ms_reduced *r, int k)
{
    edge *e = &r->edges.p[k];
    unlink_from(r, e->a, e->at_a);
    unlink_from(r, e->b, e->at_b);
    e->table = -1;
}

static void connect(ms_reduced *r, int a, int b, int table)
{
    int few = r->var[a].edges.n < r->var[b].edges.n ? a : b;
    for (int i = 0; i < r->var[few].edges.n; i++) {
        edge *e = &r->edges.p[r->var[few].edges.p[i]];
        if (other_end(e, few) != (few == a ? b : a)) continue;
        if (e->a != a) table = ms_grid_twin(r->grids, table);
        e->table = ms_grid_add(r->grids, e->table, table);
        return;
    }
    HB_PUSH(r->arena, &r->edges, (edge){a, b, table, r->var[a].edges.n, r->var[b].edges.n});
    HB_PUSH(r->arena, &r->var[a].edges, r->edges.n - 1);
    HB_PUSH(r->arena, &r->var[b].edges, r->edges.n - 1);
}

// --- dominance ---

static int ascending(const void *x, const void *y)
{
    int a = *(const int *)x, b = *(const int *)y;
    return (a > b) - (a < b);
}

static void sort_ints(int *x, int n)
{
    if (n > MS_INSERT_SORT) {
        qsort(x, (size_t)n, sizeof *x, ascending);
        return;
    }
    for (int i = 1; i < n; i++) {
        int y = x[i], k = i;
        for (; k > 0 && x[k - 1] > y; k--)
            x[k] = x[k - 1];
        x[k] = y;
    }
}

// The edges of the variable looked at that have equal tables.
typedef struct side {
    const double *p, *turned; // [own][other], [other][own]
    int cols, times;
    const int *cheapest;
} side;

static bool dominated(const ms_kernels *kernels, const side *l, const ms_column *c, int n, int i,
                      int k, double room)
{
    for (int e = 0; e < n; e++) {
        const double *x = l[e].p + (size_t)i * (size_t)l[e].cols;
        const double *y = l[e].p + (size_t)k * (size_t)l[e].cols;
        double least = kernels->least_difference(x, y, l[e].cols);
        room += c[e].times * (least - (c[e].own - c[e].p[k]));
        if (!(room >= 0)) return false;
    }
    return true;
}

static bool possible(const double *u, const side *l, int n, int i)
{
    if (isinf(u[i])) return false;
    for (int e = 0; e < n; e++)
        if (isinf(l[e].p[i * l[e].cols + l[e].cheapest[i]])) return false;
    return true;
}

// Drops those of the m live states that another one dominates; gives how many are left. What
// the first column of least cost of state i on every side leaves of u_i - u_k + sum of min_j comes
// first: any column bounds min_j from above; where i is cheapest, k is likely to cost more, so that
// few pairs need more than this.
static int drop_dominated(hb_arena *a, const double *u, const side *l, int n, int rows, int *live,
                          int m)
{
    const ms_kernels *kernels = ms_best_kernels();
    int words = rows / 64 + 1;
    uint64_t *may = HB_ARRAY(a, uint64_t, words), *alive = HB_ARRAY(a, uint64_t, words);
    double *room = hb_room(a, sizeof *room, rows);
    ms_column *column = hb_room(a, sizeof *column, n);
    for (int k = 0; k < m; k++)
        alive[live[k] / 64] |= (uint64_t)1 << live[k] % 64;
    for (int at = m - 1; at >= 0; at--) { // of equal states the lowest stays
        int i = live[at];
        bool gone = false;
        for (int e = 0; e < n; e++) {
            const double *p = l[e].turned + (size_t)l[e].cheapest[i] * (size_t)rows;
            column[e] = (ms_column){p, p[i], l[e].times};
        }
        kernels->rooms(room, may, u[i], u, column, n, rows);
        alive[i / 64] &= ~((uint64_t)1 << i % 64); // not by itself
        for (int w = 0; w < words && !gone; w++)
            for (uint64_t left = may[w] & alive[w]; left && !gone; left &= left - 1) {
                int k = 64 * w + __builtin_ctzll(left);
                gone = dominated(kernels, l, column, n, i, k, room[k]);
            }
        if (!gone) {
            alive[i / 64] |= (uint64_t)1 << i % 64;
            continue;
        }
        memmove(live + at, live + at + 1, sizeof *live * (size_t)(m - at - 1));
        m--;
    }
    return m;
}

// States of v to keep: -1 all, -2 none is possible.
static int choose_keep(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    int n = 0, rows = x->n;
    r->tables.n = r->key.n = 0;
    for (int i = 0; i < x->edges.n; i++)
        HB_PUSH(r->arena, &r->tables, seen_from(r, &r->edges.p[x->edges.p[i]], v));
    const int *table = r->tables.p;
    sort_ints(r->tables.p, r->tables.n);
    HB_PUSH(r->arena, &r->key, (uint32_t)x->unary);
    for (int i = 0; i < r->tables.n; i++)
        HB_PUSH(r->arena, &r->key, (uint32_t)table[i]);
    bool is_new;
    int at = ms_key_id(r->known->situations, r->key.p, r->key.n, &is_new);
    if (!is_new) return r->known->by_situation.p[at];
    const double *u = ms_grid_at(r->grids, x->unary).p;
    int *live = HB_ARRAY(r->arena, int, rows), m = 0;
    side *sides = HB_ARRAY(r->arena, side, x->edges.n + 1);
    for (int i = 0; i < x->edges.n; i++) {
        if (!i || table[i] != table[i - 1]) {
            const int *cheapest = ms_grid_cheapest(r->grids, table[i]);
            int turned = ms_grid_twin(r->grids, table[i]);
            ms_grid g = ms_grid_at(r->grids, table[i]), t = ms_grid_at(r->grids, turned);
            sides[n++] = (side){g.p, t.p, g.cols, 0, cheapest};
        }
        sides[n - 1].times++;
    }
    for (int i = 0; i < rows; i++)
        if (possible(u, sides, n, i)) live[m++] = i;
    m = drop_dominated(r->arena, u, sides, n, rows, live, m);
    int keep = m == 0 ? -2 : m == rows ? -1 : ms_keep(r->grids, live, m);
    HB_PUSH(r->known->arena, &r->known->by_situation, keep);
    return keep;
}

// --- elimination ---

static bool may_go(const ms_reduced *r, int v)
{
    const variable *x = &r->var[v];
    if (x->edges.n < 2 || x->n == 1) return true;
    double a = r->var[other_end(&r->edges.p[x->edges.p[0]], v)].n;
    double b = r->var[other_end(&r->edges.p[x->edges.p[1]], v)].n;
    return a * b <= MS_GROWTH * x->n * (a + b);
}

static void go(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    removed q = {.v = v, .unary = x->unary, .n_near = x->edges.n};
    for (int i = 0; i < q.n_near; i++) {
        int k = x->edges.p[x->edges.n - 1], other = other_end(&r->edges.p[k], v);
        q.near[i] = other;
        q.table[i] = seen_from(r, &r->edges.p[k], v);
        q.near_state[i] = r->var[other].state;
        q.n_near_state[i] = r->var[other].n;
        cut_edge(r, k);
        changed(r, other);
    }
    x->gone = true;
    HB_PUSH(r->arena, &r->removed, q);
    if (q.n_near == 0) {
        const double *u = ms_grid_at(r->grids, x->unary).p;
        double least = (double)INFINITY;
        for (int i = 0; i < x->n; i++)
            least = u[i] < least ? u[i] : least;
        r->constant += least;
    }
    if (q.n_near == 1) {
        variable *w = &r->var[q.near[0]];
        int message = ms_grid_fold_one(r->grids, q.unary, q.table[0]);
        w->unary = ms_grid_add(r->grids, w->unary, message);
    } else if (q.n_near == 2) {
        int table = ms_grid_fold_two(r->grids, q.unary, q.table[0], q.table[1]);
        connect(r, q.near[0], q.near[1], table);
    }
}

// A variable with one state, whatever it meets.
static void fix(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    while (x->edges.n > 0) {
        int k = x->edges.p[x->edges.n - 1], other = other_end(&r->edges.p[k], v);
        variable *w = &r->var[other];
        ms_grid row = ms_grid_at(r->grids, seen_from(r, &r->edges.p[k], v));
        int unary = ms_grid_given(r->grids, row.p, row.cols, 1); // a row [1][n] is a unary [n][1]
        w->unary = ms_grid_add(r->grids, w->unary, unary);
        cut_edge(r, k);
        changed(r, other);
    }
}

static void eliminate(ms_reduced *r)
{
    while (r->try.n > 0) {
        int n = r->try.n, *v = HB_ARRAY(r->arena, int, n);
        if (n > r->p->n_vars / MS_MOSTLY_TRIED) {
            for (int i = 0, k = 0; i < r->p->n_vars; i++)
                if (r->var[i].try) v[k++] = i;
        } else {
            memcpy(v, r->try.p, sizeof *v * (size_t)n);
            qsort(v, (size_t)n, sizeof *v, ascending);
        }
        r->try.n = 0;
        r->round++;
        for (int i = 0; i < n; i++) {
            variable *x = &r->var[v[i]];
            x->try = false;
            if (!x->gone && x->n == 1) fix(r, v[i]);
        }
        for (int degree = 0; degree <= 2; degree++)
            for (int i = 0; i < n; i++) {
                const variable *x = &r->var[v[i]];
                if (!x->gone && x->edges.n == degree && (!degree || x->round < r->round) &&
                    may_go(r, v[i]))
                    go(r, v[i]);
            }
    }
}

// --- states ---

// Drops the states that the keep lists of these variables leave out.
static void apply_keeps(ms_reduced *r, const int *v, int n)
{
    for (int i = 0; i < n; i++) {
        variable *x = &r->var[v[i]];
        if (x->gone || x->keep < 0) continue;
        for (int k = 0; k < x->edges.n; k++) {
            edge *e = &r->edges.p[x->edges.p[k]];
            ms_grid g = ms_grid_at(r->grids, e->table);
            int rows = r->var[e->a].keep, cols = r->var[e->b].keep;
            if (g.rows != r->var[e->a].n || g.cols != r->var[e->b].n) continue; // done already
            e->table = ms_grid_shrink(r->grids, e->table, rows, cols);
            changed(r, other_end(e, v[i]));
        }
        if (!x->try) HB_PUSH(r->arena, &r->try, v[i]);
        x->try = true;
    }
    for (int i = 0; i < n; i++) {
        variable *x = &r->var[v[i]];
        if (x->keep >= 0 && !x->gone) {
            x->unary = ms_grid_shrink(r->grids, x->unary, x->keep, -1);
            x->state = ms_keep_states(r->grids, x->state, x->keep);
            ms_keep_list(r->grids, x->keep, &x->n);
        }
        x->keep = -1;
    }
}

// One look at every listed variable; false if one has no possible state.
static bool drop_states(ms_reduced *r)
{
    int n = r->look.n, *v = hb_copy(r->arena, r->look.p, sizeof *v * (size_t)n);
    r->look.n = 0;
    for (int i = 0; i < n; i++) {
        variable *x = &r->var[v[i]];
        x->look = false;
        if (x->gone) continue;
        x->keep = choose_keep(r, v[i]);
        if (x->keep == -2) return false;
    }
    apply_keeps(r, v, n);
    return true;
}

// The states the caller leaves; false if a variable has none.
static bool take_left(ms_reduced *r, const bool *const *left)
{
    int n = r->p->n_vars, *v = HB_ARRAY(r->arena, int, n + 1), *at = NULL, room = 0;
    for (int i = 0; i < n; i++) {
        int domain = r->p->domain[i], m = 0;
        if (domain > room) at = HB_ARRAY(r->arena, int, room = domain);
        for (int k = 0; k < domain; k++)
            if (left[i][k]) at[m++] = k;
        if (m == 0) return false;
        v[i] = i;
        if (m < domain) r->var[i].keep = ms_keep(r->grids, at, m);
    }
    apply_keeps(r, v, n);
    eliminate(r);
    return true;
}

// --- result ---

static void write_rest(ms_reduced *r)
{
    int n = r->p->n_vars, *index = HB_ARRAY(r->arena, int, n + 1),
        *domain = HB_ARRAY(r->arena, int, n + 1);
    const double **unary = hb_alloc(r->arena, sizeof *unary * (size_t)(n + 1));
    ms_edge *e = HB_ARRAY(r->arena, ms_edge, r->edges.n + 1);
    r->rest_var = HB_ARRAY(r->arena, int, n + 1);
    r->rest_state = hb_alloc(r->arena, sizeof *r->rest_state * (size_t)(n + 1));
    for (int v = 0; v < n; v++) {
        if (r->var[v].gone) continue;
        index[v] = r->rest.n_vars;
        r->rest_var[r->rest.n_vars] = v;
        r->rest_state[r->rest.n_vars] = r->var[v].state;
        domain[r->rest.n_vars] = r->var[v].n;
        unary[r->rest.n_vars++] = ms_grid_at(r->grids, r->var[v].unary).p;
    }
    for (int k = 0; k < r->edges.n; k++) {
        const edge *g = &r->edges.p[k];
        if (g->table >= 0)
            e[r->rest.n_edges++] =
                (ms_edge){index[g->a], index[g->b], ms_grid_at(r->grids, g->table).p};
    }
    r->rest.stop = r->p->stop;
    r->rest.domain = domain;
    r->rest.unary = unary;
    r->rest.edge = e;
}

ms_reduced *ms_reduce(hb_arena *a, const ms_problem *p, const bool *const *left)
{
    ms_reduced *r = HB_NEW(a, ms_reduced);
    r->arena = a;
    r->p = p;
    r->known = memo_of(a, p);
    r->grids = r->known->grids;
    r->var = HB_ARRAY(a, variable, p->n_vars + 1);
    const int *whole = all_states(r->known, p);
    for (int v = 0; v < p->n_vars; v++) {
        const double *u = p->unary ? p->unary[v] : NULL;
        int unary = ms_grid_given(r->grids, u, p->domain[v], 1);
        r->var[v] = (variable){.n = p->domain[v], .state = whole, .unary = unary, .keep = -1};
        changed(r, v);
    }
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        int table = ms_grid_given(r->grids, e->table, p->domain[e->a], p->domain[e->b]);
        connect(r, e->a, e->b, table);
    }
    if (left && !take_left(r, left)) return NULL;
    while (r->look.n > 0) {
        if (!drop_states(r)) return NULL;
        eliminate(r);
    }
    if (isinf(r->constant)) return NULL;
    write_rest(r);
    return r;
}

const ms_problem *ms_reduced_problem(const ms_reduced *r)
{
    return &r->rest;
}

ms_names ms_reduced_names(const ms_reduced *r)
{
    return (ms_names){r->rest_var, r->rest_state, r->p->domain};
}

double ms_reduced_constant(const ms_reduced *r)
{
    return r->constant;
}

static int place_of(const int *state, int n, int x)
{
    int lo = 0, hi = n - 1;
    while (lo < hi) {
        int mid = (lo + hi) / 2;
        if (state[mid] < x)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

void ms_reduced_expand(const ms_reduced *r, const int *rest, int *assignment)
{
    for (int i = 0; i < r->rest.n_vars; i++) {
        const variable *x = &r->var[r->rest_var[i]];
        assignment[r->rest_var[i]] = x->state[rest[i]];
    }
    for (int k = r->removed.n - 1; k >= 0; k--) {
        const removed *q = &r->removed.p[k];
        const variable *x = &r->var[q->v];
        const double *u = ms_grid_at(r->grids, q->unary).p;
        int best = 0, at[2] = {0};
        double least = (double)INFINITY;
        for (int i = 0; i < q->n_near; i++)
            at[i] = place_of(q->near_state[i], q->n_near_state[i], assignment[q->near[i]]);
        for (int s = 0; s < x->n; s++) {
            double sum = u[s];
            for (int i = 0; i < q->n_near; i++) {
                ms_grid g = ms_grid_at(r->grids, q->table[i]);
                sum += g.p[(size_t)s * (size_t)g.cols + (size_t)at[i]];
            }
            if (sum < least) {
                least = sum;
                best = s;
            }
        }
        assignment[q->v] = x->state[best];
    }
}
