// Plans that the certificate rejects: they are dropped with a note and the next best is taken; only
// where none is left the synthesis fails. A hook spoils what is checked, and so stands for a fault
// of the planner.

#include <check.h>
#include <stdio.h>

#include "synth/certify/modp.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"

typedef struct fault {
    int coll;    // collectives of this kind become wrong; -1: none
    int longest; // and the first of any kind where there are more calls
    int checked, spoiled, told;
    hb_str why;
} fault;

static hb_arena *arena;
static ir_graph *graph;
static cl_cluster *cluster;
static cost_model model;

static void setup(void)
{
    arena = hb_arena_new();
    hb_diag *d = hb_diag_new(arena);
    graph = ir_build(arena, "examples/gpt2-tiny/graph.json", &(ir_options){0}, d);
    cluster = cl_read(arena, "clusters/laptop.yaml", "clusters/devices.yaml", d);
    model = (cost_model){.cluster = cluster};
    ck_assert_ptr_nonnull(graph);
    ck_assert_ptr_nonnull(cluster);
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static void spoil(void *ctx, record *r)
{
    fault *x = ctx;
    bool all = r->calls.n > x->longest, any = false;
    for (int i = 0; i < r->calls.n; i++) {
        rec_call *k = &r->calls.p[i];
        if (k->kind != REC_START || (!all && (int)k->coll != x->coll)) continue;
        k->reduce_max = !k->reduce_max; // a sum becomes a maximum; others have none
        any = true;
    }
    x->checked++;
    x->spoiled += any;
}

static void told(void *ctx, hb_str why)
{
    fault *x = ctx;
    ck_assert_int_gt((int)why.n, 0);
    x->told++;
    x->why = hb_str_n(arena, why.p, why.n);
}

static syn_options options(fault *x)
{
    syn_options o = syn_default_options();
    o.baselines = true;
    o.before_check = spoil;
    o.rejected = told;
    o.check_ctx = x;
    return o;
}

static int count(const syn_program *p, int coll)
{
    int n = 0;
    for (int i = 0; i < p->instr.n; i++)
        n += p->instr.p[i].kind == SYN_START && (int)p->instr.p[i].coll == coll;
    return n;
}

static void is_proved(const syn_result *r)
{
    hb_str why;
    const record *rec = record_from_plan(arena, r->program);
    ck_assert_int_eq(r->status, SYN_OK);
    ck_assert_msg(syn_check(arena, r->program->g, r->program->f, rec, &why), "%.*s", HB_ARG(why));
    ck_assert_msg(syn_modp(arena, r->program->g, r->program->f, rec, 1, &why), "%.*s", HB_ARG(why));
}

// Each kind of collective that the best plan has, taken for wrong in turn.
START_TEST(the_next_best_plan_is_taken)
{
    fault none = {.coll = -1, .longest = INT32_MAX};
    syn_options o = options(&none);
    ir_factors *f = ir_factorize(arena, graph);
    syn_result best = syn_synthesize(arena, graph, f, &model, &o);
    is_proved(&best);
    ck_assert_int_eq(none.told, 0);
    int kinds = 0;
    for (int coll = 0; coll <= COST_RESHARD; coll++) {
        if (count(best.program, coll) == 0) continue;
        fault x = {.coll = coll, .longest = INT32_MAX};
        o = options(&x);
        syn_result r = syn_synthesize(arena, graph, f, &model, &o);
        is_proved(&r);
        ck_assert_int_eq(count(r.program, coll), 0);
        ck_assert_double_ge(r.predicted_sec, best.predicted_sec * (1 - 1e-9));
        ck_assert(x.told > 0 && x.told <= x.spoiled && x.spoiled < x.checked);
        kinds++;
    }
    ck_assert_int_gt(kinds, 0);
}
END_TEST

// A plan for one device has no collective to get wrong; even data parallelism uses all devices.
START_TEST(none_is_left)
{
    fault x = {.coll = -1, .longest = -1};
    syn_options o = options(&x);
    o.strategy = syn_strategy_named("dp-even");
    syn_result r = syn_synthesize(arena, graph, ir_factorize(arena, graph), &model, &o);
    ck_assert_int_eq(r.status, SYN_FAILED_CHECK);
    ck_assert(r.program == NULL && r.plain == NULL);
    ck_assert(x.told > 0 && hb_str_eq(r.why, x.why));
}
END_TEST

// Where memory is tight a variant is the plan; if variants are rejected, a plan of the step is.
START_TEST(variants_are_dropped_too)
{
    fault none = {.coll = -1, .longest = INT32_MAX};
    syn_options o = options(&none);
    syn_result ample = syn_plan(arena, graph, &model, &o), tight = {0};
    is_proved(&ample);
    int64_t full[CL_MAX_CLASSES];
    const syn_mesh *m = ample.program->mesh;
    for (int c = 0; c < cluster->n_classes; c++)
        full[c] = INT64_MAX;
    for (int c = 0; c < m->n_classes; c++)
        full[m->cluster_class[c]] = ample.program->peak_bytes[c];
    for (int percent = 90; percent > 20 && !tight.program; percent -= 10) {
        for (int c = 0; c < cluster->n_classes; c++)
            if (full[c] < INT64_MAX) cluster->cls[c].capacity = full[c] / 100 * percent;
        tight = syn_plan(arena, graph, &model, &o);
        const ir_graph *g = tight.program ? tight.program->g : graph;
        if (g->micro_batches <= 1 && g->recomputed.n == 0) tight.program = NULL;
    }
    ck_assert_ptr_nonnull(tight.program);
    const record *chosen = record_from_plan(arena, tight.program);
    fault x = {.coll = -1, .longest = chosen->calls.n - 1};
    o = options(&x);
    syn_result r = syn_plan(arena, graph, &model, &o);
    ck_assert_int_gt(x.told, 0);
    is_proved(&r);
    ck_assert_int_lt(record_from_plan(arena, r.program)->calls.n, chosen->calls.n);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("rejected");
    TCase *t = tcase_create("rejected");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 300);
    tcase_add_test(t, the_next_best_plan_is_taken);
    tcase_add_test(t, none_is_left);
    if (test_cases(0, 1, 1)) tcase_add_test(t, variants_are_dropped_too);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
