// What plans of stages take beside the stages (synth/search/plan_stages.h, search_stages.h): blocks
// that are computed again, a limit of time.
//
//  fits     where one stage does not fit, its blocks are computed again, and no others; where none
//           may be, there is no plan
//  gains    asked to choose, no plan is slower than with no blocks or with all of them
//  given    blocks that are given are those of the plan that is found
//  limit    behind its limit no further plan is looked for; given stages have one

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/search_stages.h"
#include "tests/support/cases.h"

static cl_cluster *cluster_of(hb_arena *a, const char *network)
{
    hb_diag *d = hb_diag_new(a);
    hb_source *src = HB_NEW(a, hb_source);
    *src = (hb_source){
        HB_STR("three.yaml"),
        hb_fmt(a,
               "name: three\n"
               "machines:\n"
               "- {name: m, count: 3, devices: [{name: fast, kind: cpu, f32: 80 GFLOP/s, memory: "
               "16 GiB, memory_bandwidth: 16 GB/s}, {name: slow, kind: cpu, f32: 40 GFLOP/s, "
               "memory: 8 GiB, memory_bandwidth: 8 GB/s}], link: {bandwidth: 4 GB/s, latency: 5 "
               "us}}\n"
               "network: {bandwidth: %s, latency: 20 us}\n"
               "source: datasheet\n",
               network)};
    cl_cluster *c = cl_read_source(a, src, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(c);
    return c;
}

static ir_graph *tiny(hb_arena *a, int64_t batch)
{
    ir_graph *g =
        ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){.batch = batch}, hb_diag_new(a));
    ck_assert_ptr_nonnull(g);
    ck_assert_int_eq(ir_blocks(g), 3);
    return g;
}

// A block on each machine, 3 - s micro-batches under way in stage s; memory: bytes of every device
// of stage s, 0: as they have.
static syn_staged_result planned(hb_arena *a, ir_graph *g, const int64_t *memory,
                                 const syn_options *o)
{
    const cl_cluster *c = cluster_of(a, "1 GB/s");
    const cost_model whole = {.cluster = c};
    cost_model *m = hb_alloc(a, 3 * sizeof *m);
    syn_stage_wish *w = hb_alloc(a, 3 * sizeof *w);
    int **rank = HB_ARRAY(a, int *, 3);
    hb_diag *d = hb_diag_new(a);
    for (int s = 0; s < 3; s++) {
        bool *device = HB_ARRAY(a, bool, c->n_ranks + 1);
        device[2 * s] = device[2 * s + 1] = true;
        rank[s] = HB_ARRAY(a, int, c->n_ranks + 1);
        ck_assert(syn_stage_model(a, &whole, device, rank[s], &m[s], d));
        cl_cluster *part = hb_copy(a, m[s].cluster, sizeof *part);
        part->cls = hb_copy(a, part->cls, sizeof *part->cls * (size_t)part->n_classes);
        for (int k = 0; k < part->n_classes && memory[s] > 0; k++)
            part->cls[k].capacity = memory[s];
        m[s].cluster = part;
        w[s] = (syn_stage_wish){.first_layer = s, .under_way = 3 - s};
    }
    syn_staged_result r = syn_plan_stages(a, g, c, 3, w, m, (int *const *)rank, o, d);
    hb_diag_print(d, stderr);
    ck_assert_int_eq(hb_diag_count(d), 0);
    return r;
}

static int64_t peak_of(const syn_staged *p, int s)
{
    const syn_program *q = p->stage[s].program;
    int64_t most = 0;
    for (int c = 0; c < q->mesh->n_classes; c++)
        most = q->peak_bytes[c] > most ? q->peak_bytes[c] : most;
    return most;
}

