// Plans under more and more memory: sweeps of capacities over small models.

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "ir/variant.h"
#include "synth/passes/workspace.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/plan_facts.h"
#include "tests/support/small_models.h"

enum { STEPS = 8 };
static const double LEAST = 0.75, MOST = 1.15, SLOWER = 1.05;

static double planned_on(hb_arena *a, ir_graph *g, cl_cluster *c, double *share)
{
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.small_param = o.copy_bytes = 4096;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    *share = 0;
    if (r.status != SYN_OK) return HUGE_VAL;
    for (int k = 0; k < r.program->mesh->n_classes; k++) {
        int64_t cap = c->cls[r.program->mesh->cluster_class[k]].capacity;
        ck_assert(r.program->peak_bytes[k] <= cap);
        *share = fmax(*share, (double)r.program->peak_bytes[k] / (double)cap);
    }
    return r.predicted_sec;
}

static double planned(hb_arena *a, const char *graph, const char *cluster, double scale,
                      double *share)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graph, &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    for (int k = 0; k < c->n_classes; k++)
        c->cls[k].capacity = (int64_t)((double)c->cls[k].capacity * scale);
    return planned_on(a, g, c, share);
}

// Capacities from what hardly fits to more than the plan without limits takes. A search within
// memory is no proof, so a plan for more of it may be slower: by how much, and how often, is held.
static void sweep(const char *graph, const char *cluster, int *n, int *same)
{
    hb_arena *a = hb_arena_new();
    double share, full, best = HUGE_VAL;
    double free_sec = planned(a, graph, cluster, 1, &full);
    ck_assert(full < 0.1);
    for (int i = 0; i <= STEPS; i++) {
        hb_arena *own = hb_arena_new();
        double sec =
            planned(own, graph, cluster, full * (LEAST + (MOST - LEAST) * i / STEPS), &share);
        if (isfinite(sec)) {
            ck_assert_msg(sec <= best * SLOWER, "%s on %s: %g s, with less memory %g", graph,
                          cluster, sec, best);
            ++*n;
            *same += sec <= best * (1 + 1e-9);
        }
        ck_assert_msg(isfinite(sec) || isinf(best), "%s on %s: no plan, with less memory %g s",
                      graph, cluster, best);
        best = fmin(best, sec);
        hb_arena_free(own);
    }
    ck_assert_msg(free_sec <= best * 1.02, "%s on %s: %g s without limits, %g within", graph,
                  cluster, free_sec, best);
    hb_arena_free(a);
}

START_TEST(more_memory_is_no_worse)
{
    static const char *const graphs[] = {"gpt2-tiny", "bert-tiny", "bert-moe-tiny", "mlp",
                                         "vit-tiny"};
    static const char *const clusters[] = {"laptop2", "laptop2x2", "laptop2x2-peers"};
    hb_arena *a = hb_arena_new();
    int n = 0, same = 0, sweeps = test_cases(1, 8, 15);
    for (int k = 0; k < sweeps; k++) {
        int i = k * 15 / sweeps;
        sweep(hb_fmt(a, "examples/%s/graph.json", graphs[i / 3]).p,
              hb_fmt(a, "clusters/%s.yaml", clusters[i % 3]).p, &n, &same);
    }
    ck_assert_int_ge(n, 4 * sweeps);
    ck_assert_msg(sweeps < 15 || 10 * same >= 7 * n, "%d of %d", same, n);
    hb_arena_free(a);
}
END_TEST

static ir_graph *small_graph(hb_arena *a, int i)
{
    if (i == 0)
        return small_mlp(a, 1024, 7, (int64_t[]){1024, 1024, 1024, 1024, 1024, 1024, 1024, 512});
    if (i == 1) return small_mlp(a, 256, 4, (int64_t[]){512, 2048, 512, 2048, 512});
    small_transformer m = {.batch = 8,
                           .tokens = 64,
                           .width = 256,
                           .heads = 4,
                           .hidden = 1024,
                           .vocabulary = 2048,
                           .n_layers = 2,
                           .embedding = true,
                           .norm = true};
    return small_attention(a, &m);
}

// Seconds on four devices (all alike; two of them slower, with half the memory; two in each of two
// machines), with launches and contention of their own or as of GPUs that were not measured.
static double on_four(int graph, int devices, bool measured, double mib, double *share)
{
    hb_arena *a = hb_arena_new();
    device d[4];
    for (int i = 0; i < 4; i++)
        d[i] =
            devices == 1 && i > 1 ? (device){1, 50, 30, 5, mib / 2} : (device){4, 100, 30, 5, mib};
    cl_cluster *c =
        devices == 2 ? small_cluster(a, 2, 2, d, 2, 50) : small_cluster(a, 1, 4, d, 0, 0);
    for (int k = 0; k < c->n_classes && !measured; k++)
        c->cls[k].launch = c->cls[k].compute_contention = c->cls[k].communication_contention = 0;
    double sec = planned_on(a, small_graph(a, graph), c, share);
    hb_arena_free(a);
    return sec;
}

