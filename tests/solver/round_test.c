#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "solver/lp.h"

static uint64_t state = 1;

static uint32_t draw(uint32_t below)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(state >> 33) % below;
}

START_TEST(tables_by_hand)
{
    static const struct {
        int64_t total, grain;
        int n;
        double weight[4];
        int64_t want[4];
    } row[] = {
        {10, 1, 4, {4, 3, 2, 1}, {4, 3, 2, 1}},
        {10, 1, 3, {1, 1, 1}, {4, 3, 3}},      // ties to the lower index
        {2, 1, 4, {1, 1, 1, 1}, {1, 1, 0, 0}}, // zero is legal
        {7, 1, 2, {0, 3}, {0, 7}},             // no weight, nothing
        {7, 1, 2, {3, 0}, {7, 0}},
        {64, 16, 2, {3, 1}, {48, 16}},
        {64, 16, 3, {1, 1, 1}, {32, 16, 16}},
        {50, 16, 2, {1, 1}, {32, 18}}, // quotas 1.5625 of 4 granules, the last of 2
        {50, 16, 2, {1, 0}, {50, 0}},  // a short last granule goes where the rest is
        {0, 8, 2, {1, 1}, {0, 0}},
        {5, 8, 2, {1, 2}, {0, 5}}, // less than a granule
        {3, 1, 2, {1e300, 1e300}, {2, 1}},
        {100, 1, 2, {1e-300, 3e-300}, {25, 75}},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        int64_t got[4];
        lp_round(row[i].total, row[i].grain, row[i].n, row[i].weight, got);
        for (int k = 0; k < row[i].n; k++)
            ck_assert_msg(got[k] == row[i].want[k], "row %zu, part %d: %lld", i, k,
                          (long long)got[k]);
    }
}
END_TEST

START_TEST(properties)
{
    for (int round = 0; round < 3000; round++) {
        double weight[9], sum = 0;
        int64_t out[9], at = 0;
        int n = 1 + (int)draw(9);
        int64_t grain = 1 + draw(20), total = draw(2000);
        for (int i = 0; i < n; i++) {
            weight[i] = draw(4) ? draw(1000) / 7.0 : 0;
            sum += weight[i];
        }
        if (sum <= 0) sum = weight[0] = 1;
        lp_round(total, grain, n, weight, out);
        for (int i = 0; i < n; i++) {
            ck_assert_int_ge(out[i], 0);
            if (weight[i] <= 0) ck_assert_int_eq(out[i], 0);
            // Off by less than one granule, plus what the short last one lacks.
            ck_assert_double_lt(fabs((double)out[i] - weight[i] / sum * (double)total),
                                2.0 * (double)grain);
            at += out[i];
            ck_assert(at % grain == 0 || at == total);
        }
        ck_assert_int_eq(at, total);
    }
}
END_TEST

// More weight never gives less: equal weights differ by one granule at most, larger are not below.
START_TEST(order_is_kept)
{
    for (int round = 0; round < 1000; round++) {
        double weight[6];
        int64_t out[6], grain = 1 + draw(5), total = grain * draw(300);
        for (int i = 0; i < 6; i++)
            weight[i] = 1 + draw(6);
        lp_round(total, grain, 6, weight, out);
        for (int i = 0; i < 6; i++)
            for (int j = 0; j < 6; j++) {
                if (weight[i] > weight[j]) ck_assert_int_ge(out[i], out[j]);
                if (weight[i] == weight[j] && i < j) ck_assert_int_ge(out[i], out[j]);
            }
    }
}
END_TEST

static double most_of(int n, const double *weight, const int64_t *part)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (part[i] > 0) most = fmax(most, (double)part[i] / weight[i]);
    return most;
}

// The least of the largest parts per weight, of all ways to share out what is left.
static double least_of(int64_t left, int at, int n, const double *weight, int64_t *part)
{
    double least = HUGE_VAL;
    if (at == n) return left == 0 ? most_of(n, weight, part) : HUGE_VAL;
    for (part[at] = 0; part[at] <= left && (part[at] == 0 || weight[at] > 0); part[at]++)
        least = fmin(least, least_of(left - part[at], at + 1, n, weight, part));
    return least;
}

START_TEST(the_largest_part_is_least)
{
    for (int round = 0; round < 2000; round++) {
        double weight[4];
        int64_t out[4], other[4], at = 0, total = 1 + draw(13);
        int n = 1 + (int)draw(4);
        for (int i = 0; i < n; i++) // often equal ones
            weight[i] = draw(4) ? (double)(1 + draw(5)) : draw(1000) / 7.0;
        if (weight[0] <= 0) weight[0] = 1;
        lp_round_least_most(total, 1, n, weight, out);
        for (int i = 0; i < n; i++) {
            ck_assert_int_ge(out[i], 0);
            at += out[i];
        }
        ck_assert_int_eq(at, total);
        double least = least_of(total, 0, n, weight, other);
        ck_assert_double_le_tol(most_of(n, weight, out), least, 1e-9 * least);
    }
}
END_TEST

// 256 rows on 16 devices each of four speeds: the remainders give the slowest two rows each.
START_TEST(few_rows_of_slow_devices)
{
    double weight[64];
    int64_t out[64];
    static const double speed[] = {67, 67, 19.5, 15.7};
    static const int64_t want[] = {2, 1}; // of the two slow ones
    for (int i = 0; i < 64; i++)
        weight[i] = speed[i / 16];
    lp_round(256, 1, 64, weight, out);
    ck_assert_int_eq(out[48], 2);
    lp_round_least_most(256, 1, 64, weight, out);
    int64_t sum = 0;
    for (int i = 0; i < 64; i++) {
        sum += out[i];
        if (i >= 32) ck_assert_int_eq(out[i], want[i / 16 - 2]);
    }
    ck_assert_int_eq(sum, 256);
}
END_TEST

// Boundaries lie between granules, the last of which may be short.
START_TEST(granules_of_the_largest)
{
    for (int round = 0; round < 2000; round++) {
        double weight[9], sum = 0;
        int64_t out[9], at = 0, grain = 1 + draw(20), total = draw(2000);
        int n = 1 + (int)draw(9);
        for (int i = 0; i < n; i++)
            sum += weight[i] = draw(4) ? draw(1000) / 7.0 * 1e-300 : 0;
        if (sum <= 0) weight[0] = 1;
        lp_round_least_most(total, grain, n, weight, out);
        for (int i = 0; i < n; i++) {
            ck_assert_int_ge(out[i], 0);
            if (weight[i] <= 0) ck_assert_int_eq(out[i], 0);
            at += out[i];
            ck_assert(at % grain == 0 || at == total);
        }
        ck_assert_int_eq(at, total);
    }
}
END_TEST

START_TEST(nan_is_a_bug)
{
    double weight[] = {1, nan("")};
    int64_t out[2];
    lp_round(10, 1, 2, weight, out);
}
END_TEST

START_TEST(no_weight_is_a_bug)
{
    double weight[] = {0, 0};
    int64_t out[2];
    lp_round(10, 1, 2, weight, out);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("round");
    TCase *c = tcase_create("round");
    tcase_set_timeout(c, 30);
    tcase_add_test(c, tables_by_hand);
    tcase_add_test(c, properties);
    tcase_add_test(c, order_is_kept);
    tcase_add_test(c, the_largest_part_is_least);
    tcase_add_test(c, few_rows_of_slow_devices);
    tcase_add_test(c, granules_of_the_largest);
    tcase_add_exit_test(c, nan_is_a_bug, 4);
    tcase_add_exit_test(c, no_weight_is_a_bug, 4);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
