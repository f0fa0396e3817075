// A plan of stages with one fault is rejected.
//
//  rejected    faults of a stage's record (tests/certify/mutate.h), and of what stages have beyond
//              (mutate_stages.h): in whichever stage, of plans with deep rings, sums, tied and
//              clipped parameters, late weight gradients, equal stages, two axes, and without
//              micro-batches. Every kind of the second has places, and with the first there are at
//              least 60
//
// A fault of a program is looked for in what is proved when a plan is made, and in the whole record
// by itself. Some places of each kind, by a seed; all at night.

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "synth/certify/check_stages.h"
#include "tests/certify/mutate.h"
#include "tests/certify/mutate_stages.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_models.h"
#include "tests/support/staged_plan.h"

enum { STAGES = 4, KINDS = 60, RECORD_KINDS = 30, BY_SEEDS = 3 };

static const struct {
    const char *graph, *cluster; // NULL: layers that are equal; staged_three
    staged_wish w;
} cases[] = {
    {"examples/gpt2-tiny/graph.json",
     "clusters/laptop2x2.yaml",
     {.n = 2, .first = (const int[]){0, 1}, .micro = 4, .strategy = "dp-prop"}},
    {"examples/gpt2-tiny/graph.json",
     "clusters/laptop2x2.yaml",
     {.n = 2, .first = (const int[]){0, 2}, .micro = 4, .strategy = "tp"}},
    {"examples/bert-moe-tiny/graph.json",
     "clusters/laptop2x2.yaml",
     {.n = 2, .first = (const int[]){0, 4}, .micro = 4, .strategy = "zero"}},
    {"examples/gpt2-tiny/graph.json",
     NULL, // both places are used, and no more
     {.n = 2,
      .first = (const int[]){0, 2},
      .micro = 4,
      .strategy = "dp-prop",
      .limit = (const int[]){2, 0}}},
    {"examples/gpt2-tiny/graph.json",
     NULL, // eager, and zero-bubble
     {.n = 3,
      .first = (const int[]){0, 1, 2},
      .micro = 8,
      .strategy = "dp-prop",
      .weights = SYN_WEIGHTS_APART}},
    {"examples/gpt2-tiny/graph.json",
     NULL,
     {.n = 3,
      .first = (const int[]){0, 1, 2},
      .micro = 4,
      .strategy = "zero",
      .weights = SYN_WEIGHTS_LAST}},
    {"tests/graphs/gpt2-dropout.json",
     NULL, // clipped
     {.n = 2, .first = (const int[]){0, 1}, .micro = 2, .strategy = "dp-prop"}},
    {"examples/gpt2-tiny/graph.json",
     NULL,
     {.n = 3, .first = (const int[]){0, 1, 2}, .micro = 1, .strategy = "auto"}},
    {"examples/gpt2-tiny/graph.json",
     NULL, // on two axes
     {.n = 2,
      .first = (const int[]){0, 1},
      .device = (const int[]){0, 4, 8},
      .micro = 2,
      .strategy = "tp",
      .mesh = SYN_MESH_MACHINES}},
    {NULL,
     NULL, // of which the middle ones are equal
     {.n = 4, .first = (const int[]){0, 6, 12, 18}, .micro = 4, .strategy = "tp"}},
};
// Machines that are equal, of unlike devices close to each other.
static const char *const pairs =
    "name: pairs\n"
    "machines:\n"
    "  - name: a\n"
    "    count: 4\n"
    "    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}\n"
    "      - {name: slow, kind: cpu, f32: 30 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}\n"
    "    link: {bandwidth: 80 GB/s, latency: 1 us}\n"
    "network: {bandwidth: 1 GB/s, latency: 20 us}\n"
    "source: datasheet\n";

enum { CASES = sizeof cases / sizeof *cases };

static syn_staged *planned(hb_arena *a, int k)
{
    static const small_transformer alike = {.batch = 16,
                                            .tokens = 32,
                                            .width = 64,
                                            .heads = 2,
                                            .hidden = 128,
                                            .vocabulary = 64,
                                            .n_layers = 4,
                                            .norm = true};
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = cases[k].graph ? ir_build(a, cases[k].graph, &(ir_options){0}, d)
                                 : small_attention(a, &alike);
    const cl_cluster *c = cases[k].cluster
                              ? cl_read(a, cases[k].cluster, "clusters/devices.yaml", d)
                              : staged_cluster(a, cases[k].graph ? staged_three : pairs);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    return staged_plan(a, c, g, &cases[k].w);
}

// --- the checks ---

static bool stage_holds(hb_arena *a, const syn_staged *p, const record *const *rec, int s)
{
    hb_str why;
    const syn_program *x = p->stage[s].program;
    return syn_check(a, x->g, x->f, rec[s], &why);
}

static bool all_hold(hb_arena *a, const syn_staged *p, const record *const *rec)
{
    hb_str why;
    return syn_check_stages(a, p->g, p->cut, rec, &why);
}

