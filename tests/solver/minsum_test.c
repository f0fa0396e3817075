#include "solver/minsum.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/ms_kernel.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static uint64_t state;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

// Integer costs add exactly, so that values must be equal to the last bit.
static double cost(bool whole, uint32_t forbidden_percent)
{
    if (draw(100) < forbidden_percent) return HUGE_VAL;
    return whole ? draw(8) : (double)draw(1u << 30) / (1 << 20) - 100;
}

typedef struct problem {
    ms_problem p;
    int domain[16];
    const double *unary[16];
    ms_edge edge[64];
} problem;

static const double *table(int cells, bool whole, uint32_t forbidden)
{
    double *t = HB_ARRAY(arena, double, cells);
    for (int i = 0; i < cells; i++)
        t[i] = cost(whole, forbidden);
    return t;
}

static problem *random_problem(int most_vars, int most_states, bool whole)
{
    problem *q = HB_NEW(arena, problem);
    int n = 1 + (int)draw((uint32_t)most_vars);
    uint32_t forbidden = draw(3) ? draw(40) : 0;
    for (int v = 0; v < n; v++) {
        q->domain[v] = 1 + (int)draw((uint32_t)most_states);
        if (draw(4)) q->unary[v] = table(q->domain[v], whole, forbidden / 2);
    }
    int n_edges = n < 2 ? 0 : (int)draw((uint32_t)(2 * n));
    for (int e = 0; e < n_edges; e++) {
        ms_edge *g = &q->edge[e];
        g->a = (int)draw((uint32_t)n);
        g->b = (g->a + 1 + (int)draw((uint32_t)n - 1)) % n;
        // Shared tables, also in the other direction.
        for (int k = 0; k < e && !g->table; k++)
            if (draw(2) && q->domain[q->edge[k].a] == q->domain[g->a] &&
                q->domain[q->edge[k].b] == q->domain[g->b])
                g->table = q->edge[k].table;
        if (!g->table) g->table = table(q->domain[g->a] * q->domain[g->b], whole, forbidden);
    }
    q->p = (ms_problem){n, q->domain, q->unary, n_edges, q->edge, NULL, NULL, 0};
    return q;
}

static void same_value(double value, double least, bool whole)
{
    if (whole)
        ck_assert_double_eq(value, least);
    else
        ck_assert_double_eq_tol(value, least, 1e-9 * (1 + fabs(least)));
}

static void check_against_exhaustive(const ms_problem *p, bool whole, int *n_infeasible)
{
    int at[16], best[16];
    double value, least, lower;
    ms_status got = ms_solve(arena, p, 0, NULL, at, &value);
    ms_status want = ms_exhaustive(p, best, &least);
    ck_assert_int_eq(got, want);
    if (want == MS_INFEASIBLE) {
        ++*n_infeasible;
        ck_assert_int_eq(ms_solve_dual(arena, p, 0, NULL, at, &value, NULL), MS_INFEASIBLE);
        return;
    }
    ck_assert(value == ms_value(p, at));
    same_value(value, least, whole);
    ms_warm *warm = NULL;
    for (int again = 0; again < 2; again++) {
        ck_assert_int_eq(ms_solve_dual(arena, p, 0, &warm, at, &value, &lower), MS_OPTIMAL);
        ck_assert(value == ms_value(p, at));
        same_value(value, least, whole);
        ck_assert_double_le(lower, value + 1e-9 * (1 + fabs(value)));
    }
}

START_TEST(random_problems_equal_exhaustive)
{
    int n_infeasible = 0, n = 3000;
    state = 7;
    for (int i = 0; i < n; i++) {
        check_against_exhaustive(&random_problem(8, 4, i & 1)->p, i & 1, &n_infeasible);
        hb_arena_free(arena);
        arena = hb_arena_new();
    }
    ck_assert_int_gt(n_infeasible, n / 50);
    ck_assert_int_lt(n_infeasible, n / 2);
}
END_TEST

// Domains past the vector width of the inner loop, few variables.
START_TEST(wide_domains_equal_exhaustive)
{
    int n_infeasible = 0;
    state = 99;
    for (int i = 0; i < 60; i++)
        check_against_exhaustive(&random_problem(4, 21, i & 1)->p, i & 1, &n_infeasible);
}
END_TEST

