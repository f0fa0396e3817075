#include "solver/ms_reduce.h"

#include <math.h>
#include <string.h>

#include "solver/minsum_parts.h"

// Two exact rules, in turn until neither finds anything:
//   dominance    state i of v goes if another state k never costs more, whatever the neighbours
//   take:
//                u_i - u_k + sum over edges of min_j (F_ij - F_kj) >= 0 (Goldstein 1994). This
//                stays true when states of other variables go too, so all variables are looked at
//                at once.
//   elimination  a variable with at most two neighbours becomes a table over them.
// Tables have ids, and every derived table is remembered by the ids it was made from: the repeated
// layers of a model are worked on once. A unary is a table of one column.

typedef struct grid {
    int rows, cols;
    const double *p;
    int twin;            // the transposed table, -1 not made yet
    const int *cheapest; // by row: its first column of least cost; NULL not made yet
} grid;

typedef struct link { // table id as seen from one end: [own][other]
    int edge, other, table;
} link;

typedef struct edge {
    int a, b, table; // [a][b]; table -1: gone
} edge;

typedef struct variable {
    int n, unary;
    const int *state; // of the problem, ascending
    HB_VEC(int) edges;
    bool gone;
} variable;

typedef struct removed {                     // in order of elimination
    int v, unary, n_near, near[2], table[2]; // tables [v][near]
    const int *near_state[2];                // states of the neighbours then
    int n_near_state[2];
} removed;

typedef struct keep_list {
    int n;
    const int *at;
} keep_list;

struct ms_reduced {
    hb_arena *arena;
    const ms_problem *p;
    HB_VEC(grid) grids;
    ms_keys *pointers, *derived;
    HB_VEC(int) by_pointer, by_derived; // ids of grids
    ms_keys *situations;                // (unary, tables) of a variable -> states to keep
    HB_VEC(int) by_situation;           // index into keeps
    ms_keys *keep_keys;
    HB_VEC(keep_list) keeps;
    ms_keys *compositions; // (state list, keep) -> state list
    HB_VEC(const int *) by_composition;
    variable *var;
    HB_VEC(edge) edges;
    HB_VEC(removed) removed;
    HB_VEC(uint32_t) key; // scratch
    double constant;      // of what is gone whole
    ms_problem rest;
    int *rest_var; // variable of p, by variable of rest
};

// --- tables ---

static int add_grid(ms_reduced *r, int rows, int cols, const double *p)
{
    HB_PUSH(r->arena, &r->grids, (grid){rows, cols, p, -1, NULL});
    return r->grids.n - 1;
}

static int given(ms_reduced *r, const double *p, int rows, int cols)
{
    uint64_t address = (uint64_t)(uintptr_t)p;
    uint32_t key[4] = {(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)rows,
                       (uint32_t)cols};
    bool is_new;
    int at = ms_key_id(r->pointers, key, 4, &is_new);
    if (is_new) {
        if (!p) p = HB_ARRAY(r->arena, double, rows *cols);
        for (int i = 0; i < rows * cols; i++)
            hb_assert(p[i] > (double)-INFINITY); // false for NaN too
        HB_PUSH(r->arena, &r->by_pointer, add_grid(r, rows, cols, p));
    }
    return r->by_pointer.p[at];
}

static int twin(ms_reduced *r, int id)
{
    grid g = r->grids.p[id];
    if (g.twin >= 0) return g.twin;
    double *t = hb_alloc(r->arena, sizeof *t * (size_t)g.rows * (size_t)g.cols);
    for (int i = 0; i < g.rows; i++)
        for (int j = 0; j < g.cols; j++)
            t[j * g.rows + i] = g.p[i * g.cols + j];
    int to = add_grid(r, g.cols, g.rows, t);
    r->grids.p[id].twin = to;
    r->grids.p[to].twin = id;
    return to;
}

enum { ADD, SHRINK, FOLD_ONE, FOLD_TWO };

// Slot of the table that `what` made of these ids; -1 in it if it was not made yet.
static int *made(ms_reduced *r, uint32_t what, int a, int b, int c)
{
    uint32_t key[4] = {what, (uint32_t)a, (uint32_t)b, (uint32_t)c};
    bool is_new;
    int at = ms_key_id(r->derived, key, 4, &is_new);
    if (is_new) HB_PUSH(r->arena, &r->by_derived, -1);
    return &r->by_derived.p[at];
}

