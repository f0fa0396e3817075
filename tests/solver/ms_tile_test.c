// Repeated layers in the min-sum solver: problems of forward, backward and update blocks, with and
// without the repetition visible in the pointers, against each other and against elimination.

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "solver/minsum.h"
#include "solver/minsum_parts.h"
#include "solver/ms_dual.h"
#include "solver/ms_tile.h"

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

enum { FORWARD = 3, BACKWARD = 2, UPDATE = 1, ROLES = FORWARD + BACKWARD + UPDATE, MOST = 8 };

typedef struct style {
    int layers, states, levels; // levels: distinct costs, 0 reals
    double forbidden;
    bool hub;    // one variable meets every layer
    int other;   // layers whose tables are their own
    int reaches; // links to the next layer
} style;

static const double *table(hb_arena *a, dice *r, const style *s, int cells)
{
    double *t = HB_ARRAY(a, double, cells);
    for (int i = 0; i < cells; i++) {
        t[i] = s->levels ? below(r, s->levels) : (double)next(r) / 2147483648.0;
        if (next(r) < s->forbidden * 2147483648.0) t[i] = (double)INFINITY;
    }
    return t;
}

typedef struct link {
    int from, to, up; // roles; layers up
} link;

// Variables in program order: first, F0 F1 .., turn, .. B1 B0, U0 U1 .., hub.
static int place(const style *s, int role, int layer)
{
    int n = s->layers;
    if (role < FORWARD) return 1 + layer * FORWARD + role;
    if (role < FORWARD + BACKWARD)
        return 2 + n * FORWARD + (n - 1 - layer) * BACKWARD + role - FORWARD;
    return 2 + n * (FORWARD + BACKWARD) + layer;
}

static ms_problem draw(hb_arena *a, dice *r, const style *s)
{
    int n = 2 + s->layers * ROLES + s->hub, n_links = 0, n_edges = 0;
    int *domain = HB_ARRAY(a, int, n);
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)n);
    style unforbidden = *s;
    unforbidden.forbidden = 0;
    for (int v = 0; v < n; v++)
        domain[v] = s->states;
    link l[64];
    for (int k = 0; k < ROLES; k++) { // a ring within the layer and a few chords
        l[n_links++] = (link){k, (k + 1) % ROLES, 0};
        int to = below(r, ROLES);
        if (to != k) l[n_links++] = (link){k, to, 0};
    }
    l[n_links++] = (link){0, 0, 1};
    for (int k = 0; k < s->reaches; k++)
        l[n_links++] = (link){below(r, ROLES), below(r, ROLES), below(r, 2) ? 1 : -1};
    const double *shared[64], *own[ROLES], *hub = table(a, r, s, s->states * s->states);
    for (int k = 0; k < n_links; k++)
        shared[k] = table(a, r, s, s->states * s->states);
    for (int k = 0; k < ROLES; k++)
        own[k] = table(a, r, &unforbidden, s->states);
    ms_edge *e = HB_ARRAY(a, ms_edge, s->layers * (n_links + 1) + 4);
    for (int i = 0; i < s->layers; i++) {
        bool other = below(r, s->layers) < s->other;
        for (int k = 0; k < ROLES; k++)
            unary[place(s, k, i)] = other ? table(a, r, &unforbidden, s->states) : own[k];
        for (int k = 0; k < n_links; k++) {
            int to = i + l[k].up;
            if (to < 0 || to >= s->layers) continue;
            int x = place(s, l[k].from, i), y = place(s, l[k].to, to);
            const double *t = other ? table(a, r, s, s->states * s->states) : shared[k];
            e[n_edges++] = (ms_edge){x, y, t};
        }
        if (s->hub) e[n_edges++] = (ms_edge){n - 1, place(s, ROLES - 1, i), hub};
    }
    unary[0] = table(a, r, &unforbidden, s->states);
    e[n_edges++] = (ms_edge){0, 1, table(a, r, s, s->states * s->states)};
    int turn = 1 + s->layers * FORWARD;
    unary[turn] = table(a, r, &unforbidden, s->states);
    e[n_edges++] = (ms_edge){turn - 1, turn, table(a, r, s, s->states * s->states)};
    e[n_edges++] = (ms_edge){turn, turn + 1, table(a, r, s, s->states * s->states)};
    if (s->hub) unary[n - 1] = table(a, r, &unforbidden, s->states);
    return (ms_problem){n, domain, unary, n_edges, e, NULL, NULL, 0};
}

