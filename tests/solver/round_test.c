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
    tcase_add_exit_test(c, nan_is_a_bug, 4);
    tcase_add_exit_test(c, no_weight_is_a_bug, 4);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
