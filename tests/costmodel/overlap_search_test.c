// The search for chunks of an overlapped pair: against all groupings of a small grid, limits, and
// what it loses where matmuls are quicker, or messages longer, than it is told.

#include "costmodel/overlap.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/cases.h"
#include "tests/support/pair_model.h"
#include "tests/support/pair_via.h"

typedef struct random_pair {
    model m;
    cost_pair p;
    int64_t rows[4];
    int kind[4];
    double after[4];
    cost_contention beside[2];
} random_pair;

static void draw(random_pair *x, int n, int what)
{
    double balance = exp(uniform(-1.5, 1.5));
    x->m = (model){.tile = uniform(0, 1) < 0.5 ? 1 : 128, .latency = uniform(0, 0.01)};
    for (int c = 0; c < 2; c++) {
        x->m.fixed[c] = uniform(0, 0.01);
        x->m.step[c] = (c ? uniform(1, 2.5) : 1) / 4096 * (double)x->m.tile;
        x->beside[c] = (cost_contention){uniform(1, 1.3), uniform(1, 1.3)};
    }
    bool even = uniform(0, 1) < 0.5;
    int64_t sum = 0;
    for (int r = 0; r < n; r++) {
        x->rows[r] = even ? 4096 / n : (int64_t)uniform(0, 2 * 4096.0 / n);
        x->kind[r] = r % 2;
        x->after[r] = what % 2 ? uniform(0, 0.05) : 0;
        sum += x->rows[r];
    }
    if (what >= 2) x->rows[0] = sum = 4096;
    x->m.per_row = balance / (double)(sum + 1) * (what >= 2 ? 1 : (double)n / (n - 1));
    x->p = pair_of(&x->m, n, x->rows);
    x->p.consumer = what == 0;
    x->p.whole = what >= 2;
    x->p.back = what == 3;
    x->p.copies = what == 0 && uniform(0, 1) < 0.3 ? n - 1 : 1;
    x->p.n_kinds = 2;
    x->p.kind = x->kind;
    x->p.beside = x->beside;
    x->p.after = x->after;
    x->p.gap = uniform(0, 0.005);
    x->p.flag = uniform(0, 0.01);
    x->p.quickest = 0.88;
}

// All groupings: every remote member's rows as compositions of `units`, own rows whole. Bit i of a
// mask: a part ends behind unit i.
static double brute_force(const cost_pair *p, int units)
{
    int members = p->whole ? 1 : p->n - 1, masks = 1 << (units - 1);
    double best = HUGE_VAL;
    long all = 1;
    for (int i = 0; i < members; i++)
        all *= masks;
    for (long x = 0; x < all; x++) {
        int chunk[COST_MAX_CHUNKS][3] = {{0}}, n = 0;
        long rest = x;
        if (p->consumer) chunk[n][0] = 0, chunk[n++][1] = 1;
        for (int d = 1; d <= members; d++) {
            int mask = (int)(rest % masks), width = 1;
            rest /= masks;
            for (int u = 0; u < units; u++, width++)
                if (u == units - 1 || mask >> u & 1) {
                    chunk[n][0] = p->whole ? 0 : d;
                    chunk[n++][1] = width;
                    width = 0;
                }
        }
        if (!p->consumer && !p->whole) chunk[n][0] = 0, chunk[n++][1] = 1;
        cost_pair_time t;
        best = fmin(best, cost_pair_seconds(p, chunk, n, &t));
    }
    return best;
}

// Every chunk straight or by way of any member, from chunk k on.
static double brute_force_ways(const cost_pair *p, int (*chunk)[3], int n, int k)
{
    cost_pair_time t;
    if (k == n) return cost_pair_seconds(p, chunk, n, &t);
    chunk[k][2] = 0;
    double best = brute_force_ways(p, chunk, n, k + 1);
    for (int via = 1; via < p->n; via++) {
        int64_t wide[COST_MAX_CHUNKS][3];
        for (int i = 0; i < n; i++)
            for (int j = 0; j < 3; j++)
                wide[i][j] = chunk[i][j];
        if (!pair_via_fits((const int64_t(*)[3])wide, n, k, via)) continue;
        chunk[k][2] = via;
        best = fmin(best, brute_force_ways(p, chunk, n, k + 1));
    }
    chunk[k][2] = 0;
    return best;
}

// The same in any order of the remote members' parts: what is left of each goes on behind chunk n.
static double brute_force_orders(const cost_pair *p, const int *left, bool ways, int (*chunk)[3],
                                 int n)
{
    double best = HUGE_VAL;
    bool over = true;
    for (int d = 1; d < p->n; d++)
        for (int width = 1; width <= left[d]; width++) {
            int rest[COST_MAX_PAIR_RANKS];
            for (int i = 1; i < p->n; i++)
                rest[i] = left[i] - (i == d ? width : 0);
            chunk[n][0] = d;
            chunk[n][1] = width;
            best = fmin(best, brute_force_orders(p, rest, ways, chunk, n + 1));
            over = false;
        }
    if (!over) return best;
    if (!p->consumer) chunk[n][0] = 0, chunk[n++][1] = 1;
    return brute_force_ways(p, chunk, n, p->consumer && ways ? 0 : n);
}

