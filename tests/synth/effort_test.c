// More effort: plans with more work are found beside that with the usual work, and the fastest of
// them is the plan.

#include <check.h>

#include "synth/search/synth.h"
#include "tests/support/cases.h"

static ir_graph *graph(hb_arena *a)
{
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){0}, hb_diag_new(a));
    ck_assert_ptr_nonnull(g);
    return g;
}

static cost_model *model(hb_arena *a, const char *cluster)
{
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", hb_diag_new(a));
    ck_assert_ptr_nonnull(c);
    cost_model *m = HB_NEW(a, cost_model);
    *m = (cost_model){.cluster = c};
    return m;
}

static syn_result plan(hb_arena *a, const char *cluster, double effort, const volatile int *stop)
{
    syn_options o = syn_default_options();
    o.effort = effort;
    o.interrupted = stop;
    return syn_plan(a, graph(a), model(a, cluster), &o);
}

// Three unequal devices, where the usual work ends 0.9 % above what is found with more.
START_TEST(more_effort_finds_faster_plans)
{
    hb_arena *a = hb_arena_new();
    syn_result usual = plan(a, "clusters/laptop3.yaml", 1, NULL),
               more = plan(a, "clusters/laptop3.yaml", 3, NULL);
    ck_assert_int_eq(usual.status, SYN_OK);
    ck_assert_int_eq(more.status, SYN_OK);
    ck_assert_double_lt(more.predicted_sec, 0.995 * usual.predicted_sec);
    ck_assert_double_gt(more.work, 1.5 * usual.work);
    ck_assert_double_gt(more.plan_sec, 0);
    ck_assert_ptr_nonnull(more.space); // for explanations
    // The step that found it finds it again.
    ck_assert(usual.effort == 0 && usual.first_draw == 0);
    ck_assert(more.effort == 3 && more.first_draw > 0);
    syn_options o = syn_default_options();
    ir_graph *g = graph(a);
    o.effort = more.effort;
    o.first_draw = more.first_draw;
    syn_result again =
        syn_synthesize(a, g, ir_factorize(a, g), model(a, "clusters/laptop3.yaml"), &o);
    ck_assert_double_eq_tol(again.predicted_sec, more.predicted_sec, 1e-12);
    hb_arena_free(a);
}
END_TEST

// Where nothing faster is found the plan stays, and is that of the usual work.
START_TEST(it_is_never_slower)
{
    static const char *const clusters[] = {"clusters/h200x4-mixed.yaml", "clusters/laptop2.yaml",
                                           "clusters/laptop1.yaml"};
    for (int i = 3 - test_cases(1, 3, 3); i < 3; i++) {
        hb_arena *a = hb_arena_new();
        syn_result usual = plan(a, clusters[i], 1, NULL), more = plan(a, clusters[i], 2.5, NULL);
        ck_assert_int_eq(usual.status, SYN_OK);
        ck_assert_int_eq(more.status, SYN_OK);
        ck_assert_double_le(more.predicted_sec, usual.predicted_sec);
        ck_assert_double_gt(more.work, usual.work);
        hb_arena_free(a);
    }
}
END_TEST

START_TEST(a_stop_ends_it)
{
    const volatile int stop = 1;
    hb_arena *a = hb_arena_new();
    syn_result usual = plan(a, "clusters/laptop2.yaml", 1, &stop),
               more = plan(a, "clusters/laptop2.yaml", 100, &stop);
    ck_assert_int_eq(more.status, usual.status);
    ck_assert_double_eq(more.work, usual.work);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("effort");
    TCase *t = tcase_create("effort");
    tcase_set_timeout(t, 300);
    if (!TEST_SANITIZED) tcase_add_test(t, more_effort_finds_faster_plans); // takes a minute there
    tcase_add_test(t, it_is_never_slower);
    tcase_add_test(t, a_stop_ends_it);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