static int add(ms_reduced *r, int x, int y)
{
    int a = x < y ? x : y, b = x < y ? y : x;
    int *slot = made(r, ADD, a, b, 0);
    if (*slot >= 0) return *slot;
    int rows = r->grids.p[a].rows, cols = r->grids.p[a].cols;
    size_t n = (size_t)rows * (size_t)cols;
    const double *p = r->grids.p[a].p, *q = r->grids.p[b].p;
    double *t = hb_alloc(r->arena, sizeof *t * n);
    for (size_t i = 0; i < n; i++)
        t[i] = p[i] + q[i];
    return *slot = add_grid(r, rows, cols, t);
}

static int shrink(ms_reduced *r, int id, int keep_rows, int keep_cols)
{
    if (keep_rows < 0 && keep_cols < 0) return id;
    int *slot = made(r, SHRINK, id, keep_rows, keep_cols);
    if (*slot >= 0) return *slot;
    grid g = r->grids.p[id];
    int rows = keep_rows < 0 ? g.rows : r->keeps.p[keep_rows].n;
    int cols = keep_cols < 0 ? g.cols : r->keeps.p[keep_cols].n;
    double *t = hb_alloc(r->arena, sizeof *t * (size_t)rows * (size_t)cols);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            int row = keep_rows < 0 ? i : r->keeps.p[keep_rows].at[i];
            t[i * cols + j] = g.p[row * g.cols + (keep_cols < 0 ? j : r->keeps.p[keep_cols].at[j])];
        }
    return *slot = add_grid(r, rows, cols, t);
}

// min over v of unary[v] + x[v][.]: a unary.
static int fold_one(ms_reduced *r, int unary, int x)
{
    int *slot = made(r, FOLD_ONE, unary, x, 0);
    if (*slot >= 0) return *slot;
    grid g = r->grids.p[x];
    const double *u = r->grids.p[unary].p;
    double *t = hb_alloc(r->arena, sizeof *t * (size_t)g.cols);
    for (int j = 0; j < g.cols; j++)
        t[j] = (double)INFINITY;
    for (int i = 0; i < g.rows; i++)
        for (int j = 0; j < g.cols; j++) {
            double v = u[i] + g.p[i * g.cols + j];
            t[j] = v < t[j] ? v : t[j];
        }
    return *slot = add_grid(r, g.cols, 1, t);
}

// min over v of unary[v] + x[v][a] + y[v][b]: a table [a][b].
static int fold_two(ms_reduced *r, int unary, int x, int y)
{
    if (x > y) return twin(r, fold_two(r, unary, y, x));
    int *slot = made(r, FOLD_TWO, unary, x, y);
    if (*slot >= 0) return *slot;
    grid gx = r->grids.p[x], gy = r->grids.p[y];
    const double *u = r->grids.p[unary].p;
    double *t = hb_alloc(r->arena, sizeof *t * (size_t)gx.cols * (size_t)gy.cols);
    for (int i = 0; i < gx.cols * gy.cols; i++)
        t[i] = (double)INFINITY;
    for (int v = 0; v < gx.rows; v++)
        for (int i = 0; i < gx.cols; i++) {
            double c = u[v] + gx.p[v * gx.cols + i], *out = t + i * gy.cols;
            const double *row = gy.p + v * gy.cols;
            for (int j = 0; j < gy.cols; j++) {
                double s = c + row[j];
                out[j] = s < out[j] ? s : out[j];
            }
        }
    return *slot = add_grid(r, gx.cols, gy.cols, t);
}

// --- the graph ---

static int other_end(const edge *e, int v)
{
    return e->a == v ? e->b : e->a;
}

static int seen_from(ms_reduced *r, const edge *e, int v)
{
    return e->a == v ? e->table : twin(r, e->table);
}

static void unlink_edge(variable *v, int e)
{
    int n = 0;
    for (int i = 0; i < v->edges.n; i++)
        if (v->edges.p[i] != e) v->edges.p[n++] = v->edges.p[i];
    v->edges.n = n;
}

static void connect(ms_reduced *r, int a, int b, int table)
{
    for (int i = 0; i < r->var[a].edges.n; i++) {
        int k = r->var[a].edges.p[i];
        edge *e = &r->edges.p[k];
        if (other_end(e, a) != b) continue;
        int sum = add(r, seen_from(r, e, a), table);
        r->edges.p[k] = (edge){a, b, sum};
        return;
    }
    HB_PUSH(r->arena, &r->edges, (edge){a, b, table});
    HB_PUSH(r->arena, &r->var[a].edges, r->edges.n - 1);
    HB_PUSH(r->arena, &r->var[b].edges, r->edges.n - 1);
}