START_TEST(cliques_equal_exhaustive)
{
    int n_infeasible = 0;
    state = 3;
    for (int round = 0; round < 20; round++) {
        problem *q = HB_NEW(arena, problem);
        int n = 6, e = 0;
        for (int v = 0; v < n; v++)
            q->domain[v] = 2 + (int)draw(3);
        for (int a = 0; a < n; a++)
            for (int b = a + 1; b < n; b++, e++)
                q->edge[e] =
                    (ms_edge){b, a, table(q->domain[a] * q->domain[b], true, round < 10 ? 0 : 10)};
        q->p = (ms_problem){n, q->domain, NULL, e, q->edge, NULL, NULL, 0};
        check_against_exhaustive(&q->p, true, &n_infeasible);
    }
}
END_TEST

// Layers with shared tables, too large to enumerate: plain elimination against reduction and dual.
START_TEST(both_methods_agree_on_layers)
{
    enum { IN_LAYER = 6, LAYERS = 7, JOINS = 10 };
    int n_optimal = 0;
    state = 77;
    for (int round = 0; round < 300; round++) {
        int domain[IN_LAYER * LAYERS], n = IN_LAYER * LAYERS, m = 0, size[IN_LAYER];
        const double *unary[IN_LAYER * LAYERS], *own[IN_LAYER];
        ms_edge edge[JOINS * LAYERS], in[JOINS];
        uint32_t forbidden = draw(3) ? 0 : draw(25);
        bool whole = round & 1;
        for (int v = 0; v < IN_LAYER; v++) {
            size[v] = 1 + (int)draw(7);
            own[v] = draw(3) ? table(size[v], whole, 0) : NULL;
        }
        for (int e = 0; e < JOINS; e++) { // b past the layer: in the next one
            in[e].a = (int)draw(IN_LAYER);
            in[e].b = (in[e].a + 1 + (int)draw(IN_LAYER - 1)) % IN_LAYER + (draw(3) ? 0 : IN_LAYER);
            in[e].table = table(size[in[e].a] * size[in[e].b % IN_LAYER], whole, forbidden);
        }
        for (int l = 0; l < LAYERS; l++) {
            for (int v = 0; v < IN_LAYER; v++) {
                domain[l * IN_LAYER + v] = size[v];
                unary[l * IN_LAYER + v] = own[v];
            }
            for (int e = 0; e < JOINS; e++) {
                int b = l * IN_LAYER + in[e].b;
                if (b < n) edge[m++] = (ms_edge){l * IN_LAYER + in[e].a, b, in[e].table};
            }
        }
        if (draw(2)) unary[draw((uint32_t)n)] = NULL; // one layer is not like the others
        ms_problem p = {n, domain, unary, m, edge, NULL, NULL, 0};
        int at[IN_LAYER * LAYERS];
        double plain, dual, lower;
        ms_status s = ms_solve(arena, &p, 0, NULL, at, &plain);
        ck_assert_int_ne(s, MS_TOO_LARGE);
        ck_assert_int_eq(ms_solve_dual(arena, &p, 0, NULL, at, &dual, &lower), s);
        if (s != MS_OPTIMAL) continue;
        ck_assert(dual == ms_value(&p, at));
        same_value(dual, plain, whole);
        ck_assert_double_le(lower, dual + 1e-9 * (1 + fabs(dual)));
        n_optimal++;
    }
    ck_assert_int_gt(n_optimal, 150);
}
END_TEST

// A cached order serves other costs, other pins, and is replaced when the structure changes.
START_TEST(a_cached_order_gives_the_same_values)
{
    state = 21;
    for (int round = 0; round < 200; round++) {
        ms_order *order = NULL;
        problem *q = random_problem(8, 4, true);
        for (int again = 0; again < 5; again++) {
            if (again == 4) q = random_problem(8, 4, true);
            for (int v = 0; v < q->p.n_vars; v++)
                q->unary[v] = table(q->domain[v], true, again == 0 ? 60 : 5);
            int at[16], best[16];
            double value, least;
            ms_status got = ms_solve(arena, &q->p, 0, &order, at, &value);
            ck_assert_int_eq(got, ms_exhaustive(&q->p, best, &least));
            if (got == MS_OPTIMAL) ck_assert_double_eq(value, least);
        }
    }
}
END_TEST

