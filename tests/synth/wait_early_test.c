// How many graphs a captured step is, counted as the runtime does it, with waits ahead of one-sided
// puts and without.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/passes/schedule.h"
#include "synth/passes/wait_early.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/synth.h"

typedef struct world {
    hb_arena *a;
    cl_cluster *c;
    ir_graph *g;
    cost_model m;
    syn_program *p;
} world;

static world planned(const char *graph, const char *cluster, int64_t batch, syn_strategy s)
{
    world w = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(w.a);
    ir_options io = {.batch = batch, .precision = IR_PRECISION_BF16};
    w.g = ir_build(w.a, graph, &io, d);
    w.c = cl_read(w.a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(w.g && w.c);
    w.c->cls[0].link_bandwidth = 100e9; // transfers are long: one-sided puts are worth their breaks
    w.m = (cost_model){.cluster = w.c, .math = COST_BF16};
    syn_options o = syn_default_options();
    o.strategy = s;
    syn_result r = syn_synthesize(w.a, w.g, ir_factorize(w.a, w.g), &w.m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    w.p = r.program;
    return w;
}

static bool in_pair(const syn_program *p, int i)
{
    for (int k = 0; k < p->pairs.n; k++)
        if (i >= p->pairs.p[k].first && i < p->pairs.p[k].first + p->pairs.p[k].len) return true;
    return false;
}

static int wait_of(const syn_program *p, int start)
{
    for (int i = start + 1; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_WAIT && p->instr.p[i].start == start) return i;
    return -1;
}

// Call by call: what is live makes what spans it live. Then runs of four calls and more that
// are not are graphs. *crossing: collectives of the library that are live.
static int graphs(const syn_program *p, int *crossing)
{
    int n = p->instr.n, all = 0;
    bool *live = calloc((size_t)n + 1, sizeof *live), more = true;
    *crossing = 0;
    for (int i = 0; i < n; i++)
        live[i] =
            in_pair(p, i) || (p->instr.p[i].kind == SYN_START && cost_is_put(p->instr.p[i].form));
    while (more) {
        more = false;
        for (int i = 0; i < n; i++) {
            if (p->instr.p[i].kind != SYN_START) continue;
            int end = wait_of(p, i);
            bool cut = false;
            for (int k = i; k <= end; k++)
                cut = cut || live[k];
            if (!cut || (live[i] && live[end])) continue;
            if (!live[i]) ++*crossing;
            live[i] = live[end] = more = true;
        }
    }
    for (int i = 0; i < n;) {
        int calls = 0, k = i;
        for (; k < n && live[k] == live[i]; k++) {
            const syn_instr *in = &p->instr.p[k];
            bool nothing =
                in->kind == SYN_OP && (p->f->joined[in->node] ||
                                       ir_op_of(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY);
            calls += !nothing;
        }
        all += !live[i] && calls >= 4;
        i = k;
    }
    free(live);
    return all;
}

// Of zero all gradients' reduce-scatters are waited for by updates behind the last one's one-sided
// put.
START_TEST(waits_go_ahead_of_puts)
{
    world w = planned("examples/bert/graph.json", "clusters/h200x4.yaml", 256,
                      syn_strategy_named("zero"));
    int early, late, back;
    cost_timeline t;
    syn_program p = *w.p;
    p.loops.n = p.fusions.n = 0;
    int few = graphs(&p, &early);
    double before = syn_simulate(&p, &t, false);
    syn_sink_waits(&p);
    int many = graphs(&p, &late);
    ck_assert_msg(late > 40 && early * 10 < late, "%d, sunk %d", early, late);
    ck_assert_msg(many > 40 && few * 10 < many, "%d graphs, sunk %d", few, many);
    syn_wait_early(&p);
    ck_assert_int_eq(graphs(&p, &back), few);
    ck_assert_double_le(syn_simulate(&p, &t, false), before * 1.001);
    hb_arena_free(w.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("wait_early");
    TCase *t = tcase_create("wait_early");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, waits_go_ahead_of_puts);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