// what: 0 consumer, 1 producer, 2 all-reduce, 3 by one-sided puts. Within 2 % of the best of all
// groupings of the grid.
static void search_is_near(int n, int what, int units, int draws)
{
    double worst = 0;
    for (int i = 0; i < test_cases(draws / 10, draws, draws); i++) {
        random_pair x;
        cost_pair_time t;
        int chunk[12][3];
        draw(&x, n, what);
        int found = cost_pair_search(&x.p, 12, chunk, &t);
        double alone = cost_pair_sequential(&x.p), least = brute_force(&x.p, units);
        double got = found ? t.total : alone;
        if (found) {
            cost_pair_time again;
            ck_assert_double_lt(got, alone);
            near(cost_pair_seconds(&x.p, chunk, found, &again), got);
            for (int d = 0; d < (what >= 2 ? 1 : n); d++) {
                bool there = false;
                for (int k = 0; k < found; k++)
                    there = there || chunk[k][0] == d;
                ck_assert(there);
            }
        }
        worst = fmax(worst, got / fmin(least, alone));
    }
    ck_assert_msg(worst < 1.02, "search %.4f of the best chunking (n %d, what %d)", worst, n, what);
}

START_TEST(search_against_all_groupings)
{
    seed = 7;
    for (int what = 0; what < 2; what++) {
        search_is_near(2, what, 6, 120);
        search_is_near(3, what, 4, 60);
        search_is_near(4, what, 3, 40);
    }
    search_is_near(4, 2, 9, 120);
    search_is_near(4, 3, 9, 40);
}
END_TEST

START_TEST(search_against_all_orders)
{
    seed = 9;
    for (int i = 0; i < test_cases(8, 120, 120); i++) {
        random_pair x;
        cost_pair_time t;
        int n = 3 + i % 2, chunk[16][3], any[24][3] = {{0, 1}};
        int units[COST_MAX_PAIR_RANKS] = {0, 3 - i % 2, 3 - i % 2, 3 - i % 2};
        draw(&x, n, i / 2 % 2);
        x.p.copies = 1;
        int found = cost_pair_search(&x.p, 16, chunk, &t);
        double alone = cost_pair_sequential(&x.p);
        double least = brute_force_orders(&x.p, units, false, any, x.p.consumer ? 1 : 0);
        double got = found ? t.total : alone;
        ck_assert_msg(got < 1.03 * fmin(least, alone), "round %d: %.4f of the best order", i,
                      got / fmin(least, alone));
    }
}
END_TEST

// The same by way of any members, without which the best takes longer on average by so much.
START_TEST(search_against_all_ways)
{
    double worst = 0, sum = 0, sum_straight = 0;
    int n_cases = 0;
    seed = 19;
    for (int i = 0; i < 60; i++) {
        random_pair x;
        cost_pair_time t;
        int n = 3 + i % 2, chunk[16][3], any[24][3] = {{0, 1}};
        int units[COST_MAX_PAIR_RANKS] = {0, n == 3 ? 3 : 2, n == 3 ? 3 : 2, n == 3 ? 0 : 2};
        draw(&x, n, 0);
        if (x.p.copies > 1 || x.rows[0] == x.rows[1]) continue;
        int found = cost_pair_search(&x.p, 16, chunk, &t);
        double alone = cost_pair_sequential(&x.p);
        double least = fmin(brute_force_orders(&x.p, units, true, any, 1), alone);
        double got = (found ? t.total : alone) / least;
        sum_straight += brute_force_orders(&x.p, units, false, any, 1) / least;
        worst = fmax(worst, got);
        sum += got;
        n_cases++;
    }
    ck_assert_int_gt(n_cases, 15);
    ck_assert_msg(worst < 1.11 && sum < 1.005 * n_cases, "worst %.4f, mean %.4f", worst,
                  sum / n_cases);
    ck_assert_msg(sum_straight > 1.05 * n_cases, "straight mean %.4f", sum_straight / n_cases);
}
END_TEST

