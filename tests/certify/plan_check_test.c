// Plans of the sample graphs on the sample clusters, by every strategy: each must be proved, its
// record must survive the way through JSON lines, and its mutants must be rejected.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "synth/search/synth.h"
#include "tests/certify/mutate.h"
#include "tests/support/cases.h"

static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                     "examples/bert-tiny/graph.json",
                                     "examples/bert-moe-tiny/graph.json"};
static const char *const clusters[] = {"clusters/laptop1.yaml", "clusters/laptop3.yaml",
                                       "clusters/laptop.yaml", "clusters/laptop2x2.yaml",
                                       "clusters/a100x2-v100x2.yaml"};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs, N_CLUSTERS = sizeof clusters / sizeof *clusters };

typedef struct load {
    ir_graph *g;
    ir_factors *f;
    cost_model m;
} load;

static load read_both(hb_arena *a, const char *graph, const char *cluster)
{
    hb_diag *d = hb_diag_new(a);
    load l = {.g = ir_build(a, graph, &(ir_options){0}, d)};
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(l.g);
    ck_assert_ptr_nonnull(c);
    l.f = ir_factorize(a, l.g);
    l.m = (cost_model){.cluster = c};
    return l;
}

START_TEST(plans_are_proved)
{
    const char *graph = graphs[_i / N_CLUSTERS], *cluster = clusters[_i % N_CLUSTERS];
    int planned = 0;
    for (int s = 0; s < syn_n_strategies; s++) {
        hb_arena *a = hb_arena_new();
        load l = read_both(a, graph, cluster);
        syn_options o = syn_default_options();
        o.strategy = (syn_strategy)s;
        o.keep_grads = s % 2 == 0;
        o.small_param = s == SYN_AUTO ? 0 : o.small_param;
        syn_result r = syn_synthesize(a, l.g, l.f, &l.m, &o);
        ck_assert_msg(r.status != SYN_FAILED_CHECK, "%s on %s, %s: %.*s", graph, cluster,
                      syn_strategy_name((syn_strategy)s), HB_ARG(r.why));
        if (r.status == SYN_OK) {
            hb_str why;
            record *rec = record_from_plan(a, r.program);
            bool ok = syn_check(a, l.g, l.f, rec, &why);
            ck_assert_msg(ok, "%s on %s, %s: %.*s", graph, cluster,
                          syn_strategy_name((syn_strategy)s), HB_ARG(why));
            planned++;
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(planned, 0);
}
END_TEST

// Faults in real plans: buckets, views on their operands, all-reduces in place, rolled blocks.
START_TEST(mutants_of_plans)
{
    static const char *const on[] = {"clusters/laptop3.yaml", "clusters/laptop.yaml"};
    int total = 0, accepted = 0;
    for (int s = 0; s < syn_n_strategies; s++) {
        hb_arena *a = hb_arena_new();
        load l = read_both(a, graphs[_i % N_GRAPHS], on[_i / N_GRAPHS]);
        syn_options o = syn_default_options();
        o.strategy = (syn_strategy)s;
        o.small_param = 0;
        o.keep_grads = true;
        syn_result r = syn_synthesize(a, l.g, l.f, &l.m, &o);
        if (r.status == SYN_OK && r.program->mesh->n_ranks > 1) {
            record *rec = record_from_plan(a, r.program);
            for (int k = 0; k < MUT_N; k++)
                for (int seed = 1; seed <= test_cases(1, 4, 4); seed++) {
                    hb_arena *one = hb_arena_new();
                    hb_str what, why;
                    record *w = mutate(one, rec, (mut_kind)k, (uint64_t)seed, &what);
                    total += w != NULL;
                    if (w && syn_check(one, l.g, l.f, w, &why)) {
                        accepted++;
                        fprintf(stderr, "accepted: %s, %s: %.*s\n", graphs[_i % N_GRAPHS],
                                syn_strategy_name((syn_strategy)s), HB_ARG(what));
                    }
                    hb_arena_free(one);
                }
        }
        hb_arena_free(a);
    }
    ck_assert_msg(accepted == 0, "%d of %d wrong programs were accepted", accepted, total);
    ck_assert_int_gt(total, test_cases(12, 50, 50));
}
END_TEST

int main(void)
{
    Suite *s = suite_create("plan_check");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, plans_are_proved, 0, N_GRAPHS * N_CLUSTERS);
    tcase_add_loop_test(t, mutants_of_plans, 0, N_GRAPHS * test_cases(1, 2, 2));
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
