// Dual bound first, elimination last.
//
// Block-coordinate ascent on the dual of the local polytope relaxation, edge by edge ("handshake"
// messages of MPLP++: Tourani et al., ECCV 2018), gives a lower bound LB. A state survives a
// threshold T if LB plus what choosing it costs at least is still at most T; everything of value <=
// T survives, so when the elimination of the survivors finds a value <= T it is the minimum
// (reference: search.md 3). Messages are kept by the caller between problems of one structure: a
// warm start needs few sweeps.

#include <math.h>
#include <string.h>

#include "solver/minsum_parts.h"
#include "solver/ms_reduce.h"
#include "solver/ms_tile.h"

// Stands for +inf inside the dual, where inf - inf would be NaN. Far above any sum of finite costs.
typedef struct dual_edge {
    int a, b;
    const double *f, *t; // table [a][b] and its transpose, +inf replaced
    double *to_a, *to_b; // messages
} dual_edge;

struct ms_warm {
    hb_arena *arena;
    int n_vars, n_edges;
    int *domain;
    double **to_a, **to_b; // by edge of the problem
};

typedef struct dual {
    hb_arena *arena;
    const ms_problem *p;
    double big;
    double **th; // by variable: unary + messages
    dual_edge *e;
    double *h, *x; // scratch of the largest domain
} dual;

// --- tables, shared by pointer ---

typedef struct table_pair {
    const double *key;
    int rows, cols;
    double most, *f, *t;
} table_pair;

static double largest(const double *x, size_t n)
{
    double m = 0;
    for (size_t i = 0; i < n; i++)
        if (x[i] < (double)INFINITY && fabs(x[i]) > m) m = fabs(x[i]);
    return m;
}

static int pair_of(dual *d, ms_keys *seen, table_pair *pairs, const ms_edge *e)
{
    int rows = d->p->domain[e->a], cols = d->p->domain[e->b];
    uint64_t at = (uint64_t)(uintptr_t)e->table;
    uint32_t key[4] = {(uint32_t)at, (uint32_t)(at >> 32), (uint32_t)rows, (uint32_t)cols};
    bool is_new;
    int id = ms_key_id(seen, key, 4, &is_new);
    size_t cells = (size_t)rows * (size_t)cols;
    if (is_new)
        pairs[id] = (table_pair){e->table, rows, cols, largest(e->table, cells), NULL, NULL};
    return id;
}

static void fill_pair(dual *d, table_pair *q)
{
    size_t rows = (size_t)q->rows, cols = (size_t)q->cols;
    q->f = HB_ARRAY(d->arena, double, rows *cols);
    q->t = HB_ARRAY(d->arena, double, rows *cols);
    for (size_t i = 0; i < rows; i++)
        for (size_t k = 0; k < cols; k++) {
            double v = q->key[i * cols + k];
            v = v < d->big ? v : d->big;
            q->f[i * cols + k] = v;
            q->t[k * rows + i] = v;
        }
}

// --- the handshake ---

static void handshake(dual *d, dual_edge *e, ms_min_rows *run, bool flip)
{
    int a = flip ? e->b : e->a, b = flip ? e->a : e->b;
    const double *f = flip ? e->t : e->f, *t = flip ? e->f : e->t; // f[a][b], t[b][a]
    double *restrict to_a = flip ? e->to_b : e->to_a, *restrict to_b = flip ? e->to_a : e->to_b;
    int na = d->p->domain[a], nb = d->p->domain[b];
    double *restrict th_a = d->th[a], *restrict th_b = d->th[b], *restrict h = d->h;
    for (int i = 0; i < na; i++)
        to_a[i] = th_a[i] - to_a[i]; // A: th_a without this edge
    for (int k = 0; k < nb; k++)
        to_b[k] = th_b[k] - to_b[k]; // B
    run(h, to_b, t, NULL, nb, na);
    for (int i = 0; i < na; i++)
        h[i] = (to_a[i] - h[i]) / 2; // A_i - h_i with h_i = (A_i + min_k) / 2
    run(th_b, h, f, NULL, na, nb);
    for (int k = 0; k < nb; k++) {
        th_b[k] += to_b[k]; // c_k
        to_b[k] -= th_b[k]; // B_k - c_k, for the third pass
    }
    run(h, to_b, t, NULL, nb, na);
    for (int i = 0; i < na; i++) {
        th_a[i] = to_a[i] + h[i]; // n_i
        to_a[i] = h[i];           // n_i - A_i
    }
    for (int k = 0; k < nb; k++)
        to_b[k] = -to_b[k]; // c_k - B_k
}

static double least(const double *x, int n)
{
    double m = x[0];
    for (int i = 1; i < n; i++)
        m = x[i] < m ? x[i] : m;
    return m;
}

