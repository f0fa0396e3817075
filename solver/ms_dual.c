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
    double *f, *t;
} table_pair;

static void *table_of(dual *d, hb_map *seen, table_pair *pairs, int *n, const ms_edge *e)
{
    int rows = d->p->domain[e->a], cols = d->p->domain[e->b];
    hb_str key = {(const char *)&e->table, sizeof e->table};
    int at = hb_map_get(seen, key);
    if (at >= 0) return &pairs[at];
    table_pair *q = &pairs[*n];
    size_t cells = (size_t)rows * (size_t)cols;
    *q = (table_pair){e->table, rows, cols, HB_ARRAY(d->arena, double, cells),
                      HB_ARRAY(d->arena, double, cells)};
    for (int i = 0; i < rows; i++)
        for (int k = 0; k < cols; k++) {
            double v = e->table[(size_t)i * (size_t)cols + (size_t)k];
            v = v < d->big ? v : d->big;
            q->f[(size_t)i * (size_t)cols + (size_t)k] = v;
            q->t[(size_t)k * (size_t)rows + (size_t)i] = v;
        }
    hb_map_put(seen, (hb_str){(const char *)&q->key, sizeof q->key}, (*n)++);
    return q;
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

static ms_status eliminate(dual *d, double **slack, double room, uint64_t max_cells,
                           int *assignment, double *value, int *left)
{
    const double **unary = hb_alloc(d->arena, sizeof *unary * (size_t)(d->p->n_vars + 1));
    *left = 0;
    for (int v = 0; v < d->p->n_vars; v++) {
        double *u = HB_ARRAY(d->arena, double, d->p->domain[v]);
        for (int i = 0; i < d->p->domain[v]; i++) {
            bool stays = slack[v][i] <= room;
            u[i] = !stays ? (double)INFINITY : d->p->unary[v] ? d->p->unary[v][i] : 0;
            *left += stays;
        }
        unary[v] = u;
    }
    ms_problem q = *d->p;
    q.unary = unary;
    return ms_solve(d->arena, &q, max_cells, NULL, assignment, value);
}

// --- start ---

static double choose_big(const ms_problem *p)
{
    double most = 0;
    for (int v = 0; v < p->n_vars; v++) {
        double m = 0;
        for (int i = 0; p->unary[v] && i < p->domain[v]; i++)
            if (p->unary[v][i] < (double)INFINITY && fabs(p->unary[v][i]) > m)
                m = fabs(p->unary[v][i]);
        most += m;
    }
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        double m = 0;
        for (int i = 0; i < p->domain[e->a] * p->domain[e->b]; i++)
            if (e->table[i] < (double)INFINITY && fabs(e->table[i]) > m) m = fabs(e->table[i]);
        most += m;
    }
    return 4 * most + 1;
}

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
    int widest = 1, n_pairs = 0;
    d->th = hb_alloc(d->arena, sizeof *d->th * (size_t)(p->n_vars + 1));
    for (int v = 0; v < p->n_vars; v++) {
        d->th[v] = HB_ARRAY(d->arena, double, p->domain[v]);
        for (int i = 0; i < p->domain[v]; i++) {
            double u = p->unary[v] ? p->unary[v][i] : 0;
            d->th[v][i] = u < d->big ? u : d->big;
        }
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    }
    d->h = HB_ARRAY(d->arena, double, widest);
    d->x = HB_ARRAY(d->arena, double, widest);
    d->e = HB_ARRAY(d->arena, dual_edge, p->n_edges + 1);
    hb_map *seen = hb_map_new(d->arena);
    table_pair *pairs = HB_ARRAY(d->arena, table_pair, p->n_edges + 1);
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        const table_pair *q = table_of(d, seen, pairs, &n_pairs, e);
        d->e[k] = (dual_edge){e->a, e->b, q->f, q->t, w->to_a[k], w->to_b[k]};
        for (int i = 0; i < p->domain[e->a]; i++)
            d->th[e->a][i] += w->to_a[k][i];
        for (int i = 0; i < p->domain[e->b]; i++)
            d->th[e->b][i] += w->to_b[k][i];
    }
}

ms_status ms_solve_dual(hb_arena *a, const ms_problem *p, uint64_t max_cells, ms_warm **cache,
                        int *assignment, double *value, double *lower)
{
    static const double share[] = {1e-6, 1e-4, 1e-3};
    enum { SWEEPS = 10, ROUNDS = 30 };
    hb_arena *tmp = hb_arena_new();
    ms_problem with_unary = *p;
    if (!p->unary) with_unary.unary = hb_alloc(tmp, sizeof *p->unary * (size_t)(p->n_vars + 1));
    p = &with_unary;
    dual d = {.arena = tmp, .p = p, .big = choose_big(p)};
    ms_min_rows *run = ms_best_min_rows();
    begin(&d, warm_for(a, p, cache));
    double **slack = hb_alloc(tmp, sizeof *slack * (size_t)(p->n_vars + 1));
    for (int v = 0; v < p->n_vars; v++)
        slack[v] = HB_ARRAY(tmp, double, p->domain[v]);
    double last = -(double)INFINITY, lb = 0;
    ms_status status = MS_TOO_LARGE;
    for (int round = 0; round < ROUNDS && p->n_edges > 0 && status != MS_OPTIMAL; round++) {
        for (int i = 0; i < SWEEPS; i++)
            sweep(&d, run, i & 1);
        lb = bound(&d);
        if (lb >= d.big) { // no finite assignment
            hb_arena_free(tmp);
            return MS_INFEASIBLE;
        }
        bool settled = lb - last < 1e-5 * fabs(lb);
        last = lb;
        if (!settled && round < ROUNDS - 1) continue;
        slacks(&d, slack, run);
        for (size_t s = 0; s < sizeof share / sizeof *share && status != MS_OPTIMAL; s++) {
            double room = share[s] * fabs(lb) + 1e-15;
            int left = 0;
            status = eliminate(&d, slack, room, 1u << 22, assignment, value, &left);
            if (status == MS_OPTIMAL && *value > lb + room)
                status = MS_TOO_LARGE; // not proved: something better may have been cut off
            else if (status == MS_TOO_LARGE)
                break;
        }
    }
    if (status != MS_OPTIMAL) {
        status = ms_solve(a, p, max_cells, NULL, assignment, value);
        lb = *value;
    }
    hb_arena_free(tmp);
    if (lower) *lower = lb;
    return status;
}
