// Plans under more and more memory: sweeps of capacities over small models.

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "synth/synth.h"

enum { STEPS = 8 };
static const double LEAST = 0.75, MOST = 1.15, SLOWER = 1.1;

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
    int n = 0, same = 0;
    for (int i = 0; i < 15; i++)
        sweep(hb_fmt(a, "examples/%s/graph.json", graphs[i / 3]).p,
              hb_fmt(a, "clusters/%s.yaml", clusters[i % 3]).p, &n, &same);
    ck_assert_int_ge(n, 60);
    ck_assert_msg(10 * same >= 7 * n, "%d of %d", same, n);
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

int main(void)
{
    Suite *s = suite_create("memory_sweep");
    TCase *c = tcase_create("memory_sweep");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, more_memory_is_no_worse);
    tcase_add_test(c, pairs_may_fit_alone);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
