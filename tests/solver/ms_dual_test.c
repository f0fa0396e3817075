// ms_solve_dual, ms_solve_near and the reduction before them, against every assignment and against
// plain elimination.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "solver/minsum.h"
#include "solver/minsum_parts.h"
#include "solver/ms_reduce.h"

typedef struct dice {
    uint64_t x;
} dice;

static uint32_t next(dice *r)
{
    r->x = r->x * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(r->x >> 33);
}

static int below(dice *r, int n)
{
    return (int)(next(r) % (uint32_t)n);
}

typedef struct style {
    int n_vars, most_states, extra_edges, levels; // levels: distinct costs, few make ties
    double forbidden;                             // share of cells that are +inf
    int n_tables;                                 // shared by pointer; 0: each edge its own
} style;

static double cost(dice *r, const style *s)
{
    if (next(r) < s->forbidden * 2147483648.0) return (double)INFINITY;
    return s->levels ? below(r, s->levels) : (double)next(r) / 2147483648.0;
}

static double *table(hb_arena *a, dice *r, const style *s, int cells)
{
    double *t = HB_ARRAY(a, double, cells);
    for (int i = 0; i < cells; i++)
        t[i] = cost(r, s);
    return t;
}

// A tree and some more edges, not all connected; parallel edges happen.
static ms_problem draw(hb_arena *a, dice *r, const style *s)
{
    int *domain = HB_ARRAY(a, int, s->n_vars), same = 1 + below(r, s->most_states);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)s->n_vars);
    ms_edge *e = HB_ARRAY(a, ms_edge, s->n_vars + s->extra_edges);
    const double *shared[8] = {0};
    int n_edges = 0;
    for (int v = 0; v < s->n_vars; v++) {
        domain[v] = s->n_tables ? same : 1 + below(r, s->most_states);
        if (below(r, 4)) unary[v] = table(a, r, s, domain[v]);
    }
    for (int k = 0; k < s->n_tables; k++)
        shared[k] = table(a, r, s, same * same);
    for (int k = 1; k < s->n_vars + s->extra_edges && s->n_vars > 1; k++) {
        int x = k < s->n_vars ? k : below(r, s->n_vars),
            y = below(r, k < s->n_vars ? k : s->n_vars);
        if (x == y || !below(r, 12)) continue;
        if (below(r, 2)) {
            int z = x;
            x = y;
            y = z;
        }
        const double *t =
            s->n_tables ? shared[below(r, s->n_tables)] : table(a, r, s, domain[x] * domain[y]);
        e[n_edges++] = (ms_edge){x, y, t};
    }
    return (ms_problem){s->n_vars, domain, unary, n_edges, e, NULL, NULL, 0};
}

static void compare(hb_arena *a, const ms_problem *p, bool exhaustive, ms_warm **warm, double gap)
{
    int *x = HB_ARRAY(a, int, p->n_vars), *y = HB_ARRAY(a, int, p->n_vars);
    double want = 0, got = 0, lower = 0;
    ms_status should = exhaustive ? ms_exhaustive(p, x, &want) : ms_solve(a, p, 0, NULL, x, &want);
    ck_assert(should != MS_TOO_LARGE);
    ms_status is = gap > 0 ? ms_solve_near(a, p, 0, gap, warm, y, &got, &lower)
                           : ms_solve_dual(a, p, 0, warm, y, &got, &lower);
    ck_assert_int_eq(is, should);
    if (is != MS_OPTIMAL) return;
    double scale = 1e-9 * (1 + fabs(want));
    ck_assert_double_eq(ms_value(p, y), got);
    ck_assert(got >= want - scale);
    ck_assert(lower <= want + scale);
    ck_assert(got <= want + gap * fabs(want) + scale);
    if (gap <= 0) ck_assert(lower >= want - scale - 1e-3 * fabs(want));
}

// As compare, but by the bound alone: neither reduction nor plain elimination comes first.
static void compare_bound(hb_arena *a, const ms_problem *p, double gap)
{
    int *x = HB_ARRAY(a, int, p->n_vars), *y = HB_ARRAY(a, int, p->n_vars);
    double want = 0, got = 0, lower = 0;
    ms_problem q = *p;
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)p->n_vars);
    for (int v = 0; v < p->n_vars; v++)
        unary[v] = p->unary[v] ? p->unary[v] : HB_ARRAY(a, double, p->domain[v]);
    q.unary = unary;
    ms_status should = ms_solve(a, p, 0, NULL, x, &want);
    ms_status is = ms_solve_bound(&q, 0, -1, gap, NULL, NULL, y, &got, &lower);
    ck_assert_int_eq(is, should);
    if (is != MS_OPTIMAL) return;
    double scale = 1e-9 * (1 + fabs(want));
    ck_assert_double_eq_tol(ms_value(p, y), got, scale);
    ck_assert(got >= want - scale && lower <= want + scale);
    ck_assert(got <= want + gap * fabs(want) + scale);
}

