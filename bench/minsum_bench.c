// Time of the min-sum solver on the shape of a transformer's training step: L layers of forward,
// backward and optimizer, tables shared by all layers, domains as one axis with `cuts` cut ids
// gives them.
//
//     minsum_bench [layers] [cuts] [solves]
//
// Prints the first solve (ordering included), the median of the others, and #wrong: solves whose
// value differs from that of the first by more than 1e-9 relative (the problem is the same each
// time), plus local improvements found by changing one variable of the answer (there can be none).

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "solver/minsum.h"

enum { ROLES = 4096 };

typedef struct builder {
    hb_arena *arena;
    int cuts;
    HB_VEC(int) domain;
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

static int var(builder *b, int n)
{
    int role = b->var_role++ % ROLES;
    if (!b->shared_unary[role]) {
        double *t = HB_ARRAY(b->arena, double, n);
        for (int i = 0; i < n; i++)
            t[i] = i ? uniform(b) : 4;
        b->shared_unary[role] = t;
    }
    HB_PUSH(b->arena, &b->domain, n);
    HB_PUSH(b->arena, &b->unary, b->shared_unary[role]);
    return b->domain.n - 1;
}

static void join(builder *b, int x, int y)
{
    int nx = b->domain.p[x], ny = b->domain.p[y], role = b->edge_role++ % ROLES;
    if (!b->shared[role]) {
        double *t = HB_ARRAY(b->arena, double, nx *ny);
        for (int i = 0; i < nx; i++)
            for (int j = 0; j < ny; j++)
                t[i * ny + j] = i % 5 == j % 5     ? 0
                                : uniform(b) < 0.1 ? (double)INFINITY
                                                   : 3 * uniform(b);
        b->shared[role] = t;
    }
    HB_PUSH(b->arena, &b->edge, (ms_edge){x, y, b->shared[role]});
}

typedef struct block_io {
    int x, dx; // the residual stream's tensor states, forward and backward
} block_io;

// One sub-layer norm -> linear -> middle -> linear -> add with its backward and two parameters.
static block_io half_block(builder *b, block_io in, bool attention)
{
    int one = 2 + 2 * b->cuts, form = 2 + 3 * b->cuts, pair = 3 * one;
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
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static int improvements(const ms_problem *p, int *at, double value)
{
    int n = 0;
    for (int v = 0; v < p->n_vars; v++) {
        int kept = at[v];
        for (at[v] = 0; at[v] < p->domain[v]; at[v]++)
            n += ms_value(p, at) < value * (1 - 1e-9);
        at[v] = kept;
    }
    return n;
}

static double run(const char *what, const ms_problem *p, int solves, bool dual, int *at, int *wrong)
{
    hb_arena *a = hb_arena_new();
    double *ms = HB_ARRAY(a, double, solves), first = 0, value = 0;
    ms_order *order = NULL;
    for (int i = 0; i < solves; i++) {
        double start = now_ms();
        ms_status s = dual ? ms_solve_dual(a, p, 0, NULL, at, &value, NULL)
                           : ms_solve(a, p, 0, &order, at, &value);
        ms[i] = now_ms() - start;
        if (s != MS_OPTIMAL) {
            printf("%s: %s\n", what, s == MS_INFEASIBLE ? "infeasible" : "too large");
            exit(1);
        }
        if (!i) first = value;
        *wrong += fabs(value - first) > 1e-9 * first;
    }
    *wrong += improvements(p, at, first);
    double cold = ms[0];
    qsort(ms + 1, (size_t)solves - 1, sizeof *ms, ascending);
    printf("%s: first %.2f ms, then %.2f ms, value %.6g\n", what, cold, ms[1 + (solves - 1) / 2],
           first);
    hb_arena_free(a);
    return first;
}

int main(int argc, char **argv)
{
    int layers = argc > 1 ? atoi(argv[1]) : 12, cuts = argc > 2 ? atoi(argv[2]) : 3;
    int solves = argc > 3 ? atoi(argv[3]) : 11, wrong = 0;
    if (layers < 1 || cuts < 1 || solves < 2) return 2;
    builder b = {.arena = hb_arena_new(), .cuts = cuts, .random = 1};
    int one = 2 + 2 * cuts;
    int wte = var(&b, 3 * one), embed = var(&b, one);
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

    ms_problem p = {b.domain.n, b.domain.p, b.unary.p, b.edge.n, b.edge.p};
    int *at = HB_ARRAY(b.arena, int, p.n_vars);
    printf("%d variables, %d edges, domains to %d\n", p.n_vars, p.n_edges, 3 * one);
    double value = run("elimination", &p, solves, false, at, &wrong);
    double dual = run("reduction and dual", &p, solves, true, at, &wrong);
    wrong += fabs(value - dual) > 1e-9 * value;
    printf("#wrong %d\n", wrong);
    hb_arena_free(b.arena);
    return wrong != 0;
}