START_TEST(ties_take_the_lowest_index)
{
    double zeros[9] = {0}, flat[3] = {5, 5, 5};
    int domain[] = {3, 3, 3};
    const double *unary[] = {flat, NULL, NULL};
    ms_edge edge[] = {{0, 1, zeros}, {1, 2, zeros}};
    ms_problem p = {3, domain, unary, 2, edge, NULL, NULL, 0};
    int at[3], again[3];
    double value;
    ck_assert_int_eq(ms_solve(arena, &p, 0, NULL, at, &value), MS_OPTIMAL);
    for (int v = 0; v < 3; v++)
        ck_assert_int_eq(at[v], 0);
    ck_assert_double_eq(value, 5);
    ck_assert_int_eq(ms_exhaustive(&p, again, &value), MS_OPTIMAL);
    ck_assert_mem_eq(at, again, sizeof at);
}
END_TEST

START_TEST(answers_are_the_same_each_time)
{
    state = 5;
    for (int i = 0; i < 100; i++) {
        problem *q = random_problem(8, 4, true);
        int at[16] = {0}, again[16] = {0};
        double value, value2;
        ms_order *order = NULL;
        ms_status s = ms_solve(arena, &q->p, 0, &order, at, &value);
        ck_assert_int_eq(s, ms_solve(arena, &q->p, 0, &order, again, &value2));
        if (s == MS_OPTIMAL) ck_assert_mem_eq(at, again, sizeof at);
    }
}
END_TEST

START_TEST(no_variables_and_single_states)
{
    int domain[] = {1, 1}, at[2];
    double value, cell = 2.5, forbidden = HUGE_VAL;
    ms_edge edge[] = {{0, 1, &cell}};
    const double *unary[] = {&cell, NULL};
    ms_problem none = {0, NULL, NULL, 0, NULL, NULL, NULL, 0},
               single = {2, domain, unary, 1, edge, NULL, NULL, 0};
    ck_assert_int_eq(ms_solve(arena, &none, 0, NULL, at, &value), MS_OPTIMAL);
    ck_assert_double_eq(value, 0);
    ck_assert_int_eq(ms_solve(arena, &single, 0, NULL, at, &value), MS_OPTIMAL);
    ck_assert_double_eq(value, 5);
    edge[0].table = &forbidden;
    ck_assert_int_eq(ms_solve(arena, &single, 0, NULL, at, &value), MS_INFEASIBLE);
}
END_TEST

// Three pairwise different values of two: no state is forbidden by one table alone.
START_TEST(infeasible_without_a_forbidden_state)
{
    double differ[] = {HUGE_VAL, 0, 0, HUGE_VAL};
    int domain[] = {2, 2, 2}, at[3];
    double value;
    ms_edge edge[] = {{0, 1, differ}, {1, 2, differ}, {0, 2, differ}};
    ms_problem p = {3, domain, NULL, 3, edge, NULL, NULL, 0};
    ck_assert_int_eq(ms_solve(arena, &p, 0, NULL, at, &value), MS_INFEASIBLE);
}
END_TEST

START_TEST(too_large_is_said)
{
    enum { N = 12, D = 8 };
    int domain[N], at[N], n = 0;
    double zeros[D * D] = {0}, value;
    ms_edge edge[N * N];
    for (int a = 0; a < N; a++) {
        domain[a] = D;
        for (int b = a + 1; b < N; b++)
            edge[n++] = (ms_edge){a, b, zeros};
    }
    ms_problem p = {N, domain, NULL, n, edge, NULL, NULL, 0};
    ck_assert_int_eq(ms_solve(arena, &p, 0, NULL, at, &value), MS_TOO_LARGE);
    p.n_vars = 4; // 8^3 + 8^2 + 8 + 1 cells
    for (int e = n = 0; e < N * N && n < 6; e++)
        if (edge[e].a < 4 && edge[e].b < 4) edge[n++] = edge[e];
    p.n_edges = n;
    ck_assert_int_eq(n, 6);
    ck_assert_int_eq(ms_solve(arena, &p, 584, NULL, at, &value), MS_TOO_LARGE);
    ck_assert_int_eq(ms_solve(arena, &p, 585, NULL, at, &value), MS_OPTIMAL);
}
END_TEST