// --- dominance ---

static int compare_links(const link *x, const link *y)
{
    return x->table != y->table ? (x->table < y->table ? -1 : 1) : 0;
}

static int links_of(ms_reduced *r, int v, link *out)
{
    variable *x = &r->var[v];
    for (int i = 0; i < x->edges.n; i++) {
        const edge *e = &r->edges.p[x->edges.p[i]];
        int other = other_end(e, v);
        link l = {x->edges.p[i], other, seen_from(r, e, v)};
        int k = i;
        for (; k > 0 && compare_links(&out[k - 1], &l) > 0; k--)
            out[k] = out[k - 1];
        out[k] = l;
    }
    return x->edges.n;
}

// An edge of the variable looked at.
typedef struct side {
    const double *p; // [own][other]
    int cols;
    const int *cheapest;
} side;

static side side_of(ms_reduced *r, int table)
{
    grid *g = &r->grids.p[table];
    if (!g->cheapest) {
        int *at = HB_ARRAY(r->arena, int, g->rows);
        for (int i = 0; i < g->rows; i++)
            for (int j = 1; j < g->cols; j++)
                if (g->p[i * g->cols + j] < g->p[i * g->cols + at[i]]) at[i] = j;
        g->cheapest = at;
    }
    return (side){g->p, g->cols, g->cheapest};
}

static bool dominated(const double *u, const side *l, int n, int i, int k)
{
    // Any column bounds min_j from above. Where i is cheapest, k is likely to cost more: most pairs
    // need one cell an edge.
    double sum = u[i] - u[k];
    for (int e = 0; e < n; e++) {
        int j = l[e].cheapest[i];
        sum += l[e].p[i * l[e].cols + j] - l[e].p[k * l[e].cols + j];
    }
    if (!(sum >= 0)) return false;
    sum = u[i] - u[k];
    for (int e = 0; e < n; e++) {
        const double *x = l[e].p + (size_t)i * (size_t)l[e].cols;
        const double *y = l[e].p + (size_t)k * (size_t)l[e].cols;
        double least = (double)INFINITY;
        for (int j = 0; j < l[e].cols; j++) {
            double d = x[j] - y[j]; // NaN if both are infinite: then j does not count
            least = d < least ? d : least;
        }
        sum += least;
        if (sum == -(double)INFINITY) return false;
    }
    return sum >= 0;
}

static int keep_id(ms_reduced *r, const int *at, int n)
{
    bool is_new;
    int id = ms_key_id(r->keep_keys, (const uint32_t *)at, n, &is_new);
    if (is_new)
        HB_PUSH(r->arena, &r->keeps, (keep_list){n, hb_copy(r->arena, at, sizeof *at * (size_t)n)});
    return id;
}

static bool possible(const double *u, const side *l, int n, int i)
{
    if (isinf(u[i])) return false;
    for (int e = 0; e < n; e++)
        if (isinf(l[e].p[i * l[e].cols + l[e].cheapest[i]])) return false;
    return true;
}

// States of v to keep: -1 all, -2 none is possible.
static int choose_keep(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    link *l = HB_ARRAY(r->arena, link, x->edges.n + 1);
    int n = links_of(r, v, l);
    r->key.n = 0;
    HB_PUSH(r->arena, &r->key, (uint32_t)x->unary);
    for (int e = 0; e < n; e++)
        HB_PUSH(r->arena, &r->key, (uint32_t)l[e].table);
    bool is_new;
    int at = ms_key_id(r->situations, r->key.p, r->key.n, &is_new);
    if (!is_new) return r->by_situation.p[at];
    const double *u = r->grids.p[x->unary].p;
    int *live = HB_ARRAY(r->arena, int, x->n), m = 0;
    side *side_at = HB_ARRAY(r->arena, side, n + 1);
    for (int e = 0; e < n; e++)
        side_at[e] = side_of(r, l[e].table);
    for (int i = 0; i < x->n; i++)
        if (possible(u, side_at, n, i)) live[m++] = i;
    for (int i = m - 1; i >= 0; i--) { // of equal states the lowest stays
        bool gone = false;
        for (int k = 0; k < m && !gone; k++)
            gone = k != i && dominated(u, side_at, n, live[i], live[k]);
        if (!gone) continue;
        memmove(live + i, live + i + 1, sizeof *live * (size_t)(m - i - 1));
        m--;
    }
    int id = m == 0 ? -2 : m == x->n ? -1 : keep_id(r, live, m);
    HB_PUSH(r->arena, &r->by_situation, id);
    return id;
}