// By how much what is found takes longer than it need where matmuls are as quick as they may be
// and a producer's messages take `crowded` times as long beside them; `told`: the search knows of
// that. Uneven rows of both, or, crowded, even rows of a producer.
static double over_least(double crowded, bool told, double *worst)
{
    double sum = 0;
    int n_cases = 0;
    bool crowds = crowded > 1;
    seed = 13;
    *worst = 0;
    while (n_cases < 80) {
        random_pair x;
        cost_pair_time t;
        int chunk[16][3], other[16][3];
        draw(&x, 4, crowds ? 1 : n_cases % 2);
        if (x.p.copies > 1 || (x.rows[0] == x.rows[1]) != crowds) continue;
        n_cases++;
        double quickest = x.p.quickest;
        x.p.crowded = crowded;
        if (!told) x.p.quickest = 0;
        int found = cost_pair_search(&x.p, 16, chunk, &t);
        if (!found) continue;
        for (int c = 0; c < 2; c++) {
            x.m.fixed[c] *= quickest;
            x.m.step[c] *= quickest;
            x.beside[c].communication *= crowded;
        }
        x.p.gap *= quickest;
        x.p.quickest = quickest;
        x.p.crowded = 1;
        double got = cost_pair_seconds(&x.p, chunk, found, &t);
        if (cost_pair_search(&x.p, 16, other, &t) == 0) continue;
        double over = got / t.total - 1;
        sum += over;
        *worst = fmax(*worst, over);
    }
    return sum / n_cases;
}

START_TEST(quicker_matmuls_than_curves)
{
    double worst, untold, mean = over_least(1, true, &worst);
    ck_assert_msg(mean < 0.004 && worst < 0.05, "%.4f on average, worst %.4f", mean, worst);
    ck_assert_msg(over_least(1, false, &untold) > 1.3 * mean && untold > worst,
                  "no better than without: %.4f, worst %.4f", mean, worst);
}
END_TEST

START_TEST(longer_messages_beside_matmuls)
{
    double worst, untold, mean = over_least(1.2, true, &worst);
    ck_assert_msg(mean < 0.004 && worst < 0.05, "%.4f on average, worst %.4f", mean, worst);
    ck_assert_msg(over_least(1.2, false, &untold) > 3 * mean && untold > worst,
                  "no better than without: %.4f, worst %.4f", mean, worst);
}
END_TEST

// Whatever the chunking: at least the matmuls and the transfers of each rank alone; as found never
// more than the sequence.
START_TEST(limits)
{
    seed = 11;
    for (int i = 0; i < test_cases(60, 600, 600); i++) {
        random_pair x;
        cost_pair_time t;
        int what = i % 3, n = what == 2 ? 4 : 2 + i % 3, chunk[12][3];
        draw(&x, n, what);
        int found = cost_pair_search(&x.p, 12, chunk, &t);
        if (!found) continue;
        ck_assert_double_lt(t.total, cost_pair_sequential(&x.p));
        int64_t sum = 0;
        for (int r = 0; r < (what == 2 ? 1 : n); r++)
            sum += x.rows[r];
        double all = 0;
        for (int c = 0; c < 2 && c < n; c++) {
            double parts = (double)sum / (double)x.m.tile * x.m.step[c];
            ck_assert_double_ge(t.end[c], t.busy[c] * (1 - 1e-9));
            ck_assert_double_ge(t.busy[c], parts);
            all = fmax(all, t.end[c]);
        }
        ck_assert_double_ge(t.total, all);
        ck_assert_double_ge(t.total, t.transfer);
    }
}
END_TEST

// With all rows at once and no rank slower, one chunk a member and the fewest messages is what
// remains where gaps cost more than they bring.
START_TEST(gaps_decide)
{
    model m = {.fixed = {1e-5}, .step = {1e-7}, .latency = 1e-5, .per_row = 1.5e-7, .tile = 1};
    int64_t rows[] = {2048, 2048, 2048, 2048};
    cost_pair p = pair_of(&m, 4, rows);
    cost_pair_time t;
    int chunk[12][3];
    p.consumer = true;
    p.gap = 3e-6;
    int fine = cost_pair_search(&p, 12, chunk, &t);
    ck_assert_int_gt(fine, 4);
    p.gap = 1e-4;
    ck_assert_int_eq(cost_pair_search(&p, 12, chunk, &t), 4);
    p.gap = 1e-2;
    ck_assert_int_eq(cost_pair_search(&p, 12, chunk, &t), 0);
    p.gap = 3e-6;
    p.doubt = 1e-4; // what may vary counts against splitting, too
    ck_assert_int_eq(cost_pair_search(&p, 12, chunk, &t), 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("overlap_search");
    TCase *t = tcase_create("chunks");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, limits);
    tcase_add_test(t, gaps_decide);
    tcase_add_test(t, search_against_all_groupings);
    tcase_add_test(t, search_against_all_orders);
    if (!TEST_SANITIZED) { // averages of many cases
        tcase_add_test(t, search_against_all_ways);
        tcase_add_test(t, quicker_matmuls_than_curves);
        tcase_add_test(t, longer_messages_beside_matmuls);
    }
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