static double bound(const dual *d)
{
    double lb = 0;
    for (int v = 0; v < d->p->n_vars; v++)
        lb += least(d->th[v], d->p->domain[v]);
    return lb;
}

static void sweep(dual *d, ms_min_rows *run, bool back)
{
    int n = d->p->n_edges;
    for (int i = 0; i < n; i++)
        handshake(d, &d->e[back ? n - 1 - i : i], run, back);
}

// --- survivors ---

// What state i of each variable costs at least above the bound: slack[v][i].
static void slacks(const dual *d, double **slack, ms_min_rows *run)
{
    for (int v = 0; v < d->p->n_vars; v++) {
        double m = least(d->th[v], d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++)
            slack[v][i] = d->th[v][i] - m;
    }
    double *x = d->x;
    for (int k = 0; k < d->p->n_edges; k++) {
        const dual_edge *e = &d->e[k];
        int na = d->p->domain[e->a], nb = d->p->domain[e->b];
        for (int j = 0; j < nb; j++)
            x[j] = -e->to_b[j];
        run(d->h, x, e->t, NULL, nb, na);
        for (int i = 0; i < na; i++) {
            double r = d->h[i] - e->to_a[i];
            slack[e->a][i] += r > 0 ? r : 0;
        }
        for (int i = 0; i < na; i++)
            x[i] = -e->to_a[i];
        run(d->h, x, e->f, NULL, na, nb);
        for (int j = 0; j < nb; j++) {
            double r = d->h[j] - e->to_b[j];
            slack[e->b][j] += r > 0 ? r : 0;
        }
    }
}

// The least value among the survivors.
static ms_status eliminate(dual *d, double **slack, double room, uint64_t max_cells,
                           double max_work, int *assignment, double *value)
{
    int n = d->p->n_vars;
    hb_arena *tmp = hb_arena_new();
    bool **left = hb_alloc(tmp, sizeof *left * (size_t)(n + 1));
    for (int v = 0; v < n; v++) {
        left[v] = HB_ARRAY(tmp, bool, d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++)
            left[v][i] = slack[v][i] <= room;
    }
    ms_status status = MS_INFEASIBLE;
    ms_reduced *r = ms_reduce(tmp, d->p, (const bool *const *)left);
    if (r) {
        const ms_problem *rest = ms_reduced_problem(r);
        int *x = HB_ARRAY(tmp, int, rest->n_vars + 1);
        status = ms_solve_within(rest, max_cells, max_work, x, value);
        if (status == MS_OPTIMAL) {
            ms_reduced_expand(r, x, assignment);
            *value = ms_value(d->p, assignment);
        }
    }
    hb_arena_free(tmp);
    return status;
}

// --- start ---

static ms_warm *warm_for(hb_arena *a, const ms_problem *p, ms_warm **cache)
{
    ms_warm *w = cache ? *cache : NULL;
    if (w && w->n_vars == p->n_vars && w->n_edges == p->n_edges &&
        memcmp(w->domain, p->domain, sizeof *p->domain * (size_t)p->n_vars) == 0)
        return w;
    w = HB_NEW(a, ms_warm);
    *w = (ms_warm){.arena = a, .n_vars = p->n_vars, .n_edges = p->n_edges};
    w->domain = hb_copy(a, p->domain, sizeof *p->domain * (size_t)p->n_vars);
    w->to_a = hb_alloc(a, sizeof *w->to_a * (size_t)(p->n_edges + 1));
    w->to_b = hb_alloc(a, sizeof *w->to_b * (size_t)(p->n_edges + 1));
    for (int k = 0; k < p->n_edges; k++) {
        w->to_a[k] = HB_ARRAY(a, double, p->domain[p->edge[k].a]);
        w->to_b[k] = HB_ARRAY(a, double, p->domain[p->edge[k].b]);
    }
    if (cache) *cache = w;
    return w;
}

static void begin(dual *d, ms_warm *w)
{
    const ms_problem *p = d->p;
    int widest = 1, n_pairs = 0, *pair = HB_ARRAY(d->arena, int, p->n_edges + 1);
    double most = 0;
    ms_keys *seen = ms_keys_new(d->arena);
    table_pair *pairs = HB_ARRAY(d->arena, table_pair, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        pair[k] = pair_of(d, seen, pairs, &p->edge[k]);
        n_pairs = pair[k] >= n_pairs ? pair[k] + 1 : n_pairs;
        most += pairs[pair[k]].most;
    }
    for (int v = 0; v < p->n_vars; v++)
        most += largest(p->unary[v], (size_t)p->domain[v]);
    d->big = 4 * most + 1;
    for (int k = 0; k < n_pairs; k++)
        fill_pair(d, &pairs[k]);
    d->th = hb_alloc(d->arena, sizeof *d->th * (size_t)(p->n_vars + 1));
    for (int v = 0; v < p->n_vars; v++) {
        d->th[v] = HB_ARRAY(d->arena, double, p->domain[v]);
        for (int i = 0; i < p->domain[v]; i++) {
            double u = p->unary[v][i];
            d->th[v][i] = u < d->big ? u : d->big;
        }
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    }
    d->h = HB_ARRAY(d->arena, double, widest);
    d->x = HB_ARRAY(d->arena, double, widest);
    d->e = HB_ARRAY(d->arena, dual_edge, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        const table_pair *q = &pairs[pair[k]];
        d->e[k] = (dual_edge){e->a, e->b, q->f, q->t, w->to_a[k], w->to_b[k]};
        for (int i = 0; i < p->domain[e->a]; i++)
            d->th[e->a][i] += w->to_a[k][i];
        for (int i = 0; i < p->domain[e->b]; i++)
            d->th[e->b][i] += w->to_b[k][i];
    }
}