static const int *compose(ms_reduced *r, const int *state, int keep)
{
    uint64_t address = (uint64_t)(uintptr_t)state;
    uint32_t key[3] = {(uint32_t)address, (uint32_t)(address >> 32), (uint32_t)keep};
    bool is_new;
    int at = ms_key_id(r->compositions, key, 3, &is_new);
    if (is_new) {
        const keep_list *k = &r->keeps.p[keep];
        int *s = HB_ARRAY(r->arena, int, k->n);
        for (int i = 0; i < k->n; i++)
            s[i] = state[k->at[i]];
        HB_PUSH(r->arena, &r->by_composition, s);
    }
    return r->by_composition.p[at];
}

// One look at every variable. False if some variable has no possible state; *changed if states
// went.
static bool drop_states(ms_reduced *r, bool *changed)
{
    int n = r->p->n_vars, *keep = HB_ARRAY(r->arena, int, n + 1);
    *changed = false;
    for (int v = 0; v < n; v++) {
        keep[v] = -1;
        if (r->var[v].gone) continue;
        keep[v] = choose_keep(r, v);
        if (keep[v] == -2) return false;
        *changed |= keep[v] >= 0;
    }
    if (!*changed) return true;
    for (int e = 0; e < r->edges.n; e++) {
        edge *g = &r->edges.p[e];
        if (g->table >= 0) g->table = shrink(r, g->table, keep[g->a], keep[g->b]);
    }
    for (int v = 0; v < n; v++) {
        variable *x = &r->var[v];
        if (keep[v] < 0) continue;
        x->unary = shrink(r, x->unary, keep[v], -1);
        x->state = compose(r, x->state, keep[v]);
        x->n = r->keeps.p[keep[v]].n;
    }
    return true;
}

// --- elimination ---

// A table may grow by this much over the two it replaces.
static const double GROWTH = 3;

static bool may_go(const ms_reduced *r, int v)
{
    const variable *x = &r->var[v];
    if (x->gone || x->edges.n > 2) return false;
    if (x->edges.n < 2 || x->n == 1) return true;
    double a = r->var[other_end(&r->edges.p[x->edges.p[0]], v)].n;
    double b = r->var[other_end(&r->edges.p[x->edges.p[1]], v)].n;
    return a * b <= GROWTH * x->n * (a + b);
}

static void go(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    removed q = {.v = v, .unary = x->unary, .n_near = x->edges.n};
    for (int i = 0; i < q.n_near; i++) {
        edge *e = &r->edges.p[x->edges.p[i]];
        int other = other_end(e, v);
        q.near[i] = other;
        q.table[i] = seen_from(r, e, v);
        q.near_state[i] = r->var[other].state;
        q.n_near_state[i] = r->var[other].n;
        unlink_edge(&r->var[other], x->edges.p[i]);
        r->edges.p[x->edges.p[i]].table = -1;
    }
    x->gone = true;
    HB_PUSH(r->arena, &r->removed, q);
    if (q.n_near == 0) {
        double least = (double)INFINITY;
        for (int i = 0; i < x->n; i++)
            least = r->grids.p[x->unary].p[i] < least ? r->grids.p[x->unary].p[i] : least;
        r->constant += least;
    }
    if (q.n_near == 1) {
        variable *w = &r->var[q.near[0]];
        w->unary = add(r, w->unary, fold_one(r, q.unary, q.table[0]));
    } else if (q.n_near == 2) {
        connect(r, q.near[0], q.near[1], fold_two(r, q.unary, q.table[0], q.table[1]));
    }
}

// A variable with one state, whatever it meets.
static void fix(ms_reduced *r, int v)
{
    variable *x = &r->var[v];
    while (x->edges.n > 0) {
        int k = x->edges.p[x->edges.n - 1], other = other_end(&r->edges.p[k], v);
        variable *w = &r->var[other];
        int table = seen_from(r, &r->edges.p[k], v); // may move the grids
        grid row = r->grids.p[table];                // a row [1][n] is a unary [n][1]
        w->unary = add(r, w->unary, given(r, row.p, row.cols, 1));
        r->edges.p[k].table = -1;
        unlink_edge(w, k);
        x->edges.n--;
    }
}

