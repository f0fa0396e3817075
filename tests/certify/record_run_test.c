// What the checker accepts computes the graph: random plans, proved, are run on all ranks in one
// process and every op's outputs are compared with a run on one rank. Every op of the table,
// random graphs, and whole training steps.

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "synth/search/synth.h"
#include "tests/certify/record_gen.h"
#include "tests/support/op_cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/record_exec.h"
#include "tests/support/rounding.h"

static const gen_options meshes[] = {
    {.n_axes = 1, .size = {2}, .n_classes = 1, .cut_percent = 90},
    {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 95},
    {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 95},
    {.n_axes = 2, .size = {2, 3}, .n_classes = 3, .cut_percent = 95},
    {.n_axes = 2, .size = {3, 2}, .n_classes = 2, .cut_percent = 90},
};
enum { N_MESHES = sizeof meshes / sizeof *meshes };

typedef struct fault_count {
    int tried[IR_N_OPS], found[IR_N_OPS]; // calls with a fault, and those told from right ones
} fault_count;

// How far output i of call c is from the graph's, in units of what rounding may do: at most 1.
static double off_by(const exec *x, const rec_call *k, const gen_op *op, const ir_graph *g, int i,
                     const interp *after, const double *move)
{
    int t = g->nodes.p[op->node].out[i];
    double d = exec_differs(x, k->out[i], op->partial[i], &after->t[t]);
    return d > 0 ? d / (ROUNDINGS * move[t]) : 0;
}

static void try_fault(exec *x, int c, const rec_call *k, const gen_op *op, const ir_graph *g,
                      const interp *after, const double *move, fault_count *faults)
{
    bool found = false;
    exec_save(x);
    exec_fault(x, 0);
    const char *bad = exec_call(x, c);
    for (int i = 0; !bad && i < k->n_out; i++)
        found = found || !(off_by(x, k, op, g, i, after, move) <= 1);
    faults->tried[k->op] += exec_missed(x);
    faults->found[k->op] += exec_missed(x) && found;
    exec_fault(x, -1);
    exec_restore(x);
}

// faults: also makes every op's kernel wrong on rank 0, one at a time; NULL: not.
static void run_record(const ir_graph *g, const interp *before, const interp *after,
                       const double *move, const record *r, const gen_trace *trace,
                       fault_count *faults, const char *name)
{
    hb_arena *a = hb_arena_new();
    exec *x = exec_new(a, r, before->now);
    int at = 0;
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind <= REC_CONST) {
            for (int t = 0; t < g->tensors.n; t++)
                if (hb_str_eq(g->tensors.p[t].name, k->name)) exec_set(x, k->in[0], &before->t[t]);
            continue;
        }
        bool is_op = at < trace->ops.n && trace->ops.p[at].call == c;
        if (is_op && faults) try_fault(x, c, k, &trace->ops.p[at], g, after, move, faults);
        const char *bad = exec_call(x, c);
        ck_assert_msg(!bad, "%s, call %d: %s", name, c, bad);
        if (!is_op) continue;
        const gen_op *op = &trace->ops.p[at++];
        for (int i = 0; i < k->n_out; i++) {
            double d = off_by(x, k, op, g, i, after, move);
            ck_assert_msg(d <= 1,
                          "%s, call %d op_%s (%.*s), output %d: off by %g of what rounding may do",
                          name, c, ir_op_of((ir_op)k->op)->name,
                          HB_ARG(g->tensors.p[g->nodes.p[op->node].out[i]].name), i, d);
        }
    }
    ck_assert_int_eq(at, g->nodes.n);
    exec_free(x);
    hb_arena_free(a);
}

static void run_plan(const ir_graph *g, const ir_factors *f, const interp *before,
                     const interp *after, const double *move, int mesh, uint64_t seed,
                     fault_count *faults, const char *name)
{
    hb_arena *a = hb_arena_new();
    gen_options o = meshes[mesh];
    gen_trace trace = {0};
    hb_str why;
    o.seed = seed;
    record *r = gen_record(a, g, f, &o, &trace);
    bool ok = syn_check(a, g, f, r, &why);
    hb_str text = hb_fmt(a, "%s, mesh %d, seed %llu", name, mesh, (unsigned long long)seed);
    ck_assert_msg(ok, "%s: %.*s", text.p, HB_ARG(why));
    run_record(g, before, after, move, r, &trace, faults, text.p);
    hb_arena_free(a);
}