// --- the search between bound and value ---

enum { MANY_STATES = 2000 }; // with more, plain elimination is not even planned before the bound
static const double MOST_WORK = 5e8; // additions of one elimination, half a second or so

typedef struct state {   // of one solve
    double lower, value; // proved bound; best assignment so far, +inf none
    int *best;
} state;

// Eliminates what survives `room` above the bound and keeps the result if it is better.
static ms_status try_room(dual *d, double **slack, double room, uint64_t max_cells, double max_work,
                          int *x, state *s)
{
    double value = (double)INFINITY;
    ms_status status = eliminate(d, slack, room, max_cells, max_work, x, &value);
    if (status == MS_OPTIMAL && value < s->value) {
        s->value = value;
        memcpy(s->best, x, sizeof *x * (size_t)d->p->n_vars);
    }
    return status;
}

// Rounding in messages, which stay below big.
static double noise(const dual *d)
{
    return 1e-13 * d->big;
}

// Sweeps until the bound creeps; whether it is finite.
static bool raise_bound(dual *d, ms_min_rows *run, int most, double gap, state *s)
{
    enum { BATCH = 10 };
    double creep = gap / 4 > 1e-3 ? gap / 4 : 1e-3; // of the bound, in one batch
    for (int done = 0; done < most; done += BATCH) {
        double before = s->lower;
        for (int i = 0; i < BATCH; i++)
            sweep(d, run, i & 1);
        s->lower = bound(d);
        if (s->lower >= d->big) return false;
        if (s->lower - before < creep * fabs(s->lower)) break;
    }
    return true;
}

// Eliminates whatever could be better than the best assignment; whether that could be done.
static bool prove(dual *d, double **slack, uint64_t max_cells, double max_work, int *x, state *s)
{
    double room = s->value - s->lower + noise(d);
    if (try_room(d, slack, room, max_cells, max_work, x, s) != MS_OPTIMAL) return false;
    s->lower = s->value;
    return true;
}

// Sweeps and eliminations of growing size until the best assignment is proved within gap.
static ms_status close_gap(dual *d, uint64_t max_cells, double gap, state *s)
{
    enum { ROUNDS = 8, SWEEPS = 60 };
    static const double share[] = {1e-3, 1e-4,
                                   1e-6}; // of the bound, where a first value is looked for
    ms_min_rows *run = ms_best_min_rows();
    int n = d->p->n_vars, *x = HB_ARRAY(d->arena, int, n + 1);
    double **slack = hb_alloc(d->arena, sizeof *slack * (size_t)(n + 1)), work = 2e6;
    for (int v = 0; v < n; v++)
        slack[v] = HB_ARRAY(d->arena, double, d->p->domain[v]);
    s->lower = bound(d);
    if (!isinf(s->value)) {
        if (s->value <= s->lower + gap * fabs(s->lower)) return MS_OPTIMAL;
        slacks(d, slack, run);
        if (prove(d, slack, max_cells, work, x, s)) return MS_OPTIMAL;
    }
    for (int round = 0; round < ROUNDS; round++, work = work < MOST_WORK / 16 ? 4 * work : work) {
        if (!raise_bound(d, run, SWEEPS, gap, s)) return MS_INFEASIBLE;
        slacks(d, slack, run);
        double scale = fabs(s->lower);
        for (size_t k = 0; k < sizeof share / sizeof *share; k++) {
            ms_status t = try_room(d, slack, share[k] * scale + noise(d), max_cells, work, x, s);
            if (t == MS_OPTIMAL && s->value <= s->lower + share[k] * scale) {
                s->lower = s->value; // everything that good survived
                return MS_OPTIMAL;
            }
            if (t == MS_OPTIMAL) break;
        }
        if (s->value <= s->lower + gap * scale) return MS_OPTIMAL;
        if (!isinf(s->value) && prove(d, slack, max_cells, 8 * work, x, s)) return MS_OPTIMAL;
    }
    return MS_TOO_LARGE;
}

