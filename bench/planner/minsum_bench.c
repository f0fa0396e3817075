// Time of the min-sum solver on the shape of a transformer's training step: L layers of forward,
// backward and optimizer, tables shared by all layers, domains as one or two axes with `cuts` cut
// ids each give them.
//
//     minsum_bench [layers [cuts [solves [axes]]]]
//
// Plain elimination (one axis only), reduction and dual bound, the same when no pointer tells that
// layers are equal, and warm starts under costs that change. Prints the first solve, the median of
// the others (processor time), and #wrong: values that differ by more than 1e-9 relative from those
// of the first method, bounds that do not hold, plus local improvements found by changing one
// variable of the answer (there can be none).

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "solver/minsum.h"

enum { ROLES = 4096 };

typedef struct builder {
    hb_arena *arena;
    int cuts, axes;
    HB_VEC(int) domain, per_axis; // by variable: states, and those of one axis
    HB_VEC(const double *) unary;
    HB_VEC(ms_edge) edge;
    const double *shared[ROLES]; // by role of the edge in its layer
    const double *shared_unary[ROLES];
    int edge_role, var_role;
    uint64_t random;
} builder;

static double uniform(builder *b)
{
    b->random = b->random * 6364136223846793005u + 1442695040888963407u;
    return (double)(b->random >> 11) / 9007199254740992.0;
}

// What a cut to state i leaves to one rank.
static double share(int i)
{
    return i % 5 ? 0.125 : 1;
}

// A variable of n states an axis.
static int var(builder *b, int n)
{
    int role = b->var_role++ % ROLES, all = b->axes == 2 ? n * n : n;
    if (!b->shared_unary[role]) {
        double *t = HB_ARRAY(b->arena, double, all), whole = 2 + 4 * uniform(b);
        for (int i = 0; i < all; i++)
            t[i] = uniform(b) + whole * share(i / n) * (b->axes == 2 ? share(i % n) : 1);
        b->shared_unary[role] = t;
    }
    HB_PUSH(b->arena, &b->domain, all);
    HB_PUSH(b->arena, &b->per_axis, n);
    HB_PUSH(b->arena, &b->unary, b->shared_unary[role]);
    return b->domain.n - 1;
}

// Moving a tensor between its states: all pairs of the shortest path over moves along one axis,
// each of which costs what the other axis leaves. State 0 of an axis is whole.
static double *moves(builder *b, int n)
{
    int all = b->axes == 2 ? n * n : n;
    double *d = HB_ARRAY(b->arena, double, all *all), *one = HB_ARRAY(b->arena, double, n *n);
    double bytes = 0.2 + 3 * uniform(b) * uniform(b);
    for (int i = 0; i < n * n; i++)
        one[i] = i % (n + 1) == 0 ? 0 : i % n == 0 ? bytes : 0.2 * bytes * uniform(b);
    for (int i = 0; i < all; i++)
        for (int j = 0; j < all; j++) {
            d[i * all + j] = (double)INFINITY;
            if (b->axes == 1 || i % n == j % n)
                d[i * all + j] =
                    0.01 * (i != j) +
                    (b->axes == 1 ? one[i * n + j] : one[i / n * n + j / n] * share(i % n));
            else if (i / n == j / n)
                d[i * all + j] = 0.01 + 3 * one[i % n * n + j % n] * share(i / n);
        }
    for (int k = 0; k < all; k++)
        for (int i = 0; i < all; i++)
            for (int j = 0; j < all; j++)
                if (d[i * all + k] + d[k * all + j] < d[i * all + j])
                    d[i * all + j] = d[i * all + k] + d[k * all + j];
    return d;
}

// Which state of the tensor each state of a variable makes or takes; a form need not know all.
static int *layouts(builder *b, int n, int states)
{
    int *at = HB_ARRAY(b->arena, int, n);
    for (int i = 0; i < n; i++)
        at[i] = i < states ? i : (int)(uniform(b) * states);
    return at;
}

static const double *table(builder *b, int nx, int ny)
{
    int n = 2 + 2 * b->cuts, all = b->axes == 2 ? n * n : n;
    const double *d = moves(b, n);
    const int *x = layouts(b, nx, n), *y = layouts(b, ny, n);
    int rows = b->axes == 2 ? nx * nx : nx, cols = b->axes == 2 ? ny * ny : ny;
    double *t = HB_ARRAY(b->arena, double, rows *cols);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < cols; j++) {
            int from = b->axes == 2 ? x[i / nx] * n + x[i % nx] : x[i];
            int to = b->axes == 2 ? y[j / ny] * n + y[j % ny] : y[j];
            t[i * cols + j] = d[from * all + to];
        }
    return t;
}

static void join(builder *b, int x, int y)
{
    int role = b->edge_role++ % ROLES;
    if (!b->shared[role]) b->shared[role] = table(b, b->per_axis.p[x], b->per_axis.p[y]);
    HB_PUSH(b->arena, &b->edge, (ms_edge){x, y, b->shared[role]});
}

