// Where captured steps break, counted as the runtime does it, and what early waits save.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "synth/breaks.h"
#include "synth/schedule.h"
#include "synth/synth.h"

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

// Call by call: what is live makes what spans it live. Then stretches of four calls and more that
// are not are graphs. *crossing: collectives of the library that are live.
static int graphs(const syn_program *p, int *crossing)
{
    int n = p->instr.n, all = 0;
    bool *live = calloc((size_t)n + 1, sizeof *live), more = true;
    *crossing = 0;
    for (int i = 0; i < n; i++)
        live[i] =
            in_pair(p, i) || (p->instr.p[i].kind == SYN_START && cost_is_push(p->instr.p[i].form));
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
                                       ir_row(p->g->nodes.p[in->node].op)->flags & IR_ZERO_COPY);
            calls += !nothing;
        }
        all += !live[i] && calls >= 4;
        i = k;
    }
    free(live);
    return all;
}

static int broken(const syn_program *p)
{
    hb_arena *a = hb_arena_new();
    const bool *first = syn_breaks(a, p);
    int n = 0;
    for (int i = 0; first && i < p->instr.n; i++)
        n += first[i];
    hb_arena_free(a);
    return n;
}

START_TEST(counted_as_at_run_time)
{
    static const struct {
        const char *graph, *cluster;
        int64_t batch;
    } at[] = {{"examples/bert/graph.json", "clusters/h200x4.yaml", 256},
              {"examples/gpt2/graph.json", "clusters/h200x4-mixed.yaml", 0},
              {"examples/gpt2-8k/graph.json", "clusters/h200x4.yaml", 4},
              {"examples/gpt2-tiny/graph.json", "clusters/a100x2-v100x2.yaml", 0}};
    int most = 0, crossing;
    for (size_t i = 0; i < sizeof at / sizeof *at; i++)
        for (int s = SYN_AUTO; s < SYN_N_STRATEGIES; s++) {
            if (s == SYN_HAP) continue;
            world w = planned(at[i].graph, at[i].cluster, at[i].batch, (syn_strategy)s);
            int now = broken(w.p), want = graphs(w.p, &crossing) - 1;
            ck_assert_msg(now == (want > 0 ? want : 0), "%s, %s: %d, by calls %d", at[i].graph,
                          syn_strategy_name((syn_strategy)s), now, want);
            most = now > most ? now : most;
            hb_arena_free(w.a);
        }
    ck_assert_int_gt(most, 20);
}
END_TEST

// Of zero all gradients' reduce-scatters are waited for by updates behind the last one's push.
START_TEST(waits_go_ahead_of_pushes)
{
    world w = planned("examples/bert/graph.json", "clusters/h200x4.yaml", 256, SYN_ZERO);
    int early, late;
    cost_timeline t;
    graphs(w.p, &early);
    int few = broken(w.p);
    double sec = syn_simulate(w.p, &t, false);
    syn_program p = *w.p;
    p.loops.n = p.groups.n = 0;
    double before = syn_simulate(&p, &t, false);
    syn_sink_waits(&p);
    graphs(&p, &late);
    int many = broken(&p);
    double after = syn_simulate(&p, &t, false);
    ck_assert_msg(late > 40 && early * 10 < late, "%d, sunk %d", early, late);
    ck_assert_msg(many > 40 && few * 10 < many, "%d, sunk %d", few, many);
    ck_assert_double_gt(after, before + (many - few) * 0.8 * cost_break(&w.c->cls[0]));
    ck_assert_double_gt(sec, 0);
    syn_wait_early(&p); // and back
    ck_assert_int_eq(broken(&p), few);
    ck_assert_double_le(syn_simulate(&p, &t, false), before * 1.001);
    hb_arena_free(w.a);
}
END_TEST

START_TEST(cpus_replay_nothing)
{
    world w = planned("examples/gpt2-tiny/graph.json", "clusters/laptop-peers.yaml", 0, SYN_ZERO);
    ck_assert_int_eq(broken(w.p), 0);
    ck_assert_double_eq(cost_break(&w.c->cls[0]), 0);
    hb_arena_free(w.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("breaks");
    TCase *t = tcase_create("breaks");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, counted_as_at_run_time);
    tcase_add_test(t, waits_go_ahead_of_pushes);
    tcase_add_test(t, cpus_replay_nothing);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
