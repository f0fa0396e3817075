// A synthesis that is told to stop (Ctrl-C, --time-limit) ends with the best plan so far, proved,
// after at most what it was about.

#include <check.h>
#include <stdio.h>

#include "synth/search/synth.h"

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
    for (int after = 1; after < all.seen; after = 2 * after + 1) {
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

int main(void)
{
    Suite *s = suite_create("stop");
    TCase *t = tcase_create("stop");
    tcase_set_timeout(t, 300);
    tcase_add_test(t, little_is_searched_after_a_stop);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
