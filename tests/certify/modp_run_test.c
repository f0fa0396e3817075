// The run modulo 2^61 - 1: plans by every strategy and random plans agree with one rank, faults in
// them are found by the run alone, and so is a rule of the op table that is wrong, which the static
// checker, reading the same table, cannot see.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ir/variant.h"
#include "synth/certify/modp.h"
#include "synth/search/synth.h"
#include "tests/certify/mutate.h"
#include "tests/certify/record_gen.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"

static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                     "examples/bert-tiny/graph.json",
                                     "examples/bert-moe-tiny/graph.json"};
static const char *const clusters[] = {"clusters/laptop.yaml", "clusters/laptop3.yaml"};
enum { N_GRAPHS = 4, N_CLUSTERS = 2 };

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

static record *plan(hb_arena *a, load *l, syn_strategy s)
{
    syn_options o = syn_default_options();
    o.strategy = s;
    o.keep_grads = true;
    o.small_param = s == SYN_AUTO || s == syn_strategy_named("tp") ? 0 : o.small_param;
    syn_result r = syn_synthesize(a, l->g, l->f, &l->m, &o);
    ck_assert_int_ne(r.status, SYN_FAILED_CHECK);
    return r.status == SYN_OK ? record_from_plan(a, r.program) : NULL;
}

START_TEST(plans_agree)
{
    const char *graph = graphs[_i / N_CLUSTERS], *cluster = clusters[_i % N_CLUSTERS];
    int planned = 0;
    for (int s = 0; s < syn_n_strategies; s++) {
        hb_arena *a = hb_arena_new();
        load l = read_both(a, graph, cluster);
        record *r = plan(a, &l, (syn_strategy)s);
        for (uint64_t seed = 1; r && seed <= 2; seed++) {
            hb_str why;
            clock_t t = clock();
            bool ok = syn_modp(a, l.g, l.f, r, seed, &why);
            ck_assert_msg(ok, "%s on %s, %s: %.*s", graph, cluster,
                          syn_strategy_name((syn_strategy)s), HB_ARG(why));
            printf("%s %s %s: %.1f ms\n", graph, cluster, syn_strategy_name((syn_strategy)s),
                   (double)(clock() - t) * 1e3 / CLOCKS_PER_SEC);
        }
        planned += r != NULL;
        hb_arena_free(a);
    }
    ck_assert_int_gt(planned, 0);
}
END_TEST

// Counts of labels that are cut evenly over one of two axes and whole over the other: half of the
// value on every rank, which also looks like a sum over the other axis. Found with micro-batches,
// where the shrunken tables happen to be even.
START_TEST(halves_of_a_count_are_no_sum_over_the_other_axis)
{
    static const char *const on[] = {"clusters/a100x2-v100x2.yaml",
                                     "clusters/h200x4-mixed-sockets.yaml"};
    const hb_str pin = HB_STR("labels=R,S(1)");
    for (int i = 0; i < 4; i++) {
        hb_arena *a = hb_arena_new();
        load l = read_both(a, "examples/bert-tiny/graph.json", on[i / 2]);
        hb_diag *d = hb_diag_new(a);
        ir_graph *g = ir_variant(a, l.g, i % 2 ? 4 : 2, NULL, d);
        ck_assert_ptr_nonnull(g);
        ir_factors *f = ir_factorize(a, g);
        syn_options o = syn_default_options();
        o.mesh = SYN_MESH_MACHINES;
        o.pins = syn_pins_read(a, g, f, &pin, 1, d);
        ck_assert_ptr_nonnull(o.pins);
        syn_result r = syn_synthesize(a, g, f, &l.m, &o);
        ck_assert_msg(r.status == SYN_OK, "%s: %.*s", on[i / 2], HB_ARG(r.why));
        const record *rec = record_from_plan(a, r.program);
        for (uint64_t seed = 1; seed <= 3; seed++) {
            hb_str why;
            ck_assert_msg(syn_modp(a, g, f, rec, seed, &why), "%s: %.*s", on[i / 2], HB_ARG(why));
        }
        hb_arena_free(a);
    }
}
END_TEST

static const gen_options meshes[] = {
    {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 90, .keep_grads = true},
    {.n_axes = 2, .size = {2, 3}, .n_classes = 3, .cut_percent = 90, .keep_grads = true},
};

START_TEST(random_plans_agree)
{
    for (int g = 0; g < N_GRAPHS; g++) {
        hb_arena *a = hb_arena_new();
        load l = read_both(a, graphs[g], clusters[0]);
        for (uint64_t seed = 1; seed <= 4; seed++) {
            gen_options o = meshes[seed % 2];
            hb_str why;
            o.seed = seed;
            record *r = gen_record(a, l.g, l.f, &o, NULL);
            bool ok = syn_modp(a, l.g, l.f, r, seed, &why);
            ck_assert_msg(ok, "%s, seed %d: %.*s", graphs[g], (int)seed, HB_ARG(why));
        }
        hb_arena_free(a);
    }
}
END_TEST

START_TEST(random_graphs_agree)
{
    for (int seed = 1; seed <= test_cases(4, 40, 40); seed++) {
        hb_arena *a = hb_arena_new();
        random_graph_options q = {.n_ops = 12, .train = true};
        q.precision = seed % 4 == 0 ? IR_PRECISION_BF16 : IR_PRECISION_FP32;
        ir_graph *g = random_graph(a, (uint64_t)seed, q);
        ir_factors *f = ir_factorize(a, g);
        for (int k = 0; k < 2; k++) {
            gen_options o = meshes[k];
            hb_str why;
            o.seed = (uint64_t)seed;
            record *r = gen_record(a, g, f, &o, NULL);
            bool ok = syn_modp(a, g, f, r, (uint64_t)seed, &why);
            ck_assert_msg(ok, "random graph %d, mesh %d: %.*s", seed, k, HB_ARG(why));
        }
        hb_arena_free(a);
    }
}
END_TEST