// What fits does not depend on what a launch takes, nor on what transfers disturb; nor does more
// memory hurt.
START_TEST(fits_whatever_the_launch)
{
    static const double room = 1e5;
    int found = 0, n = test_cases(1, 9, 9);
    for (int i = 0; i < n; i++) {
        double share, best = HUGE_VAL;
        on_four(i / 3, i % 3, true, room, &share);
        double full = room * share;
        for (int step = 0; step <= STEPS; step++) {
            double mib = full * (0.7 + 0.07 * step), one = on_four(i / 3, i % 3, true, mib, &share),
                   other = on_four(i / 3, i % 3, false, mib, &share);
            ck_assert_msg(isfinite(one) == isfinite(other),
                          "graph %d, devices %d, %g MiB: %g s, not measured %g s", i / 3, i % 3,
                          mib, one, other);
            ck_assert_msg(isfinite(one) || isinf(best), "graph %d, devices %d, %g MiB: no plan",
                          i / 3, i % 3, mib);
            best = fmin(best, one);
            found += isfinite(one);
        }
    }
    ck_assert_int_ge(9 * found, 40 * n);
}
END_TEST

// Seven layers of parameters and moments in parts take 19.5 MiB a device, the input and what the
// forward pass saves 7 MiB; where a layer's parameter is whole, or a gradient is not yet in parts,
// they take 4 MiB more each, so that a collective beside the next layer's has no room.
START_TEST(nothing_in_flight)
{
    for (int measured = 0; measured < 2; measured++) {
        double share;
        ck_assert(isfinite(on_four(0, 0, measured, 34, &share)));
        ck_assert_double_gt(share, 0.9);
    }
}
END_TEST

// A fast device with so much memory beside a slow one with more than enough.
static syn_result beside_a_slow_one(hb_arena *a, double mib, int64_t vocabulary)
{
    small_transformer m = {.batch = 8,
                           .tokens = 64,
                           .width = 512,
                           .heads = 8,
                           .hidden = 2048,
                           .vocabulary = vocabulary,
                           .n_layers = 6,
                           .embedding = true,
                           .norm = true};
    device d[] = {{60, 2000, 100, 5, mib}, {10, 600, 100, 5, 1e5}};
    cost_model *on = HB_NEW(a, cost_model);
    on->cluster = small_cluster(a, 1, 2, d, 0, 0);
    ir_graph *g = small_attention(a, &m);
    ir_blocks(g);
    syn_options o = syn_default_options();
    syn_result r = syn_plan(a, g, on, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    return r;
}

// Rows stay on the fast device, and parameters and moments lie on the slow one. Where both are cut
// by speed, or all rows go where the memory is, the step takes 1.9 times as long as with memory
// enough.
START_TEST(states_lie_where_memory_is)
{
    hb_arena *a = hb_arena_new();
    double ample = beside_a_slow_one(a, 1e5, 2048).predicted_sec,
           tight = beside_a_slow_one(a, 150, 2048).predicted_sec;
    ck_assert_msg(tight < 1.75 * ample, "%g s in 150 MiB, %g s without limits", tight, ample);
    hb_arena_free(a);
}
END_TEST

// What is held beside an arena is known before there is one: here copies of the logits, whose rows
// are no multiple of 16 bytes, and of their gradient.
START_TEST(workspace_is_expected)
{
    hb_arena *a = hb_arena_new();
    syn_result r = beside_a_slow_one(a, 1e5, 20481);
    syn_program *p = hb_copy(a, r.program, sizeof *p);
    syn_workspace_expected(p);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double is = (double)syn_workspace_bytes(r.program, c),
               expected = (double)syn_workspace_bytes(p, c);
        if (c == 0) ck_assert_double_gt(is, 2 * 8 * 64 * 20481 * 4 * 0.5);
        ck_assert_double_eq_tol(expected, is, 0.02 * is);
    }
    hb_arena_free(a);
}
END_TEST

// Of what is planned here, among the variants and the baselines that are searched last, a plan fits
// with pairs and not without.
START_TEST(pairs_may_fit_alone)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, "examples/bert-moe/graph.json", &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, "clusters/laptop2.yaml", "clusters/devices.yaml", d);
    ck_assert(g && c);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.baselines = true;
    syn_result r = syn_plan(a, g, &m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    for (int k = 0; k < r.program->mesh->n_classes; k++)
        ck_assert(r.program->peak_bytes[k] <= c->cls[r.program->mesh->cluster_class[k]].capacity);
    hb_arena_free(a);
}
END_TEST

// What lies beside an arena on a GPU counts to the end: the plan that led here got other forms of
// its collectives, for which there was no room, and no other plan was looked for.
START_TEST(other_forms_leave_room)
{
    static const struct {
        const char *cluster;
        double of_full;
    } on[] = {{"clusters/h200x4-mixed.yaml", 0.75}, {"clusters/a100x2-v100x2.yaml", 0.825}};
    for (int i = 0; i < test_cases(1, 2, 2); i++) {
        hb_arena *a = hb_arena_new();
        double full, share;
        (void)planned(a, "examples/bert-tiny/graph.json", on[i].cluster, 1, &full);
        ck_assert(isfinite(planned(a, "examples/bert-tiny/graph.json", on[i].cluster,
                                   full * on[i].of_full, &share)));
        hb_arena_free(a);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("memory_sweep");
    TCase *c = tcase_create("memory_sweep");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, more_memory_is_no_worse);
    tcase_add_test(c, pairs_may_fit_alone);
    tcase_add_test(c, fits_whatever_the_launch);
    tcase_add_test(c, nothing_in_flight);
    tcase_add_test(c, states_lie_where_memory_is);
    tcase_add_test(c, workspace_is_expected);
    tcase_add_test(c, other_forms_leave_room);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