// Against all assignments that leave what is farther as it is.
START_TEST(near_an_assignment_equals_exhaustive)
{
    int n_solved = 0;
    for (uint64_t seed = 1; seed < 400; seed++) {
        state = seed;
        problem *q = random_problem(8, 4, true);
        int n = q->p.n_vars, from[2], far[16], x[16], all[16], n_from = 1 + (int)draw(2),
            reach = (int)draw(4);
        const double *fixed[16];
        double least, states, within = 0;
        for (int v = 0; v < n; v++) {
            far[v] = 99;
            x[v] = (int)draw((uint32_t)q->domain[v]);
        }
        for (int i = 0; i < n_from; i++)
            far[from[i] = (int)draw((uint32_t)n)] = 0;
        for (int round = 0; round < n; round++)
            for (int e = 0; e < q->p.n_edges; e++) {
                int a = q->edge[e].a, b = q->edge[e].b;
                if (far[a] > far[b] + 1) far[a] = far[b] + 1;
                if (far[b] > far[a] + 1) far[b] = far[a] + 1;
            }
        for (int v = 0; v < n; v++) {
            double *own = HB_ARRAY(arena, double, q->domain[v]);
            for (int i = 0; i < q->domain[v]; i++)
                own[i] = far[v] > reach && i != x[v] ? HUGE_VAL : q->unary[v] ? q->unary[v][i] : 0;
            fixed[v] = own;
            within += far[v] <= reach ? q->domain[v] : 0;
        }
        ms_problem some = q->p;
        some.unary = fixed;
        ms_status status = ms_exhaustive(&some, all, &least);
        ms_status got =
            ms_solve_around(&q->p, ms_links_of(arena, &q->p), from, n_from, reach, 0, x, &states);
        ck_assert_double_eq(states, within);
        if (status == MS_OPTIMAL) {
            ck_assert_int_eq(got, MS_OPTIMAL);
            ck_assert_double_eq(ms_value(&q->p, x), least);
            ck_assert_double_eq(ms_value(&some, x), least); // nothing else has moved
            n_solved++;
        }
    }
    ck_assert_int_ge(n_solved, 100);
}
END_TEST

static bool all_finite(const problem *q)
{
    bool finite = true;
    for (int v = 0; v < q->p.n_vars; v++)
        for (int i = 0; q->unary[v] && i < q->domain[v]; i++)
            finite = finite && isfinite(q->unary[v][i]);
    for (int e = 0; e < q->p.n_edges; e++)
        for (int i = 0; i < q->domain[q->edge[e].a] * q->domain[q->edge[e].b]; i++)
            finite = finite && isfinite(q->edge[e].table[i]);
    return finite;
}

// Two variables are of one part exactly if a way of edges joins them on which all differ; any parts
// together cost what each adds by itself.
START_TEST(parts_cost_by_themselves)
{
    int n_parted = 0;
    for (int c = 0; c < 400; c++) {
        problem *q = random_problem(12, 3, true);
        int n = q->p.n_vars, x[16], y[16], z[16], part[16];
        bool joined[16][16] = {{false}};
        if (!all_finite(q)) continue; // differences would be no numbers
        for (int v = 0; v < n; v++) {
            x[v] = (int)draw((uint32_t)q->domain[v]);
            y[v] = draw(3) ? (int)draw((uint32_t)q->domain[v]) : x[v];
            joined[v][v] = x[v] != y[v];
        }
        for (int e = 0; e < q->p.n_edges; e++) {
            int a = q->edge[e].a, b = q->edge[e].b;
            if (x[a] != y[a] && x[b] != y[b]) joined[a][b] = joined[b][a] = true;
        }
        for (int k = 0; k < n; k++)
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++)
                    joined[i][j] = joined[i][j] || (joined[i][k] && joined[k][j]);
        int n_parts = ms_parts(&q->p, x, y, part);
        for (int i = 0; i < n; i++) {
            ck_assert_int_eq(part[i] < 0, x[i] == y[i]);
            ck_assert_int_lt(part[i], n_parts);
            for (int j = 0; j < n && part[i] >= 0; j++)
                ck_assert_int_eq(part[i] == part[j], joined[i][j]);
        }
        for (unsigned some = 0; some < 1u << n_parts; some++) {
            double sum = ms_value(&q->p, x);
            for (int k = 0; k < n_parts; k++) {
                for (int v = 0; v < n; v++)
                    z[v] = part[v] == k ? y[v] : x[v];
                if (some >> k & 1) sum += ms_value(&q->p, z) - ms_value(&q->p, x);
            }
            for (int v = 0; v < n; v++)
                z[v] = part[v] >= 0 && (some >> part[v] & 1) ? y[v] : x[v];
            ck_assert_double_eq(ms_value(&q->p, z), sum);
        }
        n_parted += n_parts > 1;
    }
    ck_assert_int_ge(n_parted, 50);
}
END_TEST