// In rounds from the lowest number of neighbours up, so that equal layers go in the same order.
static bool eliminate(ms_reduced *r)
{
    bool any = false;
    for (int v = 0; v < r->p->n_vars; v++)
        if (!r->var[v].gone && r->var[v].n == 1 && r->var[v].edges.n > 0) {
            fix(r, v);
            any = true;
        }
    for (bool again = true; again;) {
        again = false;
        for (int degree = 0; degree <= 2; degree++)
            for (int v = 0; v < r->p->n_vars; v++)
                if (!r->var[v].gone && r->var[v].edges.n == degree && may_go(r, v)) {
                    go(r, v);
                    again = any = true;
                }
    }
    return any;
}

// --- result ---

static void write_rest(ms_reduced *r)
{
    int n = r->p->n_vars, *index = HB_ARRAY(r->arena, int, n + 1),
        *domain = HB_ARRAY(r->arena, int, n + 1);
    const double **unary = hb_alloc(r->arena, sizeof *unary * (size_t)(n + 1));
    ms_edge *e = HB_ARRAY(r->arena, ms_edge, r->edges.n + 1);
    r->rest_var = HB_ARRAY(r->arena, int, n + 1);
    for (int v = 0; v < n; v++) {
        if (r->var[v].gone) continue;
        index[v] = r->rest.n_vars;
        r->rest_var[r->rest.n_vars] = v;
        domain[r->rest.n_vars] = r->var[v].n;
        unary[r->rest.n_vars++] = r->grids.p[r->var[v].unary].p;
    }
    for (int k = 0; k < r->edges.n; k++) {
        const edge *g = &r->edges.p[k];
        if (g->table >= 0)
            e[r->rest.n_edges++] = (ms_edge){index[g->a], index[g->b], r->grids.p[g->table].p};
    }
    r->rest.domain = domain;
    r->rest.unary = unary;
    r->rest.edge = e;
}

ms_reduced *ms_reduce(hb_arena *a, const ms_problem *p)
{
    ms_reduced *r = HB_NEW(a, ms_reduced);
    r->arena = a;
    r->p = p;
    r->pointers = ms_keys_new(a);
    r->derived = ms_keys_new(a);
    r->situations = ms_keys_new(a);
    r->keep_keys = ms_keys_new(a);
    r->compositions = ms_keys_new(a);
    r->var = HB_ARRAY(a, variable, p->n_vars + 1);
    int widest = 0;
    for (int v = 0; v < p->n_vars; v++)
        widest = p->domain[v] > widest ? p->domain[v] : widest;
    int *whole = HB_ARRAY(a, int, widest + 1);
    for (int i = 0; i < widest; i++)
        whole[i] = i;
    for (int v = 0; v < p->n_vars; v++) {
        const double *u = p->unary ? p->unary[v] : NULL;
        r->var[v] =
            (variable){.n = p->domain[v], .state = whole, .unary = given(r, u, p->domain[v], 1)};
    }
    for (int k = 0; k < p->n_edges; k++) {
        const ms_edge *e = &p->edge[k];
        connect(r, e->a, e->b, given(r, e->table, p->domain[e->a], p->domain[e->b]));
    }
    for (bool again = true; again;) {
        bool dropped;
        if (!drop_states(r, &dropped)) return NULL;
        again = eliminate(r);
        again |= dropped;
    }
    if (isinf(r->constant)) return NULL;
    write_rest(r);
    return r;
}

const ms_problem *ms_reduced_problem(const ms_reduced *r)
{
    return &r->rest;
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
        const double *u = r->grids.p[q->unary].p;
        int best = 0, at[2] = {0};
        double least = (double)INFINITY;
        for (int i = 0; i < q->n_near; i++)
            at[i] = place_of(q->near_state[i], q->n_near_state[i], assignment[q->near[i]]);
        for (int s = 0; s < x->n; s++) {
            double sum = u[s];
            for (int i = 0; i < q->n_near; i++) {
                const grid *g = &r->grids.p[q->table[i]];
                sum += g->p[(size_t)s * (size_t)g->cols + (size_t)at[i]];
            }
            if (sum < least) {
                least = sum;
                best = s;
            }
        }
        assignment[q->v] = x->state[best];
    }
}