// Sweeps on until the bound is as good as rounding lets it be, or stays.
static void tighten(dual *d, double value)
{
    enum { BATCH = 10, BATCHES = 20 };
    ms_min_rows *run = ms_best_min_rows();
    double lower = bound(d);
    for (int i = 0; i < BATCHES && lower < value - 1e-9 * fabs(value); i++) {
        double before = lower;
        for (int k = 0; k < BATCH; k++)
            sweep(d, run, k & 1);
        lower = bound(d);
        if (lower - before < 0.05 * (value - before)) break;
    }
}

// The start that the solution of fewer layers gives: messages, and an assignment.
static void start_from(const ms_problem *p, const ms_tile *tile, uint64_t max_cells, double gap,
                       ms_warm *w, state *s)
{
    hb_arena *tmp = hb_arena_new();
    const ms_problem *q = &tile->small;
    int *x = HB_ARRAY(tmp, int, q->n_vars + 1);
    dual d = {.arena = tmp, .p = q};
    ms_warm *small = warm_for(tmp, q, NULL);
    begin(&d, small);
    state t = {.value = (double)INFINITY, .best = x};
    if (close_gap(&d, max_cells, gap, &t) == MS_OPTIMAL) {
        tighten(&d, t.value);
        for (int e = 0; e < p->n_edges; e++) {
            int k = tile->like_edge[e];
            if (k < 0) continue;
            size_t na = (size_t)p->domain[p->edge[e].a], nb = (size_t)p->domain[p->edge[e].b];
            memcpy(w->to_a[e], small->to_a[k], sizeof *w->to_a[e] * na);
            memcpy(w->to_b[e], small->to_b[k], sizeof *w->to_b[e] * nb);
        }
        for (int v = 0; v < p->n_vars; v++)
            s->best[v] = x[tile->like_var[v]];
        s->value = ms_value(p, s->best);
    }
    hb_arena_free(tmp);
}

ms_status ms_solve_bound(hb_arena *a, const ms_problem *p, uint64_t max_cells, double cheap,
                         double gap, ms_warm **cache, int *assignment, double *value, double *lower)
{
    // Small enough to eliminate as it is?
    ms_status status = MS_TOO_LARGE;
    if (cheap >= 0 || p->n_edges == 0)
        status =
            ms_solve_within(p, max_cells, p->n_edges ? cheap : (double)INFINITY, assignment, value);
    *lower = *value;
    if (status != MS_TOO_LARGE) return status;
    hb_arena *tmp = hb_arena_new();
    dual d = {.arena = tmp, .p = p};
    ms_warm *warm = warm_for(a, p, cache);
    state s = {.value = (double)INFINITY, .best = assignment};
    const ms_tile *tile = ms_tile_find(tmp, p);
    if (tile) start_from(p, tile, max_cells, gap / 2, warm, &s);
    begin(&d, warm);
    status = close_gap(&d, max_cells, gap, &s);
    if (status == MS_TOO_LARGE) {
        int *x = HB_ARRAY(tmp, int, p->n_vars + 1);
        status = ms_solve_within(p, max_cells, 4 * MOST_WORK, x, value);
        if (status == MS_OPTIMAL && *value <= s.value) {
            memcpy(assignment, x, sizeof *x * (size_t)p->n_vars);
            s.value = s.lower = *value;
        }
    }
    *value = s.value;
    *lower = s.lower < s.value ? s.lower : s.value;
    hb_arena_free(tmp);
    return status;
}

ms_status ms_solve_near(hb_arena *a, const ms_problem *p, uint64_t max_cells, double gap,
                        ms_warm **cache, int *assignment, double *value, double *lower)
{
    hb_arena *tmp = hb_arena_new();
    ms_reduced *r = ms_reduce(tmp, p, NULL);
    ms_status status = MS_INFEASIBLE;
    double below = 0;
    *value = (double)INFINITY;
    if (r) {
        const ms_problem *rest = ms_reduced_problem(r);
        int *x = HB_ARRAY(tmp, int, rest->n_vars + 1);
        int states = 0;
        for (int v = 0; v < rest->n_vars; v++)
            states += rest->domain[v];
        double cheap = states > MANY_STATES ? -1 : 2e6;
        status = ms_solve_bound(a, rest, max_cells, cheap, gap, cache, x, value, &below);
        below += ms_reduced_constant(r);
        if (!isinf(*value)) {
            ms_reduced_expand(r, x, assignment);
            *value = ms_value(p, assignment);
        }
    }
    hb_arena_free(tmp);
    if (lower) *lower = below < *value ? below : *value; // equal up to rounding
    return status;
}

ms_status ms_solve_dual(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_warm **cache,
                        int *assignment, double *value, double *lower)
{
    return ms_solve_near(a, p, max_cells, 0, cache, assignment, value, lower);
}