START_TEST(small_against_every_assignment)
{
    dice r = {1};
    for (int i = 0; i < 4000; i++) {
        hb_arena *a = hb_arena_new();
        style s = {.n_vars = 1 + below(&r, 7),
                   .most_states = 4,
                   .extra_edges = below(&r, 9),
                   .levels = below(&r, 3) ? 0 : 3,
                   .forbidden = below(&r, 3) ? 0 : 0.25,
                   .n_tables = below(&r, 2) ? 0 : 1 + below(&r, 3)};
        ms_problem p = draw(a, &r, &s);
        compare(a, &p, true, NULL, 0);
        compare_bound(a, &p, 0);
        hb_arena_free(a);
    }
}
END_TEST

START_TEST(loopy_against_elimination)
{
    dice r = {2};
    for (int i = 0; i < 400; i++) {
        hb_arena *a = hb_arena_new();
        style s = {.n_vars = 8 + below(&r, 12),
                   .most_states = 5,
                   .extra_edges = 10 + below(&r, 14),
                   .levels = below(&r, 3) ? 0 : 5,
                   .forbidden = below(&r, 3) ? 0 : 0.1,
                   .n_tables = below(&r, 2) ? 0 : 1 + below(&r, 3)};
        ms_problem p = draw(a, &r, &s);
        compare(a, &p, false, NULL, 0);
        compare(a, &p, false, NULL, 0.01);
        compare_bound(a, &p, below(&r, 2) ? 0 : 0.01);
        hb_arena_free(a);
    }
}
END_TEST

// `layers` copies of one random block, each tied to the next by random edges, all to one variable
// (a tied embedding), with tables shared by pointer; large enough for the dual to do the work.
static ms_problem draw_layers(hb_arena *a, dice *r, int layers, int width, int states, bool tied)
{
    int n = layers * width + tied, inside = 2 * width, between = 3, n_edges = 0;
    int *domain = HB_ARRAY(a, int, n);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)n);
    ms_edge *e = HB_ARRAY(a, ms_edge, layers * (inside + between + 1));
    style s = {.forbidden = 0.05};
    const double *u = table(a, r, &(style){0}, states * width), *t[64];
    int end[64][2];
    for (int k = 0; k < inside + between + 1; k++) {
        t[k] = table(a, r, &s, states * states);
        end[k][0] = below(r, width);
        end[k][1] = below(r, width);
    }
    for (int l = 0; l < layers; l++) {
        for (int v = 0; v < width; v++) {
            domain[l * width + v] = states;
            unary[l * width + v] = u + v * states;
        }
        for (int k = 0; k < inside; k++)
            if (end[k][0] != end[k][1])
                e[n_edges++] = (ms_edge){l * width + end[k][0], l * width + end[k][1], t[k]};
        for (int k = inside; k < inside + between && l > 0; k++)
            e[n_edges++] = (ms_edge){(l - 1) * width + end[k][0], l * width + end[k][1], t[k]};
        if (tied) e[n_edges++] = (ms_edge){n - 1, l * width, t[inside + between]};
    }
    if (tied) domain[n - 1] = states;
    return (ms_problem){n, domain, unary, n_edges, e, NULL, NULL, 0};
}

// A search that ends beyond a value has proved that nothing costs less; any other is as it would
// be.
START_TEST(what_costs_too_much_is_left)
{
    dice r = {7};
    int left = 0, found = 0;
    for (int i = 0; i < 200; i++) {
        hb_arena *a = hb_arena_new();
        double want, got, lower;
        ms_problem p = draw_layers(a, &r, 2 + below(&r, 12), 5, 3 + below(&r, 4), false);
        int *x = HB_ARRAY(a, int, p.n_vars), *y = HB_ARRAY(a, int, p.n_vars);
        if (ms_solve(a, &p, 0, NULL, x, &want) == MS_OPTIMAL && want > 0) {
            double gap = 1e-3;
            p.beyond = want * (0.7 + 0.1 * below(&r, 7));
            ms_status is = ms_solve_bound(&p, 0, -1, gap, NULL, NULL, y, &got, &lower);
            ck_assert(lower <= want * (1 + 1e-9));
            if (is == MS_OPTIMAL) {
                ck_assert(got >= want * (1 - 1e-9) && got <= want * (1 + gap + 1e-9));
            } else {
                ck_assert_int_eq(is, MS_TOO_LARGE);
                ck_assert(want >= p.beyond * (1 - 1e-9) && lower >= p.beyond * (1 - 1e-9));
            }
            left += is != MS_OPTIMAL;
            found += want < p.beyond;
        }
        hb_arena_free(a);
    }
    printf("%d left, %d below\n", left, found);
    ck_assert_int_ge(left, 20);
    ck_assert_int_ge(found, 20);
}
END_TEST