// The same problem, every unary at an address of its own.
static ms_problem disguised(hb_arena *a, const ms_problem *p)
{
    ms_problem q = *p;
    const double **unary = hb_alloc(a, sizeof *unary * (size_t)p->n_vars);
    for (int v = 0; v < p->n_vars; v++)
        unary[v] = hb_copy(a, p->unary[v], sizeof **unary * (size_t)p->domain[v]);
    q.unary = unary;
    return q;
}

static style draw_style(dice *r, int i)
{
    return (style){.layers = 14 + below(r, 20),
                   .states = 2 + below(r, 3),
                   .levels = i % 3 ? 0 : 4,
                   .forbidden = i % 5 == 4 ? 0.15 : 0,
                   .hub = below(r, 2),
                   .other = i % 7 == 6,
                   .reaches = below(r, 3)};
}

START_TEST(tiled_and_untiled_agree)
{
    dice r = {7};
    int tiled = 0;
    for (int i = 0; i < 250; i++) {
        hb_arena *a = hb_arena_new();
        style s = draw_style(&r, i);
        ms_problem p = draw(a, &r, &s), q = disguised(a, &p);
        int *x = HB_ARRAY(a, int, p.n_vars);
        double value = 0, lower = 0, want = 0, eliminated = 0;
        ck_assert_ptr_null(ms_tile_find(a, &q));
        tiled += ms_tile_find(a, &p) != NULL;
        ms_status is = ms_solve_bound(&p, 0, -1, 0, NULL, NULL, x, &value, &lower);
        if (is == MS_OPTIMAL) ck_assert_double_eq_tol(ms_value(&p, x), value, 1e-12 * value);
        ms_status should = ms_solve_bound(&q, 0, -1, 0, NULL, NULL, x, &want, &lower);
        ms_status third = ms_solve(a, &p, 0, NULL, x, &eliminated);
        ck_assert_int_eq(is, should);
        ck_assert_int_eq(is, third);
        if (is == MS_OPTIMAL) {
            ck_assert_double_eq(value, want);
            ck_assert_double_eq(value, eliminated);
        }
        is = ms_solve_near(a, &p, 0, 0.05, NULL, x, &value, &lower);
        ck_assert_int_eq(is, third);
        if (is == MS_OPTIMAL) {
            ck_assert(lower <= want * (1 + 1e-12) && want <= value * (1 + 1e-12));
            ck_assert(value <= lower * 1.05 + 1e-12);
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(tiled, 150);
}
END_TEST

// What the sweeps of the short problem promise is what the copied messages prove.
START_TEST(bound_of_the_short_problem_is_that_of_the_whole)
{
    dice r = {8};
    int tiled = 0;
    for (int i = 0; i < 60; i++) {
        hb_arena *a = hb_arena_new();
        style s = draw_style(&r, 3 * i + 1);
        s.forbidden = s.other = s.reaches = 0; // with them, layers may meet their next but one
        ms_problem p = draw(a, &r, &s);
        const ms_tile *t = ms_tile_find(a, &p);
        int *x = HB_ARRAY(a, int, p.n_vars);
        double least = 0;
        ck_assert_int_eq(ms_solve(a, &p, 0, NULL, x, &least), MS_OPTIMAL);
        if (t) {
            tiled++;
            ck_assert_int_eq(p.n_vars - t->small.n_vars, (t->times - 1) * ROLES);
            ms_messages *small = ms_messages_new(a, &t->small), *whole = ms_messages_new(a, &p);
            ms_dual d, all;
            ms_dual_begin(&d, a, &t->small, small);
            double promised = ms_tile_sweeps(t, &d, 20);
            for (int e = 0; e < p.n_edges; e++) {
                int k = t->like_edge[e];
                ck_assert_int_ge(k, 0);
                for (int j = 0; j < s.states; j++) {
                    whole->to_a[e][j] = small->to_a[k][j];
                    whole->to_b[e][j] = small->to_b[k][j];
                }
            }
            ms_dual_begin(&all, a, &p, whole);
            double bound = ms_dual_bound(&all);
            ck_assert_double_eq_tol(bound, promised, 1e-9 * (1 + fabs(promised)));
            ck_assert(bound <= least * (1 + 1e-12));
            for (int e = 0; e < p.n_edges; e++)
                for (int j = 0; j < s.states * s.states; j++)
                    ck_assert(p.edge[e].table[j] - whole->to_a[e][j / s.states] -
                                  whole->to_b[e][j % s.states] >
                              -1e-12);
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(tiled, 40);
}
END_TEST

// Messages of other costs, other infinities and another number of layers change no value.
START_TEST(warm_starts_change_no_value)
{
    dice r = {10};
    for (int i = 0; i < 40; i++) {
        hb_arena *a = hb_arena_new();
        ms_warm *warm = NULL;
        style s = draw_style(&r, i);
        s.states = 4;
        uint64_t seed = r.x;
        for (int k = 0; k < 4; k++) {
            if (k < 3) r.x = seed; // the same links
            s.forbidden = k == 1 ? 0.1 : 0;
            s.layers += k == 2;
            ms_problem p = draw(a, &r, &s);
            int *x = HB_ARRAY(a, int, p.n_vars);
            double want = 0, value = 0, lower = 0;
            ms_status should = ms_solve(a, &p, 0, NULL, x, &want);
            ck_assert_int_eq(ms_solve_dual(a, &p, 0, &warm, x, &value, &lower), should);
            if (should != MS_OPTIMAL) continue;
            ck_assert_double_eq_tol(value, want, 1e-12 * want);
            ck_assert_double_eq_tol(lower, want, 1e-9 * want);
            ck_assert_double_eq(ms_value(&p, x), value);
        }
        hb_arena_free(a);
    }
}
END_TEST

// Copies of one layer: never below the minimum, mostly at it, and what a cache knows of the
// repetition changes nothing.
START_TEST(copied_layers_are_mostly_optimal)
{
    dice r = {11};
    int solved = 0, best = 0;
    for (int i = 0; i < 120; i++) {
        hb_arena *a = hb_arena_new();
        const ms_tile *repeats = NULL;
        style s = draw_style(&r, i);
        uint64_t seed = r.x;
        for (int k = 0; k < 3; k++) {
            r.x = seed;
            ms_problem p = draw(a, &r, &s), q = disguised(a, &p);
            double **unary = hb_alloc(a, sizeof *unary * (size_t)p.n_vars);
            for (int v = 0; k > 0 && v < p.n_vars; v++) { // other costs, repeated alike
                for (int w = 0; w < v && !unary[v]; w++)
                    if (p.unary[w] == p.unary[v]) unary[v] = unary[w];
                if (unary[v]) continue;
                unary[v] = hb_copy(a, p.unary[v], sizeof **unary * (size_t)p.domain[v]);
                unary[v][0] += 0.25 * k;
            }
            if (k > 0) p.unary = (const double *const *)unary;
            int *x = HB_ARRAY(a, int, p.n_vars);
            double value = 0, fresh = 0, want = 0;
            ms_status is = ms_solve_repeated(a, &p, 0, NULL, &repeats, x, &value);
            ck_assert_int_eq(ms_solve_repeated(a, &p, 0, NULL, NULL, x, &fresh), is);
            ck_assert_int_eq(ms_solve_repeated(a, &q, 0, NULL, NULL, x, &want), MS_TOO_LARGE);
            if (is != MS_OPTIMAL) continue;
            ck_assert_double_eq(value, fresh);
            ck_assert_int_eq(ms_solve_repeated(a, &p, 0, NULL, &repeats, x, &value), MS_OPTIMAL);
            ck_assert_double_eq(ms_value(&p, x), value);
            ck_assert_int_eq(ms_solve(a, &p, 0, NULL, x, &want), MS_OPTIMAL);
            ck_assert(value >= want * (1 - 1e-12));
            solved++;
            best += value <= want * (1 + 1e-12);
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(solved, 60);
    ck_assert_int_gt(best, solved * 8 / 10);
}
END_TEST

START_TEST(a_layer_of_its_own_is_no_repetition)
{
    dice r = {9};
    hb_arena *a = hb_arena_new();
    style s = {.layers = 20, .states = 3, .other = 20};
    ms_problem p = draw(a, &r, &s);
    ck_assert_ptr_null(ms_tile_find(a, &p));
    s.layers = 7; // too few
    s.other = 0;
    p = draw(a, &r, &s);
    ck_assert_ptr_null(ms_tile_find(a, &p));
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ms_tile");
    TCase *t = tcase_create("all");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, tiled_and_untiled_agree);
    tcase_add_test(t, bound_of_the_short_problem_is_that_of_the_whole);
    tcase_add_test(t, warm_starts_change_no_value);
    tcase_add_test(t, copied_layers_are_mostly_optimal);
    tcase_add_test(t, a_layer_of_its_own_is_no_repetition);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