typedef struct block_io {
    int x, dx; // the residual stream's tensor states, forward and backward
} block_io;

// One sub-layer norm -> linear -> middle -> linear -> add with its backward and two parameters.
static block_io half_block(builder *b, block_io in, bool attention)
{
    int one = 2 + 2 * b->cuts, form = 2 + 3 * b->cuts, pair = b->axes == 2 ? 2 * one : 3 * one;
    int stat = var(b, one), m2 = var(b, one), norm = var(b, form), y = var(b, one);
    int w1 = var(b, pair), lin1 = var(b, form), h = var(b, one), mid = var(b, form);
    int saved = var(b, one), w2 = var(b, pair), lin2 = var(b, form), add = var(b, form);
    int out = var(b, one);
    join(b, in.x, stat), join(b, in.x, m2), join(b, stat, m2), join(b, in.x, norm);
    join(b, stat, norm), join(b, m2, norm), join(b, norm, y), join(b, y, lin1), join(b, w1, lin1);
    join(b, lin1, h), join(b, h, mid), join(b, mid, saved), join(b, saved, lin2);
    join(b, w2, lin2), join(b, lin2, add), join(b, in.x, add), join(b, add, out);
    int dout = var(b, one), dx2 = var(b, form), dw2 = var(b, form), adam2 = var(b, form);
    int dmid = var(b, form), dh = var(b, one), dx1 = var(b, form), dw1 = var(b, form);
    int adam1 = var(b, form), nstat = var(b, form), nbwd = var(b, form), npar = var(b, form);
    int dy = var(b, one), dadd = var(b, form);
    join(b, dout, dx2), join(b, w2, dx2), join(b, dout, dw2), join(b, saved, dw2);
    join(b, dw2, adam2), join(b, w2, adam2), join(b, dx2, dmid), join(b, h, dmid);
    join(b, dmid, dh), join(b, dh, dx1), join(b, w1, dx1), join(b, dh, dw1), join(b, y, dw1);
    join(b, dw1, adam1), join(b, w1, adam1), join(b, dx1, dy), join(b, dy, nstat);
    join(b, in.x, nstat), join(b, dy, nbwd), join(b, in.x, nbwd), join(b, nstat, nbwd);
    join(b, stat, nbwd), join(b, m2, nbwd), join(b, dy, npar), join(b, in.x, npar);
    join(b, nbwd, dadd), join(b, dout, dadd), join(b, in.dx, dadd);
    if (attention) { // separate q, k, v, and the statistics that the backward reads
        int q = var(b, one), k = var(b, one), v = var(b, one), lse = var(b, one);
        int dq = var(b, form), dk = var(b, form), dv = var(b, form);
        join(b, h, q), join(b, h, k), join(b, h, v), join(b, q, mid), join(b, k, mid);
        join(b, v, mid), join(b, mid, lse), join(b, lse, dmid), join(b, q, dmid);
        join(b, k, dmid), join(b, v, dmid), join(b, dmid, dq), join(b, dmid, dk);
        join(b, dmid, dv), join(b, dq, dh), join(b, dk, dh), join(b, dv, dh);
    }
    return (block_io){out, dout};
}

static double now_ms(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

// Changes of one variable that make the sum smaller.
static int improvements(const ms_problem *p, const int *at, double value)
{
    hb_arena *a = hb_arena_new();
    double **sum = hb_alloc(a, sizeof *sum * (size_t)p->n_vars);
    for (int v = 0; v < p->n_vars; v++)
        sum[v] = hb_copy(a, p->unary[v], sizeof **sum * (size_t)p->domain[v]);
    for (int e = 0; e < p->n_edges; e++) {
        int x = p->edge[e].a, y = p->edge[e].b, ny = p->domain[y];
        for (int i = 0; i < p->domain[x]; i++)
            sum[x][i] += p->edge[e].table[i * ny + at[y]];
        for (int i = 0; i < ny; i++)
            sum[y][i] += p->edge[e].table[at[x] * ny + i];
    }
    int n = 0;
    for (int v = 0; v < p->n_vars; v++)
        for (int i = 0; i < p->domain[v]; i++)
            n += sum[v][i] < sum[v][at[v]] - 1e-9 * value;
    hb_arena_free(a);
    return n;
}

typedef enum { ELIMINATION, DUAL, WARM } method;

typedef struct result {
    double value, lower;
} result;

// The same problem with other costs: equal layers stay equal.
static const double *const *scaled(hb_arena *a, const ms_problem *p, double by)
{
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)p->n_vars);
    int *first = HB_ARRAY(a, int, p->n_vars), n = 0; // of each distinct pointer
    for (int v = 0; v < p->n_vars; v++) {
        int k = 0;
        while (k < n && p->unary[first[k]] != p->unary[v])
            k++;
        if (k == n) {
            double *u = HB_ARRAY(a, double, p->domain[v]);
            for (int i = 0; i < p->domain[v]; i++)
                u[i] = (n % 3 ? by : 1) * p->unary[v][i];
            unary[v] = u;
            first[n++] = v;
        }
        unary[v] = unary[first[k]];
    }
    return unary;
}