// A ring of equal links is folded pairwise: 3^2 cells a distinct link, their number logarithmic.
START_TEST(equal_parts_are_solved_once)
{
    enum { N = 1024 };
    static int domain[N], at[N];
    static ms_edge edge[N];
    double link[9] = {1, 0, 4, 2, 1, 0, 0, 3, 1}, value;
    for (int v = 0; v < N; v++)
        domain[v] = 3;
    for (int e = 0; e < N; e++)
        edge[e] = (ms_edge){e, (e + 1) % N, link};
    ms_problem p = {N, domain, NULL, N, edge, NULL, NULL, 0};
    ck_assert_int_eq(ms_solve(arena, &p, 9 * 20, NULL, at, &value), MS_OPTIMAL);
    ck_assert_double_eq(value, 1); // 341 times round 0 1 2, and one link from 0 to 0
}
END_TEST

static double *some_costs(int n)
{
    double *x = HB_ARRAY(arena, double, n);
    for (int i = 0; i < n; i++)
        x[i] = cost(false, 10);
    return x;
}

// What there is at step t of a vector or table of a run; NULL: nothing.
static const double *at_step(const double *p, int step, int t)
{
    return p ? p + (size_t)step * (size_t)t : NULL;
}

// Every version of the inner loops, one step after the other, against sums and minima by hand.
START_TEST(kernels_give_the_same_bits)
{
    state = 23;
    for (int round = 0; round < 400; round++) {
        int own = 1 + (int)draw(9), inner = 1 + (int)draw(36), times = 1 + (int)draw(5),
            cells = own * inner;
        ms_many m = {.own = own, .inner = inner, .times = times};
        m.sum = HB_ARRAY(arena, double, own);
        for (int i = 0; i < 2; i++) {
            m.b_step[i] = draw(2) ? own : 0;
            m.c_step[i] = draw(2) ? cells : 0;
            if (i == 0 || draw(2)) m.b[i] = some_costs(own * times);
            if (i == 0 || draw(2)) m.c[i] = some_costs(cells * times);
        }
        double *want = HB_ARRAY(arena, double, inner *times);
        for (int t = 0; t < times; t++)
            for (int i = 0; i < inner; i++) {
                const double *b = at_step(m.b[0], m.b_step[0], t),
                             *e = at_step(m.b[1], m.b_step[1], t),
                             *c = at_step(m.c[0], m.c_step[0], t),
                             *d = at_step(m.c[1], m.c_step[1], t);
                double least = HUGE_VAL;
                for (int x = 0; x < own; x++) {
                    double v = (e ? b[x] + e[x] : b[x]) + c[x * inner + i];
                    least = fmin(least, d ? v + d[x * inner + i] : v);
                }
                want[t * inner + i] = least;
            }
        for (int k = 0; ms_kernels_of(k); k++) {
            double *out = HB_ARRAY(arena, double, inner *times + 1);
            out[inner * times] = 7;
            ms_kernels_of(k)->min_many(out, &m);
            ck_assert(memcmp(out, want, sizeof *out * (size_t)(inner * times)) == 0);
            ms_kernels_of(k)->add(out, m.c[0], m.c[1] ? m.c[1] : m.c[0], inner);
            for (int i = 0; i < inner; i++) {
                double other = m.c[1] ? m.c[1][i] : m.c[0][i];
                ck_assert(out[i] == m.c[0][i] + other);
            }
            ck_assert(out[inner * times] == 7);
        }
    }
}
END_TEST

// The first of the least cells of each row, also where none is finite.
START_TEST(kernels_find_the_same_cells)
{
    state = 31;
    for (int round = 0; round < 400; round++) {
        int rows = 1 + (int)draw(9), cols = 1 + (int)draw(40);
        double *p = HB_ARRAY(arena, double, rows *cols);
        int *at = HB_ARRAY(arena, int, rows);
        for (int i = 0; i < rows * cols; i++)
            p[i] = draw(4) ? draw(3) : HUGE_VAL;
        for (int which = 0; ms_kernels_of(which); which++) {
            ms_kernels_of(which)->cheapest(at, p, rows, cols);
            for (int i = 0; i < rows; i++) {
                int first = 0;
                for (int k = 1; k < cols; k++)
                    if (p[i * cols + k] < p[i * cols + first]) first = k;
                ck_assert_int_eq(at[i], first);
            }
        }
    }
}
END_TEST

