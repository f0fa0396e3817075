// What is random, and what the schedule says: the same on every machine and number of ranks.

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "core/float16.h"
#include "core/learning_rate.h"
#include "core/philox.h"

// Known answers of the authors' library (Random123, kat_vectors, philox4x32 10).
START_TEST(known_vectors)
{
    static const struct {
        uint32_t counter[4];
        uint64_t key;
        uint32_t out[4];
    } known[] = {
        {{0, 0, 0, 0}, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
        {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
         0xffffffffffffffff,
         {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
        {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
         0x299f31d0a4093822,
         {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
    };
    for (int k = 0; k < 3; k++) {
        uint32_t out[4];
        hap_philox(known[k].counter, known[k].key, out);
        for (int i = 0; i < 4; i++)
            ck_assert_uint_eq(out[i], known[k].out[i]);
    }
}
END_TEST

// tests/torch/README.md: {"normal": 1} named "w" with seed 1.
START_TEST(first_elements)
{
    static const double known[6] = {-0.7291107, -1.2246889, 0.3401738,
                                    -0.7404773, -0.4552844, 1.6638490};
    for (int i = 0; i < 6; i++) {
        double lane[4];
        hap_philox_normal4((uint64_t)i / 4, hap_tensor_key("w", 1), lane);
        ck_assert_double_eq_tol(lane[i % 4], known[i], 1e-7);
    }
}
END_TEST

START_TEST(normals_are_normal)
{
    double sum = 0, square = 0, n = 40000;
    for (uint64_t b = 0; b < 10000; b++) {
        double lane[4];
        hap_philox_normal4(b, hap_tensor_key("x", 3), lane);
        for (int i = 0; i < 4; i++) {
            sum += lane[i];
            square += lane[i] * lane[i];
        }
    }
    ck_assert_double_eq_tol(sum / n, 0, 0.02);
    ck_assert_double_eq_tol(square / n, 1, 0.03);
}
END_TEST

// Every n has a permutation, which differs from epoch to epoch.
START_TEST(permutation)
{
    static const int64_t sizes[] = {1, 2, 3, 4, 5, 16, 17, 100, 257, 1000};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        int64_t n = sizes[k], same = 0;
        char *seen = calloc((size_t)n, 1);
        for (int64_t i = 0; i < n; i++) {
            int64_t p = hap_permute(i, n, 7, 0);
            ck_assert_int_ge(p, 0);
            ck_assert_int_lt(p, n);
            ck_assert_int_eq(seen[p], 0);
            seen[p] = 1;
            same += p == hap_permute(i, n, 7, 1);
        }
        if (n >= 16) ck_assert_int_lt(same, n / 2);
        free(seen);
    }
}
END_TEST

START_TEST(schedule)
{
    hap_lr lr = {.lr = 2, .warmup = 4, .cosine = 12, .min_lr = 0.1};
    ck_assert_double_eq_tol(hap_lr_at(lr, 0), 0.5, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 3), 2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 4), 2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 8), 1.1, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 12), 0.2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 1000), 0.2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at((hap_lr){.lr = 3}, 1000), 3, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at((hap_lr){.lr = 3, .warmup = 2}, 0), 1.5, 1e-15);
    lr = (hap_lr){.lr = 2, .warmup = 4, .has_start = true, .start = 0.5, .stable = 6, .linear = 20};
    ck_assert_double_eq_tol(hap_lr_at(lr, 0), 1, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 2), 1.5, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 10), 2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 15), 1, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 30), 0, 1e-15);
    lr = (hap_lr){.lr = 2, .warmup = 4, .inverse_sqrt = 4};
    ck_assert_double_eq_tol(hap_lr_at(lr, 4), 2, 1e-15);
    ck_assert_double_eq_tol(hap_lr_at(lr, 16), 1, 1e-15);
}
END_TEST

// All 65536 patterns survive the way to f32 and back; halves go to even.
START_TEST(float16)
{
    for (uint32_t h = 0; h < 65536; h++) {
        float b = hap_bf16_to_f32((uint16_t)h), f = hap_f16_to_f32((uint16_t)h);
        if (!isnan(b)) ck_assert_uint_eq(hap_f32_to_bf16(b), h);
        if (!isnan(f)) ck_assert_uint_eq(hap_f32_to_f16(f), h);
        if (isnan(b)) ck_assert(isnan(hap_bf16_to_f32(hap_f32_to_bf16(b))));
        if (isnan(f)) ck_assert(isnan(hap_f16_to_f32(hap_f32_to_f16(f))));
    }
    ck_assert_uint_eq(hap_f32_to_bf16(1 + 0x1p-8f), 0x3F80);     // tie: to even, down
    ck_assert_uint_eq(hap_f32_to_bf16(1 + 3 * 0x1p-8f), 0x3F82); // tie: to even, up
    ck_assert_uint_eq(hap_f32_to_bf16(3.4e38f), 0x7F80);         // rounds to infinity
    ck_assert_uint_eq(hap_f32_to_f16(1 + 0x1p-11f), 0x3C00);
    ck_assert_uint_eq(hap_f32_to_f16(1 + 3 * 0x1p-11f), 0x3C02);
    ck_assert_uint_eq(hap_f32_to_f16(65519), 0x7BFF);
    ck_assert_uint_eq(hap_f32_to_f16(65520), 0x7C00);
    ck_assert_uint_eq(hap_f32_to_f16(0x1p-25f), 0); // half of the smallest: to even
    ck_assert_uint_eq(hap_f32_to_f16(3 * 0x1p-25f), 2);
    ck_assert_uint_eq(hap_f32_to_f16(-0x1.8p-24f), 0x8002);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("philox");
    TCase *t = tcase_create("all");
    tcase_add_test(t, known_vectors);
    tcase_add_test(t, first_elements);
    tcase_add_test(t, normals_are_normal);
    tcase_add_test(t, permutation);
    tcase_add_test(t, schedule);
    tcase_add_test(t, float16);
    suite_add_tcase(s, t);
    SRunner *run = srunner_create(s);
    srunner_run_all(run, CK_NORMAL);
    int failed = srunner_ntests_failed(run);
    srunner_free(run);
    return failed;
}