static result run(const char *what, const ms_problem *p, int solves, method how, int *at,
                  int *wrong)
{
    hb_arena *a = hb_arena_new();
    double *ms = HB_ARRAY(a, double, solves);
    result first = {0};
    ms_order *order = NULL;
    ms_warm *warm = NULL;
    for (int i = 0; i < solves; i++) {
        result r = {0};
        ms_problem q = *p;
        if (how == WARM && i) q.unary = scaled(a, p, 0.9 + 0.02 * i / solves);
        double start = now_ms();
        ms_status s = how == ELIMINATION ? ms_solve(a, p, 0, &order, at, &r.value)
                                         : ms_solve_dual(a, &q, 0, how == WARM ? &warm : NULL, at,
                                                         &r.value, &r.lower);
        ms[i] = now_ms() - start;
        if (s == MS_INFEASIBLE || (s != MS_OPTIMAL && how == ELIMINATION)) {
            printf("%s: %s\n", what, s == MS_INFEASIBLE ? "infeasible" : "too large");
            exit(1);
        }
        if (how == ELIMINATION) r.lower = r.value;
        *wrong += r.lower > r.value * (1 + 1e-9);
        if (!i) first = r;
        if (how != WARM) *wrong += fabs(r.value - first.value) > 1e-9 * first.value;
        if (!i) *wrong += improvements(p, at, r.value);
    }
    double cold = ms[0];
    qsort(ms + 1, (size_t)solves - 1, sizeof *ms, ascending);
    printf("%s: first %.2f ms, then %.2f ms, value %.9g, proved %.9g\n", what, cold,
           ms[1 + (solves - 1) / 2], first.value, first.lower);
    hb_arena_free(a);
    return first;
}

int main(int argc, char **argv)
{
    int layers = argc > 1 ? atoi(argv[1]) : 12, cuts = argc > 2 ? atoi(argv[2]) : 3;
    int solves = argc > 3 ? atoi(argv[3]) : 11, axes = argc > 4 ? atoi(argv[4]) : 1, wrong = 0;
    if (layers < 1 || cuts < 1 || solves < 2 || axes < 1 || axes > 2) return 2;
    builder b = {.arena = hb_arena_new(), .cuts = cuts, .axes = axes, .random = 1};
    int one = 2 + 2 * cuts;
    int wte = var(&b, (4 - axes) * one), embed = var(&b, one);
    block_io io = {var(&b, one), var(&b, one)};
    int first_dx = io.dx;
    join(&b, wte, embed), join(&b, embed, io.x);
    int edge_base = b.edge_role, var_base = b.var_role;
    for (int l = 0; l < layers; l++) {
        b.edge_role = edge_base;
        b.var_role = var_base;
        io = half_block(&b, io, true);
        io = half_block(&b, io, false);
    }
    int logits = var(&b, one), dwte = var(&b, one), adam = var(&b, one);
    join(&b, io.x, logits), join(&b, wte, logits), join(&b, logits, io.dx);
    join(&b, wte, io.dx), join(&b, logits, dwte), join(&b, first_dx, dwte), join(&b, dwte, adam);
    join(&b, wte, adam);

    ms_problem p = {b.domain.n, b.domain.p, b.unary.p, b.edge.n, b.edge.p, NULL, NULL, 0};
    int *at = HB_ARRAY(b.arena, int, p.n_vars);
    int widest = 0;
    for (int v = 0; v < p.n_vars; v++)
        widest = p.domain[v] > widest ? p.domain[v] : widest;
    printf("%d variables, %d edges, domains to %d\n", p.n_vars, p.n_edges, widest);
    ms_problem apart = p; // every variable's costs at an address of their own
    const double **unary = hb_alloc(b.arena, sizeof *unary * (size_t)p.n_vars);
    for (int v = 0; v < p.n_vars; v++)
        unary[v] = hb_copy(b.arena, p.unary[v], sizeof **unary * (size_t)p.domain[v]);
    apart.unary = unary;
    result dual = run("reduction and dual", &p, solves, DUAL, at, &wrong);
    result same = run("the same, layers not known to be equal", &apart, solves, DUAL, at, &wrong);
    run("warm, costs change", &p, solves, WARM, at, &wrong);
    wrong += same.lower > dual.value * (1 + 1e-9) || dual.lower > same.value * (1 + 1e-9);
    if (axes == 1) {
        result all = run("elimination alone", &p, solves, ELIMINATION, at, &wrong);
        wrong += fabs(all.value - dual.value) > 1e-9 * all.value;
    }
    printf("#wrong %d\n", wrong);
    hb_arena_free(b.arena);
    return wrong != 0;
}
