// What a report says of a gap: which parts it has, what was not looked at.

#include "emit/words.h"

#include <check.h>
#include <math.h>

static const char *said(hb_arena *a, double bound, double best, syn_bound_levels levels)
{
    syn_result r = {.additive_sec = best, .additive_bound_sec = bound, .additive_levels = levels};
    return say_open(a, &r).n ? say_open(a, &r).p : "";
}

#define REST                                                                                       \
    " Nothing is proved of other cuts, meshes, micro-batches and blocks computed again: the best " \
    "of them were simulated."

START_TEST(gaps)
{
    hb_arena *a = hb_arena_new();
    const syn_bound_levels none = {HUGE_VAL, HUGE_VAL, HUGE_VAL};
    ck_assert_str_eq(said(a, 100, 101.9, none), ""); // under 2 %
    ck_assert_str_eq(said(a, -1, 120, none), "");    // no bound
    ck_assert_str_eq(said(a, 100, -1, none), "");    // no plan of the space fits
    ck_assert_str_eq(said(a, 100, 110, none),
                     "Above the bound: 10 % by a search that was not exact." REST);
    ck_assert_str_eq(said(a, 100, 110, (syn_bound_levels){100, HUGE_VAL, HUGE_VAL}),
                     "Above the bound: 10 % by prices on memory that were not found." REST);
    ck_assert_str_eq(said(a, 100, 110, (syn_bound_levels){100.01, 103, 105}),
                     "Above the bound: 3.0 % by prices on memory that were not found, 2.0 % by "
                     "choices that no prices lead to, as where equal layers would differ and 5.0 % "
                     "by memory that plans take and the bound does not count (both ends of a "
                     "collective, padded copies, gaps between buffers)." REST);
    ck_assert_str_eq(said(a, 100, 110, (syn_bound_levels){100, 100, 140}), // dearer than the plan
                     "Above the bound: 10 % by choices that no prices lead to, as where equal "
                     "layers would differ." REST);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("words");
    TCase *c = tcase_create("words");
    tcase_add_test(c, gaps);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
