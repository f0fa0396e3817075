// The search for a pipeline (solver/pipeline.h).
//
//  oracle    random small tables: as good as the best of all splits of the layers on all groups;
//            so are the next best on other units; with a gap no further from it than that; any
//            where there is one
//  more      another unit, more room, wider links, a lower latency: never slower
//  large     a table beyond its room is said to be too large, in no time
//
// pipeline_test fresh: many more tables, with other seeds each time.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "solver/pipeline.h"
#include "tests/support/cases.h"

enum {
    LAYERS = 6,
    KINDS = 3,
    OPTIONS = 6,
    MOST = 2,
    SETS = 27,
    BEST = 3
}; // SETS: (MOST + 1)^KINDS

static const double GAP = 0.1;
static uint64_t first_seed = 1;

typedef struct table {
    pl_problem p;
    int count[KINDS], take[OPTIONS][KINDS];
    double cost[OPTIONS][6][LAYERS], border[LAYERS];
    pl_option option[OPTIONS];
} table;

static uint64_t next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15u;
    uint64_t z = *state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static int below(uint64_t *state, int n)
{
    return (int)(next(state) % (uint64_t)n);
}

static double real(uint64_t *state)
{
    return (double)below(state, 1 << 30) / (1 << 30);
}

static void draw_option(table *t, int o, uint64_t *r, bool equal)
{
    double speed = 0.5 + 2 * real(r), way = real(r);
    bool late = below(r, 3); // gradients are sent before the backward half ends
    int all = 0;
    for (int k = 0; k < t->p.n_kinds; k++)
        all += t->take[o][k] = below(r, 3) ? 0 : 1 + below(r, t->count[k]);
    if (all == 0) t->take[o][below(r, t->p.n_kinds)] = 1;
    for (int l = 0; l < t->p.n_layers; l++) {
        double x = equal && l > 0 ? 1 : 0.2 + real(r);
        t->cost[o][0][l] = speed * x;
        t->cost[o][1][l] = 2 * speed * x;
        t->cost[o][2][l] = 3 * way * x;
        t->cost[o][3][l] = 1 + x;
        t->cost[o][4][l] = 0.3 * x;
        t->cost[o][5][l] = late ? real(r) * t->cost[o][1][l] : t->cost[o][1][l];
    }
    t->option[o] = (pl_option){.take = t->take[o],
                               .width = below(r, 4) ? (double)(1 + below(r, 3)) : (double)INFINITY,
                               .machine = below(r, 4) - 2 > 0 ? below(r, 2) : -1,
                               .inside = 0.5 + 6 * real(r),
                               .inside_latency = 0.2 * real(r),
                               .forward = t->cost[o][0],
                               .backward = t->cost[o][1],
                               .sent = t->cost[o][5],
                               .ends = t->cost[o][2],
                               .held = t->cost[o][3],
                               .place = t->cost[o][4],
                               .room = 2 + 12 * real(r)};
}

static void draw(table *t, uint64_t seed)
{
    uint64_t r = seed * 7919;
    bool equal = below(&r, 2);
    t->p = (pl_problem){.n_layers = 1 + below(&r, LAYERS),
                        .n_kinds = 1 + below(&r, KINDS),
                        .n_options = 1 + below(&r, OPTIONS),
                        .count = t->count,
                        .option = t->option,
                        .border = t->border,
                        .latency = 0.3 * real(&r),
                        .rounds = 1 + below(&r, 12),
                        .least_stages = 1 + below(&r, 2),
                        .most_stages = PL_MAX_STAGES};
    for (int k = 0; k < t->p.n_kinds; k++)
        t->count[k] = 1 + below(&r, MOST);
    for (int l = 0; l < t->p.n_layers; l++)
        t->border[l] = 3 * real(&r);
    for (int o = 0; o < t->p.n_options; o++)
        draw_option(t, o, &r, equal);
}

// All plans that begin as `plan` does; the best of each set of units, by the number of the units
// that are left.
static void try_all(const pl_problem *p, pl_plan *plan, int *left, pl_plan *best)
{
    int first = plan->n ? plan->stage[plan->n - 1].first + plan->stage[plan->n - 1].n_layers : 0;
    if (first == p->n_layers) {
        int set = 0;
        for (int k = 0; k < p->n_kinds; k++)
            set = (MOST + 1) * set + left[k];
        double sec = plan->n < p->least_stages ? (double)INFINITY : pl_value(p, plan);
        if (sec >= best[set].sec) return;
        best[set] = *plan;
        best[set].sec = sec;
        return;
    }
    for (int o = 0; o < p->n_options; o++) {
        bool has = true;
        for (int k = 0; k < p->n_kinds; k++)
            has = has && left[k] >= p->option[o].take[k];
        for (int k = 0; k < p->n_kinds; k++)
            left[k] -= p->option[o].take[k];
        for (int n = 1; has && first + n <= p->n_layers; n++) {
            plan->stage[plan->n++] = (pl_stage){o, first, n, 0};
            try_all(p, plan, left, best);
            plan->n--;
        }
        for (int k = 0; k < p->n_kinds; k++)
            left[k] += p->option[o].take[k];
    }
}

