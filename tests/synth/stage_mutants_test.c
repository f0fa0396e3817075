// A plan of stages whose record has one fault (tests/certify/mutate.h), in whichever stage, is
// rejected: by the check of that stage or by that of all together.

#include <check.h>
#include <stdio.h>

#include "synth/certify/check_stages.h"
#include "synth/certify/record.h"
#include "synth/search/plan_stages.h"
#include "tests/certify/mutate.h"
#include "tests/support/cases.h"

enum { STAGES = 2, RANKS = 4, MICRO = 4 };
static const struct {
    const char *graph, *strategy;
    int second; // its first layer
} cases[] = {{"examples/gpt2-tiny/graph.json", "dp-prop", 1},
             {"examples/gpt2-tiny/graph.json", "tp", 2},
             {"examples/bert-moe-tiny/graph.json", "zero", 4}};

static syn_staged *planned(hb_arena *a, int k)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, cases[k].graph, &(ir_options){0}, d);
    const cl_cluster *c = cl_read(a, "clusters/laptop2x2.yaml", "clusters/devices.yaml", d);
    cost_model m[STAGES];
    syn_stage_wish w[STAGES] = {{.first_layer = 0}, {.first_layer = cases[k].second}};
    int *rank[STAGES];
    syn_options o = syn_default_options();
    ck_assert(g && c);
    o.micro_batches = MICRO;
    (void)syn_strategy_parse(hb_str_c(a, cases[k].strategy), &o.strategy);
    for (int s = 0; s < STAGES; s++) {
        bool own[RANKS] = {false};
        own[2 * s] = own[2 * s + 1] = true;
        rank[s] = HB_ARRAY(a, int, RANKS);
        m[s] = (cost_model){.cluster = cl_part(a, c, own, rank[s])};
    }
    syn_staged_result r = syn_plan_stages(a, g, c, STAGES, w, m, rank, &o, d);
    hb_diag_print(d, stderr);
    ck_assert_msg(r.plan, "%.*s", HB_ARG(r.why));
    return r.plan;
}

static bool accepted(hb_arena *a, const syn_staged *p, const record *const *rec)
{
    hb_str why;
    for (int s = 0; s < STAGES; s++)
        if (!syn_check(a, p->stage[s].program->g, p->stage[s].program->f, rec[s], &why))
            return false;
    return syn_check_stages(a, p->g, p->cut, rec, &why);
}

START_TEST(mutants)
{
    hb_arena *a = hb_arena_new();
    const syn_staged *p = planned(a, _i);
    const record *rec[STAGES];
    int total = 0, kinds = 0, wrong = 0;
    for (int s = 0; s < STAGES; s++)
        rec[s] = record_from_plan(a, p->stage[s].program);
    ck_assert(accepted(a, p, rec));
    for (int kind = 0; kind < MUT_N; kind++) {
        int before = total;
        for (int s = 0; s < STAGES; s++)
            for (int seed = 1; seed <= test_cases(3, 3, 20); seed++) {
                hb_arena *own = hb_arena_new();
                const record *with[STAGES] = {rec[0], rec[1]};
                hb_str what;
                with[s] = mutate(own, rec[s], (mut_kind)kind, (uint64_t)seed, &what);
                total += with[s] != NULL;
                if (with[s] && accepted(own, p, with)) {
                    wrong++;
                    fprintf(stderr, "accepted: %s, %s, stage %d: %.*s\n", cases[_i].graph,
                            cases[_i].strategy, s, HB_ARG(what));
                }
                hb_arena_free(own);
            }
        kinds += total > before;
    }
    printf("%s, %s: %d mutants of %d kinds\n", cases[_i].graph, cases[_i].strategy, total, kinds);
    ck_assert_msg(wrong == 0, "%d of %d wrong programs were accepted", wrong, total);
    ck_assert_int_ge(kinds, 30);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stage_mutants");
    TCase *t = tcase_create("stage_mutants");
    tcase_set_timeout(t, 200);
    tcase_add_loop_test(t, mutants, 0, sizeof cases / sizeof *cases);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
