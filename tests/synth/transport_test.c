// One-sided puts in plans: where their buffers lie, and what memory does to them.

#include <check.h>
#include <math.h>
#include <stdio.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "synth/passes/arena_plan.h"
#include "synth/price/transport.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/toy_program.h"

static int start(toy *t, cost_coll coll, cost_form form, int in, int out, int scratch)
{
    int s = toy_start(t, coll, "s", in, out, scratch);
    t->p->instr.p[s].form = form;
    toy_wait(t, s);
    return s;
}

// What others write into lies in SEG_SYM, the source of a sum in place too, and views of these.
START_TEST(what_puts_write_is_symmetric)
{
    toy *t = toy_new(3);
    syn_program *p = t->p;
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 4096), part = toy_op1(t, IR_OP_gelu, "part", x);
    int seen = toy_op1(t, IR_OP_reshape, "seen", part);
    int sum = toy_buffer(t, SYN_ROLE_VALUE, "sum", 4096);
    int slots = toy_buffer(t, SYN_ROLE_SCRATCH, "slots", 8192);
    int s = start(t, COST_ALL_REDUCE, COST_PUT(1), seen, sum, slots);
    int view = toy_op1(t, IR_OP_reshape, "view", sum), y = toy_op1(t, IR_OP_relu, "y", view);
    int all = toy_buffer(t, SYN_ROLE_VALUE, "all", 12288);
    int g = start(t, COST_ALL_GATHER, COST_PUT(2), y, all, -1);
    int z = toy_op1(t, IR_OP_relu, "z", all), own = toy_buffer(t, SYN_ROLE_VALUE, "own", 4096);
    int more = toy_buffer(t, SYN_ROLE_SCRATCH, "more", 12288);
    int r = start(t, COST_REDUCE_SCATTER, COST_PUT(1), z, own, more);
    int total = toy_buffer(t, SYN_ROLE_VALUE, "total", 4096);
    start(t, COST_ALL_REDUCE, COST_FLAT, own, total, -1);
    p->has_sym = true; // toy_start marks buffers of its own
    syn_place_sym(p);
    const int yes[] = {part, seen, sum, slots, view, all, more}, no[] = {x, y, z, own, total};
    for (size_t i = 0; i < sizeof yes / sizeof *yes; i++)
        ck_assert_msg(p->tensors.p[yes[i]].sym, "%s", p->tensors.p[yes[i]].name.p);
    for (size_t i = 0; i < sizeof no / sizeof *no; i++)
        ck_assert_msg(!p->tensors.p[no[i]].sym, "%s", p->tensors.p[no[i]].name.p);
    syn_arena(p);
    const int same[] = {part, seen, sum, view}; // in place and views, at one offset on all classes
    for (int k = 0; k < 3; k++)
        for (int i = 0; i < 4; i++)
            ck_assert_int_eq(p->tensors.p[same[i]].off[k], p->tensors.p[seen].off[0]);
    ck_assert(syn_has_puts(p));
    p->instr.p[s].form = COST_FLAT;
    p->instr.p[g].form = p->instr.p[r].form = COST_PADDED;
    syn_place_sym(p);
    for (int i = 0; i < p->tensors.n; i++)
        ck_assert(!p->tensors.p[i].sym);
    ck_assert(!syn_has_puts(p) && !p->has_sym);
    toy_free(t);
}
END_TEST

typedef struct setting {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cl_cluster *c;
} setting;