// Whose record is another than before; -1: any.
static bool accepted(hb_arena *a, const syn_staged *p, const record *const *rec, int stage)
{
    for (int s = 0; s < p->n; s++)
        if ((stage < 0 || stage == s) && !stage_holds(a, p, rec, s)) return false;
    return all_hold(a, p, rec);
}

// Is all that is wrong that stages wait for each other?
static bool waits_alone(hb_arena *a, const syn_staged *p, const record *const *rec, int stage)
{
    hb_str why;
    return stage_holds(a, p, rec, stage) && !syn_check_stages(a, p->g, p->cut, rec, &why) &&
           strstr(why.p, "wait for each other");
}

// NULL: rejected. Else by whom it was not.
static const char *fault_passes(hb_arena *a, const faulty *x, stage_fault kind)
{
    syn_staged p = *x->p;
    fault_of of = fault_parts[kind];
    const record *const *rec = x->rec;
    if (of == FAULT_GRAPHS) return all_hold(a, &p, rec) ? "check of all" : NULL;
    if (accepted(a, &p, rec, x->stage)) return "checks of records";
    if (of == FAULT_CALLS) return NULL;
    if (of == FAULT_CIRCLE && !waits_alone(a, &p, rec, x->stage))
        return "check for circles, or is more than one";
    return staged_proved(&p) ? "proof of the plan" : NULL;
}

// --- the test ---

typedef struct tally {
    int made[MUT_N], faults[FAULT_N], total, wrong;
} tally;

static void say_wrong(tally *t, int k, const char *by, hb_str what)
{
    t->wrong++;
    fprintf(stderr, "accepted by the %s: case %d: %.*s\n", by, k, HB_ARG(what));
}

static void of_records(tally *t, int k, const syn_staged *p, const record *const *rec)
{
    int kinds = 0, seeds = test_cases(k < BY_SEEDS ? 3 : 1, 3, 20);
    for (int kind = 0; kind < MUT_N; kind++) {
        int before = t->total;
        for (int s = 0; s < p->n; s++)
            for (int seed = 1; seed <= seeds; seed++) {
                hb_arena *a = hb_arena_new();
                const record *with[STAGES];
                hb_str what;
                for (int q = 0; q < p->n; q++)
                    with[q] = rec[q];
                with[s] = mutate(a, rec[s], (mut_kind)kind, (uint64_t)seed, &what);
                if (with[s]) {
                    t->made[kind]++;
                    t->total++;
                    if (accepted(a, p, with, s)) say_wrong(t, k, "checks of records", what);
                }
                hb_arena_free(a);
            }
        kinds += t->total > before;
    }
    ck_assert_msg(seeds < 3 || kinds >= RECORD_KINDS, "case %d has places for %d kinds", k, kinds);
}

static void of_stages(tally *t, int k, const syn_staged *p, const record *const *rec)
{
    random_source seed = {(uint64_t)k + 1};
    for (int kind = 0; kind < FAULT_N; kind++) {
        int n = faults_of(p, rec, (stage_fault)kind), most = test_cases(1, 12, n);
        for (int i = 0; i < most && i < n; i++) {
            // One of each of as many parts of the list of places.
            int first = (int)((int64_t)n * i / most), end = (int)((int64_t)n * (i + 1) / most);
            int at = n <= most ? i : first + random_below(&seed, end - first);
            hb_arena *a = hb_arena_new();
            faulty x;
            ck_assert(fault_at(a, p, rec, (stage_fault)kind, at, &x));
            const char *by = fault_passes(a, &x, (stage_fault)kind);
            if (by) say_wrong(t, k, by, x.what);
            t->faults[kind]++;
            t->total++;
            hb_arena_free(a);
        }
    }
}

START_TEST(rejected)
{
    tally t = {0};
    int kinds = 0;
    for (int k = 0; k < CASES; k++) {
        hb_arena *a = hb_arena_new();
        syn_staged *p = planned(a, k);
        const record *rec[STAGES];
        for (int s = 0; s < p->n; s++)
            rec[s] = record_from_plan(a, p->stage[s].program);
        ck_assert(accepted(a, p, rec, -1) && staged_proved(p));
        of_records(&t, k, p, rec);
        of_stages(&t, k, p, rec);
        hb_arena_free(a);
    }
    for (int kind = 0; kind < MUT_N; kind++)
        kinds += t.made[kind] > 0;
    for (int kind = 0; kind < FAULT_N; kind++) {
        ck_assert_msg(t.faults[kind] > 0, "no plan has a place for %s", fault_names[kind]);
        kinds++;
    }
    printf("%d mutants of %d kinds\n", t.total, kinds);
    ck_assert_msg(t.wrong == 0, "%d of %d wrong plans were accepted", t.wrong, t.total);
    ck_assert_int_ge(kinds, KINDS);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stage_mutants");
    TCase *t = tcase_create("stage_mutants");
    tcase_set_timeout(t, 200);
    tcase_add_test(t, rejected);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