START_TEST(fits)
{
    static const int64_t all[3] = {0, 0, 0};
    hb_arena *a = hb_arena_new();
    ir_graph *g = tiny(a, 64);
    syn_options o = syn_default_options();
    (void)syn_strategy_parse(
        HB_STR("dp-even"),
        &o.strategy); // holds what a rank has of the batch, whatever memory there is
    o.micro_batches = 4;
    syn_staged_result kept = planned(a, g, all, &o);
    ck_assert(kept.plan && kept.plan->g->recomputed.n == 0);
    bool again[3] = {true, true, true};
    o.again = again;
    syn_staged_result redone = planned(a, g, all, &o);
    ck_assert(redone.plan && redone.plan->g->recomputed.n == 3);
    int64_t memory[3] = {0}, most = peak_of(kept.plan, _i), least = peak_of(redone.plan, _i);
    ck_assert_int_lt(least, most);
    memory[_i] = least + (most - least) / 8;
    again[0] = again[1] = again[2] = false;
    syn_staged_result none = planned(a, g, memory, &o);
    ck_assert(!none.plan && none.status == SYN_INFEASIBLE);
    ck_assert_str_eq(hb_str_n(a, none.why.p, strlen("stage 0")).p, hb_fmt(a, "stage %d", _i).p);
    o.again = NULL;
    syn_staged_result r = planned(a, g, memory, &o);
    ck_assert_msg(r.plan, "%.*s", HB_ARG(r.why));
    ck_assert_int_eq(r.plan->g->recomputed.n, 1);
    ck_assert_int_eq(r.plan->g->recomputed.p[0], _i);
    ck_assert_int_le(peak_of(r.plan, _i), memory[_i]);
    hb_arena_free(a);
}
END_TEST

START_TEST(gains)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = tiny(a, 8);
    syn_options o = syn_default_options();
    bool again[3] = {false};
    int64_t memory[3] = {0, 0, 0};
    o.micro_batches = 4;
    o.again = again;
    syn_staged_result roomy = planned(a, g, memory, &o);
    ck_assert(roomy.plan);
    for (int s = 0; s < 3; s++)
        memory[s] = peak_of(roomy.plan, s) * (14 + _i) / 16;
    syn_staged_result none = planned(a, g, memory, &o);
    again[0] = again[1] = again[2] = true;
    syn_staged_result all = planned(a, g, memory, &o);
    o.again = NULL;
    o.vary_blocks = true;
    syn_staged_result r = planned(a, g, memory, &o);
    ck_assert_int_eq(none.plan || all.plan, r.plan != NULL);
    double best = fmin(none.plan ? none.plan->predicted_sec : HUGE_VAL,
                       all.plan ? all.plan->predicted_sec : HUGE_VAL);
    if (r.plan) ck_assert_double_le(r.plan->predicted_sec, best * (1 + 1e-9));
    hb_arena_free(a);
}
END_TEST

static syn_staged_result search(hb_arena *a, ir_graph *g, const syn_options *o)
{
    const cost_model m = {.cluster = cluster_of(a, "50 MB/s")};
    hb_diag *d = hb_diag_new(a);
    syn_staged_result r = syn_search_stages(a, g, &m, o, HUGE_VAL, NULL, d);
    syn_finish_stages(a, &r);
    hb_diag_print(d, stderr);
    ck_assert_int_eq(hb_diag_count(d), 0);
    return r;
}

START_TEST(given)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = tiny(a, 8);
    syn_options o = syn_default_options();
    bool again[3] = {_i != 1, false, _i != 0};
    o.again = again;
    syn_staged_result r = search(a, g, &o);
    int n = 0;
    ck_assert_msg(r.plan, "%.*s", HB_ARG(r.why));
    for (int b = 0; b < 3; b++) {
        if (!again[b]) continue;
        ck_assert_int_lt(n, r.plan->g->recomputed.n);
        ck_assert_int_eq(r.plan->g->recomputed.p[n++], b);
    }
    ck_assert_int_eq(n, r.plan->g->recomputed.n);
    hb_arena_free(a);
}
END_TEST

static int count_plans; // that were simulated

static void count(void *ctx)
{
    (void)ctx;
    count_plans++;
}

START_TEST(limit)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = tiny(a, 8);
    syn_options o = syn_default_options();
    o.progress = count;
    count_plans = 0;
    ck_assert(search(a, g, &o).plan);
    int all = count_plans;
    o.time_limit_sec = 1e-6;
    count_plans = 0;
    (void)search(a, g, &o);
    ck_assert_int_lt(count_plans, all / 2);
    static const int64_t memory[3] = {0, 0, 0};
    count_plans = 0;
    ck_assert(planned(a, g, memory, &o).plan);
    ck_assert_int_gt(count_plans, 0);
    ck_assert_int_lt(count_plans, all / 2);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stages_options");
    TCase *t = tcase_create("stages_options");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, fits, 0, 2);
    tcase_add_loop_test(t, gains, 0, 2);
    tcase_add_loop_test(t, given, 0, test_cases(1, 1, 3));
    tcase_add_test(t, limit);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
