// When ranks count as slower or faster than planned.

#include "cli/drift.h"

#include <check.h>
#include <math.h>
#include <stdio.h>

static hb_arena *arena;
static drift x;
static int step;

static const double planned[4] = {2, 2, 1, 1};

static void setup(void)
{
    arena = hb_arena_new();
    x = (drift){0};
    step = 0;
    drift_begin(&x, arena, 4, planned);
}

static void teardown(void)
{
    hb_arena_free(arena);
}

// A window in which ranks take so many times as long as planned.
static bool window(double a, double b, double c, double d)
{
    char line[200];
    step += 5;
    snprintf(line, sizeof line, "pace %d %d 0.5 0 %.9g %.9g %.9g %.9g", step, 100 - step, 2 * a,
             2 * b, c, d);
    return drift_hear(&x, line);
}

static void near(double a, double b)
{
    ck_assert_msg(fabs(a - b) < 0.05 * b, "%g, not %g", a, b);
}

START_TEST(slow_in_window_after_window)
{
    ck_assert(!window(1, 1, 1, 1));
    ck_assert_int_eq(x.calm, 0);
    ck_assert(!window(1, 3, 1, 1));
    ck_assert_int_eq(x.calm, 1);
    near(drift_of(&x, 1), 1);
    ck_assert(window(1, 3, 1, 1));
    ck_assert(x.step == 15 && x.left == 85 && x.step_sec == 0.5);
    near(drift_of(&x, 1), 3);
    for (int r = 0; r < 4; r++)
        if (r != 1) ck_assert(drift_of(&x, r) == 1);
}
END_TEST

START_TEST(what_most_ranks_do_is_usual)
{
    for (int k = 0; k < 9; k++) // all alike, however far from the plan
        ck_assert(!window(0.1 + k, 0.1 + k, 0.1 + k, 0.1 + k));
    for (int k = 0; k < 2; k++)
        ck_assert(window(7, 7, 3.5, 7) == (k == 1));
    near(drift_of(&x, 2), 0.5);
    drift_rest(&x);
    for (int k = 0; k < 4; k++) // a host of two is slowed; it is to last twice as long now
        ck_assert(window(1, 1, 2, 2) == (k == 3));
    near(drift_of(&x, 2), 2);
    near(drift_of(&x, 3), 2);
    ck_assert(drift_of(&x, 0) == 1 && drift_of(&x, 1) == 1);
}
END_TEST

START_TEST(noise_is_none)
{
    for (int k = 0; k < 100; k++) {
        double u = 1 + 0.2 * sin(k), v = 1 - 0.2 * sin(3 * k);
        ck_assert(!window(u, v, k % 2 ? 4 : 1, k % 3 ? 1 : 0.2)); // never two such windows
        if (k % 3 == 1) ck_assert(!window(1, 1, 1, 1));
    }
    ck_assert(!window(5, 1, 1, 1));
    ck_assert(!window(0.2, 1, 1, 1)); // now the other way
    near(drift_of(&x, 0), 1);
}
END_TEST

START_TEST(devices_of_one_speed_stay_together)
{
    for (int k = 0; k < 2; k++)
        (void)window(1, 1, 2.95, 3.05);
    ck_assert(drift_of(&x, 2) == drift_of(&x, 3));
}
END_TEST

// Broken lines, those of others, parts that do not follow each other.
START_TEST(lines_in_parts)
{
    static const char *const others[] = {"pace",
                                         "pace 1",
                                         "pace 1 2 0.1",
                                         "pace 1 2 x 0 1 1 1 1",
                                         "pacemaker",
                                         "pace 1 2 nan 0 1",
                                         "pace 1 2 -1 0 1",
                                         "pace 1 2 0.1 2 1 1",
                                         "pace 1 2 0.1 0 1 1 1 inf",
                                         "step 3",
                                         "pace 1 2 0.1 -1 1 1 1 1",
                                         ""};
    for (int k = 0; k < 2; k++) {
        ck_assert(!drift_hear(&x, "pace 4 6 0.25 0 2 6"));
        ck_assert(drift_hear(&x, "pace 4 6 0.25 2 1 1") == (k == 1));
    }
    near(drift_of(&x, 1), 3);
    teardown();
    setup();
    for (int k = 0; k < 3; k++)
        for (size_t i = 0; i < sizeof others / sizeof *others; i++)
            ck_assert_msg(!drift_hear(&x, others[i]), "%s", others[i]);
    ck_assert_int_eq(x.step, 0);
}
END_TEST

START_TEST(ranks_without_a_prediction_are_left_out)
{
    static const double none[4] = {2, 0, 1, 1};
    drift_begin(&x, arena, 4, none);
    for (int k = 0; k < 3; k++)
        ck_assert(!window(1, 9, 1, 1));
    ck_assert(drift_of(&x, 1) == 1);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("drift");
    TCase *c = tcase_create("drift");
    tcase_add_checked_fixture(c, setup, teardown);
    tcase_add_test(c, slow_in_window_after_window);
    tcase_add_test(c, what_most_ranks_do_is_usual);
    tcase_add_test(c, noise_is_none);
    tcase_add_test(c, devices_of_one_speed_stay_together);
    tcase_add_test(c, lines_in_parts);
    tcase_add_test(c, ranks_without_a_prediction_are_left_out);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