// A variable's visit: what it hands to its edges, and what it leaves of its own.
START_TEST(kernels_visit_alike)
{
    enum { HALVES = 3, MOST = 48 };
    state = 29;
    for (int round = 0; round < 300; round++) {
        int n = 1 + (int)draw(20), wide = ms_padded(n);
        ms_visit v = {.v = 1, .n = n, .n_halves = HALVES, .back = draw(2), .share = 0.5};
        ms_half half[HALVES];
        double *u = HB_ARRAY(arena, double, wide), *want[2 * HALVES] = {0};
        for (int i = 0; i < n; i++)
            u[i] = draw(1000);
        v.u = u;
        v.half = half;
        double *own = HB_ARRAY(arena, double, HALVES *wide);
        for (int k = 0; k < HALVES; k++) {
            int width = ms_padded(1 + (int)draw(MOST - 4));
            double *table = HB_ARRAY(arena, double, wide *width);
            for (int i = 0; i < n * width; i++)
                table[i] = (double)draw(1u << 30) / (1 << 20);
            for (int i = 0; i < n; i++)
                own[k * wide + i] = (double)draw(1u << 30) / (1 << 20) - 500;
            half[k] = (ms_half){.table = table, .other = k == 0 ? 0 : 2, .width = width};
        }
        for (int which = 0; ms_kernels_of(which); which++)
            for (int settle = 0; settle < 2; settle++) {
                double *th = HB_ARRAY(arena, double, wide), *h = HB_ARRAY(arena, double, wide);
                double *mine = hb_copy(arena, own, sizeof *own * (size_t)(HALVES * wide)),
                       *to = HB_ARRAY(arena, double, HALVES *MOST);
                for (int k = 0; k < HALVES; k++) {
                    half[k].own = mine + k * wide;
                    half[k].to = to + k * MOST;
                }
                ms_kernels_of(which)->visit(&v, th, h, settle);
                if (which == 0) {
                    want[2 * settle] = to;
                    want[2 * settle + 1] = mine;
                    continue;
                }
                ck_assert(memcmp(to, want[2 * settle], sizeof *to * HALVES * MOST) == 0);
                for (int k = 0; k < HALVES; k++)
                    ck_assert(memcmp(mine + k * wide, want[2 * settle + 1] + k * wide,
                                     sizeof *mine * (size_t)n) == 0);
            }
    }
}
END_TEST

START_TEST(nan_is_a_bug)
{
    double cell[] = {nan(""), 1}, value;
    int domain[] = {2}, at[1];
    const double *unary[] = {cell};
    ms_problem p = {1, domain, unary, 0, NULL, NULL, NULL, 0};
    ms_solve(arena, &p, 0, NULL, at, &value);
}
END_TEST

START_TEST(nan_is_a_bug_of_the_dual_too)
{
    double cell[] = {nan(""), 1}, value;
    int domain[] = {2}, at[1];
    const double *unary[] = {cell};
    ms_problem p = {1, domain, unary, 0, NULL, NULL, NULL, 0};
    ms_solve_dual(arena, &p, 0, NULL, at, &value, NULL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("minsum");
    TCase *c = tcase_create("minsum");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, random_problems_equal_exhaustive);
    tcase_add_test(c, wide_domains_equal_exhaustive);
    tcase_add_test(c, cliques_equal_exhaustive);
    tcase_add_test(c, both_methods_agree_on_layers);
    tcase_add_test(c, a_cached_order_gives_the_same_values);
    tcase_add_test(c, ties_take_the_lowest_index);
    tcase_add_test(c, answers_are_the_same_each_time);
    tcase_add_test(c, no_variables_and_single_states);
    tcase_add_test(c, infeasible_without_a_forbidden_state);
    tcase_add_test(c, too_large_is_said);
    tcase_add_test(c, near_an_assignment_equals_exhaustive);
    tcase_add_test(c, parts_cost_by_themselves);
    tcase_add_test(c, equal_parts_are_solved_once);
    tcase_add_test(c, kernels_give_the_same_bits);
    tcase_add_test(c, kernels_find_the_same_cells);
    tcase_add_test(c, kernels_visit_alike);
    tcase_add_exit_test(c, nan_is_a_bug, 4);
    tcase_add_exit_test(c, nan_is_a_bug_of_the_dual_too, 4);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