// Faults that change no value of a run without forms, offsets' alignment and sizes of scratch.
static bool only_static(int kind)
{
    switch (kind) {
    case MUT_WRONG_FORM:
    case MUT_NO_SCRATCH:
    case MUT_SMALL_SCRATCH:
    case MUT_MISALIGNED:
    case MUT_OUTSIDE:
    case MUT_NOT_SYMMETRIC:
    case MUT_WRONG_BATCH:
        return true;
    default:
        return false;
    }
}

START_TEST(faults_are_found)
{
    int made[MUT_N] = {0}, found[MUT_N] = {0}, total = 0, caught = 0, by_values = 0;
    int n = test_cases(1, N_GRAPHS, N_GRAPHS);
    for (int g = 0; g < n; g++)
        for (int s = 0; s < 2; s++) {
            hb_arena *a = hb_arena_new();
            load l = read_both(a, graphs[g], clusters[s]);
            gen_options o = meshes[g % 2];
            o.seed = 20 + (uint64_t)g;
            record *r = s == 0 ? gen_record(a, l.g, l.f, &o, NULL) : plan(a, &l, SYN_AUTO);
            ck_assert_ptr_nonnull(r);
            for (int k = 0; k < MUT_N; k++)
                for (uint64_t seed = 1; seed <= 3; seed++) {
                    hb_arena *one = hb_arena_new();
                    hb_str what, why;
                    record *w = only_static(k) ? NULL : mutate(one, r, (mut_kind)k, seed, &what);
                    if (w) {
                        bool ok = syn_modp(one, l.g, l.f, w, seed, &why);
                        if (ok && getenv("MODP_PRINT")) {
                            syn_check(one, l.g, l.f, w, &why);
                            printf("missed: %s, %.*s\n", mutate_names[k], HB_ARG(why));
                        }
                        made[k]++;
                        total++;
                        found[k] += !ok;
                        caught += !ok;
                        by_values += !ok && strstr(why.p, "run modulo") != NULL;
                    }
                    hb_arena_free(one);
                }
            hb_arena_free(a);
        }
    for (int k = 0; k < MUT_N; k++)
        if (found[k] < made[k]) printf("%s: %d of %d\n", mutate_names[k], found[k], made[k]);
    printf("%d of %d faults found by the run alone, %d of them by a value\n", caught, total,
           by_values);
    ck_assert_int_ge(total, 25 * n);
    ck_assert_int_ge(caught * 100, total * 95);
}
END_TEST

// Tables that say a partial sum passes through a row that is not linear, or that a row's result is
// a sum of its parts: plans made with them pass the checker that reads them.
START_TEST(wrong_rules_are_found)
{
    static const ir_op wrong[] = {IR_OP_gelu, IR_OP_norm_apply, IR_OP_sdpa, IR_OP_linear_dw};
    for (int k = 0; k < 4; k++) {
        int lied = 0;
        for (uint64_t seed = 1; seed <= 12 && lied < 3; seed++) {
            hb_arena *a = hb_arena_new();
            load l = read_both(a, graphs[1], clusters[0]);
            ir_factors *lie = ir_factorize(a, l.g);
            for (int n = 0; n < l.g->nodes.n; n++) {
                ir_rule *r = lie->rule[n];
                if (l.g->nodes.p[n].op != wrong[k]) continue;
                if (wrong[k] == IR_OP_gelu || wrong[k] == IR_OP_norm_apply) {
                    r->linear |= 1u;
                    r->reducer[0] = 's';
                    for (int i = 0; i < l.g->nodes.p[n].n_in; i++)
                        r->term[i] = 0;
                } else if (wrong[k] == IR_OP_sdpa) { // keys cut like a sum
                    r->reducer[0] = r->reducer[1] = 's';
                    for (int i = 0; i < r->n_factors; i++)
                        r->factor[i].whole = false;
                } else {
                    r->reducer[0] = 'm';
                }
            }
            gen_options o = {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 90};
            o.seed = seed;
            record *r = gen_record(a, l.g, lie, &o, NULL);
            hb_str why;
            if (syn_check(a, l.g, lie, r, &why) && !syn_check(a, l.g, l.f, r, &why)) {
                lied++;
                ck_assert_msg(!syn_modp(a, l.g, lie, r, seed, &why), "op %d, seed %d", k,
                              (int)seed);
                if (getenv("MODP_PRINT"))
                    printf("wrong %s: %.*s\n", ir_op_of(wrong[k])->name, HB_ARG(why));
            }
            hb_arena_free(a);
        }
        ck_assert_msg(lied > 0, "no plan used the wrong rule of %s", ir_op_of(wrong[k])->name);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("modp_run");
    TCase *t = tcase_create("runs");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, plans_agree, 0, N_GRAPHS * N_CLUSTERS);
    tcase_add_test(t, halves_of_a_count_are_no_sum_over_the_other_axis);
    tcase_add_test(t, random_plans_agree);
    tcase_add_test(t, random_graphs_agree);
    tcase_add_test(t, faults_are_found);
    tcase_add_test(t, wrong_rules_are_found);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