static setting read_setting(const char *graph, const char *cluster)
{
    setting s = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(s.a);
    s.g = ir_build(s.a, hb_fmt(s.a, "examples/%s/graph.json", graph).p, &(ir_options){0}, d);
    s.c = cl_read(s.a, hb_fmt(s.a, "clusters/%s.yaml", cluster).p, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(s.g && s.c);
    s.f = ir_factorize(s.a, s.g);
    return s;
}

static syn_result plan(hb_arena *a, const setting *s, syn_strategy strategy)
{
    cost_model m = {.cluster = s->c};
    syn_options o = syn_default_options();
    o.small_param = o.copy_bytes = 4096;
    o.strategy = strategy;
    return syn_synthesize(a, s->g, s->f, &m, &o);
}

static bool inside_machines(const syn_program *p, unsigned axes)
{
    return p->cluster->n_machines == 1 || (p->mesh->n_axes == 2 && axes == 2u);
}

START_TEST(puts_of_plans)
{
    static const char *const graphs[] = {"mlp", "gpt2-tiny", "bert-moe-tiny"};
    static const char *const clusters[] = {"laptop-peers", "laptop2x2-peers"};
    int n_puts = 0, library = 0;
    for (int i = 0; i < 6; i++) {
        setting s = read_setting(graphs[i / 2], clusters[i % 2]);
        for (int k = SYN_AUTO + 1; k < syn_n_strategies; k++) {
            syn_result r = plan(s.a, &s, (syn_strategy)k);
            ck_assert_int_eq(r.status, SYN_OK);
            const syn_program *p = r.program;
            for (int n = 0; n < p->instr.n; n++) {
                const syn_instr *in = &p->instr.p[n];
                if (in->kind != SYN_START) continue;
                if (!cost_is_put(in->form)) {
                    library++;
                    continue;
                }
                n_puts++;
                ck_assert(in->coll != COST_RESHARD && !in->reduce_max);
                ck_assert(inside_machines(p, in->axes));
                for (int j = 0; j < in->n_out && in->coll != COST_REDUCE_SCATTER; j++)
                    ck_assert(p->tensors.p[in->out[j]].sym);
                bool sums = in->coll == COST_REDUCE_SCATTER || in->coll == COST_ALL_REDUCE;
                ck_assert_int_eq(in->scratch >= 0, sums);
                ck_assert(!sums || p->tensors.p[in->scratch].sym);
            }
            int64_t sym = 0;
            for (int j = 0; j < p->tensors.n; j++) {
                const syn_tensor *x = &p->tensors.p[j];
                for (int c = 1; c < p->mesh->n_classes && x->sym; c++)
                    ck_assert_int_eq(x->off[c], x->off[0]);
                sym += x->sym;
            }
            ck_assert_int_eq(sym > 0, p->sym_bytes > 0);
        }
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(n_puts, 200);
    ck_assert_int_ge(library, 20); // between machines, and what one-sided puts have not
}
END_TEST

// Two segments take more than one, but whatever fits without one-sided puts has a plan with them:
// those that do not fit are taken back. A search within memory is no proof, so that a plan may be
// slower.
START_TEST(memory_takes_puts_back)
{
    static const char *const graphs[] = {"mlp", "gpt2-tiny", "bert-tiny"};
    int feasible = 0, without = 0, n = test_cases(1, 6, 6);
    double ratio = 0;
    for (int i = 0; i < n; i++) {
        setting s = read_setting(graphs[i / 2], i % 2 ? "laptop2x2-peers" : "laptop-peers");
        syn_result free_plan = plan(s.a, &s, SYN_AUTO);
        double full = 0;
        for (int k = 0; k < free_plan.program->mesh->n_classes; k++)
            full = fmax(full, (double)free_plan.program->peak_bytes[k]);
        for (int step = 0; step < 5; step++) {
            double sec[2];
            bool has_puts = false;
            hb_arena *a = hb_arena_new();
            for (int k = 0; k < s.c->n_classes; k++)
                s.c->cls[k].capacity = (int64_t)(full * (0.5 + 0.12 * step));
            for (int peer = 0; peer < 2; peer++) {
                for (int m = 0; m < s.c->n_machines; m++)
                    s.c->machine[m].peer = peer;
                syn_result r = plan(a, &s, SYN_AUTO);
                sec[peer] = r.status == SYN_OK ? r.predicted_sec : HUGE_VAL;
                if (peer && r.status == SYN_OK) has_puts = syn_has_puts(r.program);
                for (int k = 0; r.status == SYN_OK && k < r.program->mesh->n_classes; k++)
                    ck_assert(r.program->peak_bytes[k] <= s.c->cls[0].capacity);
            }
            ck_assert_msg(!isfinite(sec[0]) || sec[1] <= sec[0] * 1.2,
                          "%s, step %d: %g s with peers, %g without", graphs[i / 2], step, sec[1],
                          sec[0]);
            if (isfinite(sec[0])) ratio += log(sec[1] / sec[0]);
            feasible += isfinite(sec[0]);
            without += isfinite(sec[1]) && !has_puts;
            hb_arena_free(a);
        }
        hb_arena_free(s.a);
    }
    ck_assert_int_ge(feasible, 3 * n);
    ck_assert_double_le(ratio, 0);
    printf("%d capacities with a plan, %d without one-sided puts\n", feasible, without);
}
END_TEST

// What leads to a plan with puts need not lead to the best one without: at the second capacity that
// was 1.8 times as fast. At the first, a choice that the bounds met was taken for one of another
// space, where states have other numbers.
START_TEST(puts_cost_no_plan)
{
    static const int64_t bytes[] = {1950000, 1970191};
    setting s = read_setting("bert-tiny", "laptop-peers");
    for (int i = 0; i < 2; i++) {
        double sec[2];
        for (int peer = 0; peer < 2; peer++) {
            hb_arena *a = hb_arena_new();
            for (int k = 0; k < s.c->n_classes; k++)
                s.c->cls[k].capacity = bytes[i];
            s.c->machine[0].peer = peer;
            syn_result r = plan(a, &s, SYN_AUTO);
            ck_assert_int_eq(r.status, SYN_OK);
            sec[peer] = r.predicted_sec;
            hb_arena_free(a);
        }
        ck_assert_msg(sec[1] <= sec[0] * 1.2, "%g s with peers, %g without", sec[1], sec[0]);
    }
    hb_arena_free(s.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("transport");
    TCase *c = tcase_create("transport");
    tcase_set_timeout(c, 300);
    tcase_add_test(c, what_puts_write_is_symmetric);
    tcase_add_test(c, puts_of_plans);
    tcase_add_test(c, memory_takes_puts_back);
    tcase_add_test(c, puts_cost_no_plan);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