// Reference: values of every tensor after one step on one rank; *before keeps the homes.
static interp *reference(hb_arena *a, const ir_graph *g, interp *before)
{
    interp *after = interp_new(a, g, 7);
    for (int t = 0; t < g->tensors.n; t++)
        memcpy(after->t[t].data, before->t[t].data, (size_t)before->t[t].bytes);
    const char *why = interp_run(after);
    ck_assert_msg(!why, "%s", why);
    return after;
}

START_TEST(every_row)
{
    const op_case *c = &op_cases[_i];
    if (ir_op_of(c->op)->flags & IR_IN_PLACE) return; // stand in the training steps below
    hb_arena *a = hb_arena_new();
    int node;
    uint64_t rng = 99;
    ir_graph *g = op_case_graph(a, c, false, &node);
    ir_factors *f = ir_factorize(a, g);
    interp *before = interp_new(a, g, 7);
    for (int i = 0; i < g->nodes.p[node].n_in; i++) {
        int t = g->nodes.p[node].in[i];
        int p = g->tensors.p[t].producer; // a reshape: of the same elements
        op_case_fill(c, i, &before->t[p >= 0 ? g->nodes.p[p].in[0] : t], &rng);
    }
    interp *after = reference(a, g, before);
    const double *move = rounding_moves(a, g, before, after);
    for (int m = 0; m < N_MESHES; m++)
        for (uint64_t seed = 1; seed <= 12; seed++)
            run_plan(g, f, before, after, move, m, seed, NULL, op_case_text(c));
    hb_arena_free(a);
}
END_TEST

START_TEST(random_graphs)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g =
        random_graph(a, (uint64_t)_i, (random_graph_options){.n_ops = 10, .linear = true});
    ir_factors *f = ir_factorize(a, g);
    interp *before = interp_new(a, g, 7);
    uint64_t rng = (uint64_t)_i;
    for (int t = 0; t < g->tensors.n; t++) {
        hap_tensor *v = &before->t[t];
        for (int64_t i = 0; g->tensors.p[t].producer < 0 && v->type == HAP_F32 && i < v->elements;
             i++)
            ((float *)v->data)[i] = (float)test_below(&rng, 7) - 3;
    }
    interp *after = reference(a, g, before);
    const double *move = rounding_moves(a, g, before, after);
    for (int m = 0; m < N_MESHES; m++)
        for (uint64_t seed = 1; seed <= 4; seed++)
            run_plan(g, f, before, after, move, m, seed, NULL, hb_fmt(a, "random graph %d", _i).p);
    hb_arena_free(a);
}
END_TEST

static const char *const steps[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                    "examples/bert-tiny/graph.json",
                                    "examples/bert-moe-tiny/graph.json"};
enum { N_STEPS = sizeof steps / sizeof *steps };

typedef struct training {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    interp *before, *after;
    double *move;
} training;