START_TEST(layers_against_elimination)
{
    dice r = {3};
    for (int i = 0; i < 60; i++) {
        hb_arena *a = hb_arena_new();
        ms_warm *warm = NULL;
        ms_problem p = draw_layers(a, &r, 2 + below(&r, 6), 5, 3 + below(&r, 4), i & 1);
        compare(a, &p, false, &warm, 0);
        compare(a, &p, false, &warm, 0.02);
        compare(a, &p, false, &warm, 0);
        compare_bound(a, &p, 0);
        hb_arena_free(a);
    }
}
END_TEST

// What the reduction leaves has the same minimum, and its assignments extend to ones of equal
// value.
static bool at_once(const void *asked)
{
    ++*(int *)(uintptr_t)asked;
    return true;
}

// A search that is to end at once gives the first assignment that it meets, with an honest bound,
// and asks no more than a few times.
START_TEST(a_stopped_search_has_an_assignment)
{
    dice r = {7};
    int worse = 0, stopped = 0;
    for (int i = 0; i < 100; i++) {
        hb_arena *a = hb_arena_new();
        ms_problem p = draw_layers(a, &r, 3 + below(&r, 20), 5, 3 + below(&r, 4), false);
        int *x = HB_ARRAY(a, int, p.n_vars), *y = HB_ARRAY(a, int, p.n_vars), asked = 0;
        double least, value, lower;
        ms_status s = ms_solve_dual(a, &p, 0, NULL, x, &least, NULL);
        hb_stop stop = {at_once, &asked};
        p.stop = &stop;
        ms_status t = ms_solve_bound(&p, 0, -1, 0, NULL, NULL, y, &value, &lower);
        ck_assert_int_eq(s, MS_OPTIMAL);
        ck_assert(t == MS_OPTIMAL || t == MS_TOO_LARGE);
        ck_assert_double_eq_tol(value, ms_value(&p, y), 1e-9 * fabs(value));
        ck_assert(value >= least * (1 - 1e-9) && lower <= least * (1 + 1e-9));
        if (t == MS_OPTIMAL) ck_assert_double_eq_tol(value, least, 1e-9 * fabs(least));
        worse += value > least * (1 + 1e-9);
        stopped += asked > 0;
        hb_arena_free(a);
    }
    ck_assert(worse > 0 && stopped > 0);
}
END_TEST

START_TEST(reduction_keeps_the_minimum)
{
    dice r = {4};
    int smaller = 0;
    for (int i = 0; i < 1000; i++) {
        hb_arena *a = hb_arena_new();
        style s = {.n_vars = 2 + below(&r, 6),
                   .most_states = 4,
                   .extra_edges = below(&r, 8),
                   .levels = below(&r, 2) ? 0 : 3,
                   .forbidden = below(&r, 2) ? 0 : 0.2,
                   .n_tables = below(&r, 2) ? 0 : 2};
        ms_problem p = draw(a, &r, &s);
        int *x = HB_ARRAY(a, int, p.n_vars), *y = HB_ARRAY(a, int, p.n_vars);
        double want = 0, rest = 0;
        ms_status should = ms_exhaustive(&p, x, &want);
        ms_reduced *red = ms_reduce(a, &p, NULL);
        ms_status is = MS_INFEASIBLE;
        if (red) {
            const ms_problem *q = ms_reduced_problem(red);
            smaller += q->n_vars < p.n_vars;
            is = ms_solve(a, q, 0, NULL, x, &rest);
            if (is == MS_OPTIMAL) {
                ms_reduced_expand(red, x, y);
                ck_assert_double_eq_tol(rest + ms_reduced_constant(red), want,
                                        1e-9 * (1 + fabs(want)));
                ck_assert_double_eq_tol(ms_value(&p, y), want, 1e-9 * (1 + fabs(want)));
            }
        }
        ck_assert_int_eq(is, should);
        hb_arena_free(a);
    }
    ck_assert_int_gt(smaller, 500);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ms_dual");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, small_against_every_assignment);
    tcase_add_test(t, loopy_against_elimination);
    tcase_add_test(t, layers_against_elimination);
    tcase_add_test(t, what_costs_too_much_is_left);
    tcase_add_test(t, a_stopped_search_has_an_assignment);
    tcase_add_test(t, reduction_keeps_the_minimum);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
