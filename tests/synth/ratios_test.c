// The ratio LP against brute force over all integer cuts.
//
// Where memory traffic costs nothing, an op's time is affine in its share, so the LP's model is
// exact and its rounded answer must be as good as the best of all tables under the simulation, up
// to one granule. Graphs: MLPs of one and three cut sets on two unequal ranks, and of one set
// on three.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "solver/lp.h"
#include "synth/passes/schedule.h"
#include "synth/plan/mesh.h"
#include "synth/price/instr_cost.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/local_search.h"
#include "synth/search/ratios.h"
#include "synth/space/lower.h"
#include "synth/space/space.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"

static const char two_layers[] =
    "{\"format\":\"hap.graph\",\"version\":1,\"producer\":\"test\",\"tensors\":{"
    "\"x\":{\"kind\":\"input\",\"dtype\":\"f32\",\"shape\":[\"B\",%d],\"batch\":0},"
    "\"y\":{\"kind\":\"input\",\"dtype\":\"i64\",\"shape\":[\"B\"],\"batch\":0},"
    "\"w1\":{\"kind\":\"param\",\"dtype\":\"f32\",\"shape\":[%d,%d],\"init\":{\"normal\":0.02}},"
    "\"w2\":{\"kind\":\"param\",\"dtype\":\"f32\",\"shape\":[%d,%d],\"init\":{\"normal\":0.02}},"
    "\"w3\":{\"kind\":\"param\",\"dtype\":\"f32\",\"shape\":[%d,%d],\"init\":{\"normal\":0.02}},"
    "\"w4\":{\"kind\":\"param\",\"dtype\":\"f32\",\"shape\":[%d,%d],\"init\":{\"normal\":0.02}}},"
    "\"batch\":{\"B\":128},\"nodes\":["
    "{\"name\":\"a\",\"op\":\"linear\",\"in\":[\"x\",\"w1\"],\"out\":[\"a\"]},"
    "{\"name\":\"b\",\"op\":\"relu\",\"in\":[\"a\"],\"out\":[\"b\"]},"
    "{\"name\":\"c\",\"op\":\"linear\",\"in\":[\"b\",\"w2\"],\"out\":[\"c\"]},"
    "{\"name\":\"d\",\"op\":\"linear\",\"in\":[\"c\",\"w3\"],\"out\":[\"d\"]},"
    "{\"name\":\"e\",\"op\":\"relu\",\"in\":[\"d\"],\"out\":[\"e\"]},"
    "{\"name\":\"f\",\"op\":\"linear\",\"in\":[\"e\",\"w4\"],\"out\":[\"f\"]},"
    "{\"name\":\"ce\",\"op\":\"ce_sum\",\"in\":[\"f\",\"y\"],\"out\":[\"ce\"]},"
    "{\"name\":\"n\",\"op\":\"count\",\"in\":[\"y\"],\"out\":[\"n\"]},"
    "{\"name\":\"loss\",\"op\":\"div\",\"in\":[\"ce\",\"n\"],\"out\":[\"loss\"]}],"
    "\"loss\":\"loss\",\"optimizer\":{\"name\":\"sgd\",\"lr\":0.1}}";

typedef struct bench {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster cluster;
    cl_class cls[3];
    cl_machine machine;
    int class_of[3], machine_of[3];
    cost_model m;
    syn_mesh *mesh;
    syn_costs *costs;
    syn_partitions *partitions;
    syn_options opt;
    double weight[3];
    syn_program *p;
    cost_timeline t;
} bench;

