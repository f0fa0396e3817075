// A plan's step where ranks are slower, against sums by hand.

#include "cli/retime.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

// Three ranks, of which the first two are one class; 4 + 6 ms, a collective of 10 beside 2, 1.
#define RANKS                                                                                               \
    "\"ranks\":[{\"rank\":0,\"class\":0},{\"rank\":1,\"class\":0},{\"rank\":-1},{\"rank\":2,\"class\":1}]," \
    "\"classes\":[{},{}],"
#define STEP(wait)                                                                                 \
    "{" RANKS "\"predicted_ms\":34,\"instructions\":["                                             \
    "{\"call\":\"op_linear\",\"ms\":[4,6]},"                                                       \
    "{\"call\":\"coll_all_gather_start\",\"ms\":[10],\"axes\":1},"                                 \
    "{\"call\":\"op_gelu\",\"ms\":[2,1]},"                                                         \
    "{\"call\":\"hap_wait\",\"start\":" wait "},"                                                  \
    "{\"call\":\"op_linear\",\"ms\":[0.25],\"times\":4}]}"

static double of(const char *text, const double *times)
{
    hb_source src = {HB_STR("plan.json"), hb_str_c(arena, text)};
    const hb_tree *t = hb_json_read(arena, &src, hb_diag_new(arena));
    ck_assert_ptr_nonnull(t);
    return retime(arena, t, times);
}

static void near(double a, double b)
{
    ck_assert_msg(fabs(a - b) < 1e-9 * b, "%g, not %g", a, b);
}

// The step takes 17 by the events, 34 as predicted: twice that.
START_TEST(the_slowest_of_a_class_counts)
{
    near(of(STEP("1"), (double[]){1, 1, 1}), 0.034);
    near(of(STEP("1"), (double[]){1, 3, 1}), 2e-3 * (12 + 10 + 3));
    near(of(STEP("1"), (double[]){0.5, 1, 1}), 0.034);
    near(of(STEP("1"), (double[]){8, 1, 1}), 2e-3 * (32 + 16 + 8));
    near(of(STEP("1"), (double[]){1, 1, 0.5}), 2e-3 * (4 + 10 + 1));
}
END_TEST

START_TEST(broken_plans_are_refused)
{
    static const char *const broken[] = {STEP("0"), STEP("7"), STEP("-1"), "{}",
                                         "{" RANKS "\"instructions\":[]}"};
    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++)
        ck_assert_msg(of(broken[i], (double[]){1, 1, 1}) == -1, "%s", broken[i]);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("retime");
    TCase *c = tcase_create("retime");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, the_slowest_of_a_class_counts);
    tcase_add_test(c, broken_plans_are_refused);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
