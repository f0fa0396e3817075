// A synthesis that is told to stop (Ctrl-C, --time-limit) ends with the best plan so far, proved,
// after at most what it was about.

#include <check.h>
#include <stdio.h>

#include "synth/search/synth.h"
#include "tests/support/cases.h"

typedef struct watch {
    volatile int stop;
    int seen, after; // simulated plans before the one at which to stop, if > 0; and so far
    int late;        // simulated after it
} watch;

static void simulated(void *ctx, const syn_program *p, double sec)
{
    watch *w = ctx;
    (void)p;
    (void)sec;
    w->late += w->stop;
    if (++w->seen == w->after) w->stop = 1;
}

static syn_result plan(hb_arena *a, watch *w)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, "clusters/laptop2x2.yaml", "clusters/devices.yaml", d);
    ck_assert_ptr_nonnull(g);
    ck_assert_ptr_nonnull(c);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.baselines = true;
    o.interrupted = &w->stop;
    o.simulated = simulated;
    o.simulated_ctx = w;
    return syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
}

START_TEST(little_is_searched_after_a_stop)
{
    hb_arena *a = hb_arena_new();
    watch all = {0};
    syn_result whole = plan(a, &all);
    ck_assert_int_eq(whole.status, SYN_OK);
    ck_assert_int_gt(all.seen, 20);
    for (int after = 1; after < all.seen; after = test_cases(9, 2, 2) * after + 1) {
        hb_arena *b = hb_arena_new();
        watch w = {.after = after};
        syn_result r = plan(b, &w);
        ck_assert_int_eq(r.status, SYN_OK);
        ck_assert_int_le(w.late, 1); // the same choice otherwise, perhaps
        ck_assert_double_ge(r.predicted_sec, whole.predicted_sec * (1 - 1e-9));
        ck_assert_ptr_nonnull(r.space);
        hb_arena_free(b);
    }
    hb_arena_free(a);
}
END_TEST

// A large graph, whose few layers are planned first: stopped before all of it is.
START_TEST(a_large_graph_has_a_plan_or_a_reason)
{
    for (int i = 3 - test_cases(1, 3, 3); i < 3; i++) {
        hb_arena *a = hb_arena_new();
        hb_diag *d = hb_diag_new(a);
        ir_graph *g = ir_build(a, "examples/gpt2-xl/graph.json", &(ir_options){0}, d);
        cl_cluster *c = cl_read(a, "clusters/hap-paper.yaml", "clusters/devices.yaml", d);
        ck_assert_ptr_nonnull(g);
        ck_assert_ptr_nonnull(c);
        cost_model m = {.cluster = c};
        watch w = {.stop = i == 0, .after = i == 1 ? 12 : 0};
        syn_options o = syn_default_options();
        o.baselines = true;
        o.interrupted = &w.stop;
        o.simulated = simulated;
        o.simulated_ctx = &w;
        if (i == 2) o.time_limit_sec = 1e-9;
        syn_result r = syn_plan(a, g, &m, &o);
        ck_assert(r.status == SYN_OK || r.status == SYN_INFEASIBLE);
        ck_assert(r.status == SYN_OK ? r.program != NULL : r.why.n > 0);
        hb_arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stop");
    TCase *t = tcase_create("stop");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, little_is_searched_after_a_stop);
    tcase_add_test(t, a_large_graph_has_a_plan_or_a_reason);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