// Widths: k in and out, h1 and h2 hidden.
static void setup(bench *b, int n_ranks, const double *speed, syn_strategy strategy, int k, int h1,
                  int h2)
{
    *b = (bench){.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(b->a);
    hb_source src = {HB_STR("two_layers.json"),
                     hb_fmt(b->a, two_layers, k, k, h1, h1, k, k, h2, h2, k)};
    b->g = ir_read_source(b->a, &src, &(ir_options){.batch = 0}, d);
    ck_assert(b->g && ir_expand(b->g, d) && ir_autodiff(b->g, d) && ir_optimize(b->g, d));
    b->f = ir_factorize(b->a, b->g);
    for (int i = 0; i < n_ranks; i++) {
        b->cls[i] = (cl_class){.name = hb_fmt(b->a, "c%d", i),
                               .kind = CL_CPU,
                               .f32 = speed[i] * 1e7,
                               .memory_bandwidth = 1e15,
                               .memory = 1 << 30,
                               .capacity = 1 << 30,
                               .link_bandwidth = 1e12,
                               .link_latency = 1e-6,
                               .n_ranks = 1};
        b->class_of[i] = i;
    }
    b->machine = (cl_machine){.n_ranks = n_ranks, .link_bandwidth = 1e12, .link_latency = 1e-6};
    b->cluster = (cl_cluster){.n_ranks = n_ranks,
                              .n_machines = 1,
                              .n_classes = n_ranks,
                              .class_of = b->class_of,
                              .machine_of = b->machine_of,
                              .machine = &b->machine,
                              .cls = b->cls};
    b->m = (cost_model){.cluster = &b->cluster, .math = COST_F32};
    b->mesh = syn_mesh_flat(b->a, &b->cluster, NULL);
    b->partitions = syn_partitions_new(b->a, b->g, b->f);
    double even[3] = {1, 1, 1};
    syn_partitions_add_ranks(b->a, b->partitions, b->mesh, -1, even, HB_STR("even"));
    b->costs = syn_costs_new(b->a, &b->m, b->mesh, b->g, b->f);
    b->opt = syn_default_options();
    b->opt.small_param = 0;
    for (int i = 0; i < n_ranks; i++)
        b->weight[i] = 1.0 / n_ranks;
    hb_str why = {0};
    syn_space *s =
        syn_space_build(b->a, b->costs, b->partitions, strategy, &b->opt, b->weight, 1, NULL, &why);
    syn_choice c;
    ck_assert_int_eq(syn_space_solve(b->a, s, &c), MS_OPTIMAL);
    b->p = syn_lower(b->a, s, &c);
    syn_price(b->p, b->costs);
    for (int i = 0; i < b->p->instr.n; i++) // forms that hold for every table
        if (b->p->instr.p[i].kind == SYN_START && b->p->instr.p[i].form == COST_EVEN)
            b->p->instr.p[i].form = COST_GROUPED;
    syn_price(b->p, b->costs);
    syn_sink_waits(b->p);
    syn_simulate(b->p, &b->t, false);
}

// Cuts that the program really uses.
static int used_cuts(const bench *b, int *cut)
{
    int n = 0;
    for (int c = 0; c < b->p->mesh->cuts.n; c++)
        for (int t = 0; t < b->p->tensors.n; t++)
            if (b->p->tensors.p[t].value >= 0 && b->p->tensors.p[t].state.ax[0].kind == SYN_S &&
                b->p->tensors.p[t].state.ax[0].cut == c) {
                cut[n++] = c;
                break;
            }
    return n;
}

static double at_tables(bench *b)
{
    cost_timeline t;
    syn_refresh(b->p, &b->m);
    return syn_simulate(b->p, &t, false);
}

// Every table of every used cut, in turn.
static double brute_force(bench *b, const int *cut, int n)
{
    if (n == 0) return at_tables(b);
    syn_cut *c = &b->p->mesh->cuts.p[cut[0]];
    double best = HUGE_VAL;
    int64_t last = c->n == 3 ? c->size : 0;
    for (int64_t i = 0; i <= c->size; i++)
        for (int64_t j = 0; j <= last - (c->n == 3 ? i : 0); j++) {
            c->table[0] = i;
            c->table[1] = c->n == 3 ? j : c->size - i;
            if (c->n == 3) c->table[2] = c->size - i - j;
            best = fmin(best, brute_force(b, cut + 1, n - 1));
        }
    return best;
}

// granule: what rounding to whole entries may cost (local_search.c makes up for it under the
// simulator).
static void compare(int n_ranks, const double *speed, syn_strategy strategy, int want_cuts,
                    double granule, int k, int h1, int h2)
{
    bench b;
    int cut[8];
    setup(&b, n_ranks, speed, strategy, k, h1, h2);
    int n = used_cuts(&b, cut);
    ck_assert_int_eq(n, want_cuts);
    syn_ratios r;
    // No trust region: shares may go anywhere (even shares of 1/n times n are 1).
    ck_assert(syn_ratio_lp(b.a, b.p, b.partitions, b.costs, &b.t, n_ranks, false, &r));
    double dual = 0;
    for (int c = 0; c < n_ranks; c++)
        dual += r.weight[c];
    ck_assert(fabs(dual - 1) < 1e-9);
    for (int q = 0; q < n; q++) {
        syn_cut *c = &b.p->mesh->cuts.p[cut[q]];
        c->table = hb_copy(b.a, c->table, sizeof *c->table * (size_t)c->n);
    }
    double *per_rank[8] = {0};
    for (int i = 0; i < r.n; i++)
        for (int q = 0; q < n; q++)
            if (r.v[i].cut == cut[q]) per_rank[q] = r.v[i].share;
    for (int q = 0; q < n; q++)
        lp_round(b.p->mesh->cuts.p[cut[q]].size, 1, n_ranks, per_rank[q],
                 b.p->mesh->cuts.p[cut[q]].table);
    double rounded = at_tables(&b), best = brute_force(&b, cut, n);
    ck_assert_msg(rounded <= best * (1 + granule), "LP %.9g, brute force %.9g", rounded, best);
    ck_assert_msg(r.objective <= best * (1 + 1e-9), "objective %.9g above brute force %.9g",
                  r.objective, best);
    hb_arena_free(b.a);
}

START_TEST(one_group)
{
    compare(2, (double[]){4, 1}, syn_strategy_named("dp-prop"), 1, 0.02, 48, 96, 80);
    compare(2, (double[]){1, 1.7}, syn_strategy_named("dp-prop"), 1, 0.02, 48, 96, 80);
    compare(2, (double[]){20, 1}, syn_strategy_named("dp-prop"), 1, 0.02, 48, 96, 80);
}
END_TEST

START_TEST(three_groups)
{
    compare(2, (double[]){3, 1}, syn_strategy_named("tp"), 3, 0.03, 16, 40, 32);
    compare(2, (double[]){1, 5}, syn_strategy_named("tp"), 3, 0.03, 16, 40, 32);
}
END_TEST

START_TEST(three_ranks)
{
    compare(3, (double[]){4, 2, 1}, syn_strategy_named("dp-prop"), 1, 0.02, 48, 96, 80);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("ratios");
    TCase *c = tcase_create("lp");
    tcase_set_timeout(c, 120);
    tcase_add_test(c, one_group);
    tcase_add_test(c, three_groups);
    tcase_add_test(c, three_ranks);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