static training training_of(const char *graph)
{
    training s = {.a = hb_arena_new()};
    hb_diag *d = hb_diag_new(s.a);
    s.g = ir_build(s.a, graph, &(ir_options){.batch = 4}, d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(s.g);
    s.f = ir_factorize(s.a, s.g);
    s.before = interp_new(s.a, s.g, 7);
    uint64_t rng = 5;
    for (int t = 0; t < s.g->tensors.n; t++) {
        hap_tensor *v = &s.before->t[t];
        if (s.g->tensors.p[t].kind != IR_INPUT) continue;
        for (int64_t i = 0; i < v->elements; i++) {
            if (v->type == HAP_F32) ((float *)v->data)[i] = (float)test_uniform(&rng, -1, 1);
            if (v->type == HAP_I64) ((int64_t *)v->data)[i] = test_below(&rng, 2);
        }
    }
    s.after = reference(s.a, s.g, s.before);
    s.move = rounding_moves(s.a, s.g, s.before, s.after);
    return s;
}

START_TEST(training_steps)
{
    training s = training_of(steps[_i]);
    for (int m = 0; m < N_MESHES; m++)
        run_plan(s.g, s.f, s.before, s.after, s.move, m, 40 + (uint64_t)m, NULL, steps[_i]);
    hb_arena_free(s.a);
}
END_TEST

// A kernel that misses one element of one operand, on one rank, is told from a right one.
START_TEST(faults_are_found)
{
    fault_count n = {0};
    for (int i = 0; i < N_STEPS; i++) {
        training s = training_of(steps[i]);
        run_plan(s.g, s.f, s.before, s.after, s.move, 0, 40, &n, steps[i]);
        hb_arena_free(s.a);
    }
    int tried = 0, found = 0;
    for (int op = 0; op < IR_N_OPS; op++) {
        tried += n.tried[op];
        found += n.found[op];
    }
    // The rest are not read: logits of no label, rows of no token, what relu and max leave out.
    ck_assert_msg(tried > 600 && found >= 0.95 * tried, "%d of %d faults", found, tried);
    static const ir_op all[] = {IR_OP_linear,   IR_OP_linear_dw,      IR_OP_matmul,   IR_OP_sdpa,
                                IR_OP_sdpa_bwd, IR_OP_norm_bwd_stats, IR_OP_norm_bwd, IR_OP_adam};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        ck_assert_msg(n.tried[all[i]] > 0 && n.found[all[i]] == n.tried[all[i]],
                      "op_%s: %d of %d faults", ir_op_of(all[i])->name, n.found[all[i]],
                      n.tried[all[i]]);
}
END_TEST

// Which node each op of the record stands for. Views (synth/plan/views.h) stand elsewhere than in
// the plan: a call is known by what it writes.
static void trace_of(hb_arena *a, const syn_program *p, const record *r, gen_trace *out)
{
    bool *taken = HB_ARRAY(a, bool, p->instr.n + 1);
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind != REC_OP) continue;
        int i = 0;
        while (i < p->instr.n &&
               (taken[i] || p->instr.p[i].kind != SYN_OP || p->instr.p[i].out[0] != k->out[0]))
            i++;
        ck_assert_int_lt(i, p->instr.n);
        const syn_instr *in = &p->instr.p[i];
        ck_assert_int_eq((int)p->g->nodes.p[in->node].op, k->op);
        taken[i] = true;
        gen_op op = {.call = c, .node = in->node};
        for (int q = 0; q < in->n_out; q++)
            for (int x = 0; x < p->mesh->n_axes; x++) {
                const syn_axis_state *st = &p->tensors.p[in->out[q]].state.ax[x];
                if (st->kind == SYN_P) op.partial[q][x] = (char)st->reducer;
            }
        HB_PUSH(a, &out->ops, op);
    }
}

// The planner's own programs, where it puts them.
START_TEST(planned_steps)
{
    static const char *const clusters[] = {"clusters/laptop3.yaml", "clusters/laptop.yaml"};
    const char *graph = steps[_i % N_STEPS], *cluster = clusters[_i / N_STEPS];
    training s = training_of(graph);
    hb_diag *d = hb_diag_new(s.a);
    cost_model m = {.cluster = cl_read(s.a, cluster, "clusters/devices.yaml", d)};
    ck_assert_ptr_nonnull(m.cluster);
    for (int i = 0; i < syn_n_strategies; i++) {
        syn_options o = syn_default_options();
        o.strategy = (syn_strategy)i;
        o.small_param = 0;
        syn_result r = syn_synthesize(s.a, s.g, s.f, &m, &o);
        if (r.status != SYN_OK) continue;
        const syn_program *p = r.program;
        record *rec = record_from_plan(s.a, p);
        gen_trace trace = {0};
        trace_of(s.a, p, rec, &trace);
        run_record(
            s.g, s.before, s.after, s.move, rec, &trace, NULL,
            hb_fmt(s.a, "%s on %s, %s", graph, cluster, syn_strategy_name((syn_strategy)i)).p);
    }
    hb_arena_free(s.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("record_run");
    TCase *t = tcase_create("plans");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, every_row, 0, n_op_cases);
    tcase_add_loop_test(t, random_graphs, 0, 24);
    tcase_add_loop_test(t, training_steps, 0, N_STEPS);
    tcase_add_test(t, faults_are_found);
    tcase_add_loop_test(t, planned_steps, 0, 2 * N_STEPS);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