static bool same(double x, double y)
{
    return x == y || fabs(x - y) <= 1e-8 * fabs(y);
}

static int by_seconds(const void *x, const void *y)
{
    double a = ((const pl_plan *)x)->sec, b = ((const pl_plan *)y)->sec;
    return a < b ? -1 : a > b;
}

START_TEST(oracle)
{
    int n = test_cases(60, 300, 3000), none = 0;
    for (int k = 0; k < n; k++) {
        table t;
        unsigned long long seed = first_seed + (uint64_t)k;
        draw(&t, seed);
        pl_plan found[BEST], best[SETS], plan = {.n = 0};
        int left[KINDS];
        for (int i = 0; i < SETS; i++)
            best[i] = (pl_plan){.sec = INFINITY};
        for (int i = 0; i < t.p.n_kinds; i++)
            left[i] = t.count[i];
        try_all(&t.p, &plan, left, best);
        qsort(best, SETS, sizeof *best, by_seconds);
        pl_status s = pl_search(&t.p, INFINITY, BEST, found);
        ck_assert_int_ne(s, PL_TOO_LARGE);
        ck_assert_msg((s == PL_OK) == (best->n > 0), "seed %llu", seed);
        none += s != PL_OK;
        for (int i = 0; i < BEST; i++) {
            ck_assert_msg(same(found[i].sec, best[i].sec), "seed %llu, %d: %.12g, of all %.12g",
                          seed, i, found[i].sec, best[i].sec);
            ck_assert_int_eq(found[i].n > 0, isfinite(best[i].sec));
            if (found[i].n > 0) ck_assert(same(pl_value(&t.p, &found[i]), found[i].sec));
        }
        t.p.gap = GAP;
        ck_assert_int_eq(pl_search(&t.p, INFINITY, 1, &plan), s);
        ck_assert_msg(plan.sec <= best->sec * (1 + GAP), "seed %llu: %g, of all %g", seed, plan.sec,
                      best->sec);
        t.p.gap = 0;
        ck_assert(pl_any(&t.p, INFINITY) == (s == PL_OK));
        for (int e = -1; e <= 1 && s == PL_OK; e += 2)
            ck_assert(pl_any(&t.p, best->sec * (1 + e * 1e-6)) == (e > 0));
        for (int e = -1; e <= 1 && s == PL_OK; e += 2)
            ck_assert_msg(pl_search(&t.p, best->sec * (1 + e * 1e-6), 1, &plan) ==
                              (e > 0 ? PL_OK : PL_NONE),
                          "seed %llu: less %d, %d rounds, %d stages, %d layers, tau %g, %.17g",
                          seed, e, t.p.rounds, best->n, t.p.n_layers, best->tau, best->sec);
    }
    printf("%d tables, %d of them without a plan\n", n, none);
}
END_TEST

START_TEST(more)
{
    int n = test_cases(60, 300, 3000);
    for (int k = 0; k < n; k++) {
        table t;
        draw(&t, first_seed + 1000000 + (uint64_t)k);
        pl_plan before, after;
        (void)pl_search(&t.p, INFINITY, 1, &before);
        switch (k % 4) {
        case 0:
            t.count[k / 4 % t.p.n_kinds]++;
            break;
        case 1:
            t.option[k / 4 % t.p.n_options].room *= 1.5;
            break;
        case 2:
            t.option[k / 4 % t.p.n_options].width *= 1.5;
            t.option[k / 4 % t.p.n_options].inside *= 1.5;
            break;
        default:
            t.p.latency /= 2;
            break;
        }
        if (pl_search(&t.p, INFINITY, 1, &after) != PL_OK) ck_assert_int_eq(before.n, 0);
        ck_assert_msg(before.n == 0 || after.sec <= before.sec * (1 + 1e-8),
                      "seed %d: %.12g, then %.12g", k, before.sec, after.sec);
    }
}
END_TEST

START_TEST(large)
{
    table t;
    draw(&t, 5);
    t.p.n_kinds = KINDS;
    for (int k = 0; k < KINDS; k++)
        t.count[k] = 1000;
    for (int o = 0; o < t.p.n_options; o++)
        for (int k = 0; k < KINDS; k++)
            t.take[o][k] = 1;
    pl_plan plan;
    ck_assert_int_eq(pl_search(&t.p, INFINITY, 1, &plan), PL_TOO_LARGE);
}
END_TEST

int main(int argc, char **argv)
{
    if (argc > 1 && strcmp(argv[1], "fresh") == 0) {
        first_seed = (uint64_t)time(NULL) * 100000;
        setenv("HAP_NIGHTLY", "1", 1);
    }
    Suite *s = suite_create("pipeline");
    TCase *c = tcase_create("pipeline");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, oracle);
    tcase_add_test(c, more);
    tcase_add_test(c, large);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
