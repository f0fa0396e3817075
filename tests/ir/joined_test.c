// Which rows a GPU does in a neighbour's kernel, as the planner sees it.

#include "synth/search/synth.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/support/graph_text.h"

typedef struct counts {
    int all, joined;
} counts;

static counts count(const char *graph, ir_op op)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graph, &(ir_options){.precision = IR_PRECISION_BF16}, d);
    ck_assert_ptr_nonnull(g);
    const bool *joined = ir_factorize(a, g)->joined;
    counts n = {0, 0};
    for (int i = 0; i < g->nodes.n; i++) {
        if (g->nodes.p[i].op != op) continue;
        n.all++;
        n.joined += joined[i];
    }
    hb_arena_free(a);
    return n;
}

START_TEST(attention_is_not_moved)
{
    static const struct {
        const char *graph;
        ir_op op;
        int all, joined;
    } row[] = {
        // Three layers: query, key, value and output, and the same of their gradients.
        {"examples/gpt2-tiny/graph.json", IR_OP_transpose, 24, 24},
        {"examples/gpt2-tiny/graph.json", IR_OP_split, 3, 3},
        {"examples/gpt2-tiny/graph.json", IR_OP_concat, 3, 3},
        {"examples/gpt2-tiny/graph.json", IR_OP_norm_bwd_params, 7, 7},
        // Biases: of the matmuls before gelu and of those into the residual sums; not of the
        // packed
        // query, key and value, nor where no norm comes after the sum.
        {"examples/gpt2-tiny/graph.json", IR_OP_sum, 13, 9},
        {"examples/gpt2-tiny/graph.json", IR_OP_linear, 26, 0},
        {"examples/gpt2-tiny/graph.json", IR_OP_row_max, 1, 1},
        {"examples/gpt2-tiny/graph.json", IR_OP_row_expsum, 1, 1},
        {"examples/gpt3-175b/graph.json", IR_OP_norm_bwd_params, 193, 193}, // rows of 12288
        {"examples/mlp/graph.json", IR_OP_sum, 2, 1},
        // Gradients of what query, key and value read, two a layer; the tied table's; squares of 40
        // gradients.
        {"examples/gpt2-tiny/graph.json", IR_OP_sumsq, 40, 40},
        {"examples/gpt2-tiny/graph.json", IR_OP_add, 53, 40},
        {"examples/bert-tiny/graph.json", IR_OP_add, 21, 7},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        counts n = count(row[i].graph, row[i].op);
        ck_assert_msg(n.all == row[i].all && n.joined == row[i].joined, "%s %s: %d of %d",
                      row[i].graph, ir_op_of(row[i].op)->name, n.joined, n.all);
    }
}
END_TEST

// Parameters of a norm whose rows are held by no kernel, too wide or of no whole vectors, take a
// kernel of their own, and so do sums of its gradient's columns.
START_TEST(rows_that_no_kernel_holds)
{
    static const struct {
        int cols;
        bool held;
    } row[] = {{16, true},    {2048, true}, {4096, true},  {5120, true},
               {16384, true}, {12, false},  {4100, false}, {16392, false}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        hb_arena *a = hb_arena_new();
        char text[512];
        snprintf(text, sizeof text,
                 "x: input f32 4 8\ny: input i64 4\nw0: param f32 8 %d\nb0: param f32 %d\n"
                 "g: param f32 %d\nw1: param f32 %d 8\nh = linear(x, w0, b0)\n"
                 "n = layer_norm(h, g)\nf = linear(n, w1)\nce = ce_sum(f, y)\nloss ce\n",
                 row[i].cols, row[i].cols, row[i].cols, row[i].cols);
        ir_graph *g = graph_text(a, text);
        const bool *joined = ir_factorize(a, g)->joined;
        int params = 0, sums = 0;
        for (int k = 0; k < g->nodes.n; k++) {
            bool is_sum = g->nodes.p[k].op == IR_OP_sum;
            if (!is_sum && g->nodes.p[k].op != IR_OP_norm_bwd_params) continue;
            params += !is_sum, sums += is_sum;
            ck_assert_msg(joined[k] == row[i].held, "%s of %d columns",
                          ir_op_of(g->nodes.p[k].op)->name, row[i].cols);
        }
        ck_assert_int_eq(params, 1);
        ck_assert_int_eq(sums, 1);
        hb_arena_free(a);
    }
}
END_TEST

// What the simulator takes for an op of a plan, and what made its first operand.
typedef struct priced {
    const syn_program *p;
    const syn_instr *in, *from;
    double sec;
} priced;

// Calls `look` for each op of a kind in gpt2-tiny's plans of every strategy on h200x4.
static void each_priced(ir_op op, void (*look)(const priced *x, bool joined, int *count),
                        int *count)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){0}, d);
    ck_assert_ptr_nonnull(g);
    ir_factors *f = ir_factorize(a, g);
    cost_model m = {.cluster = cl_read(a, "clusters/h200x4.yaml", "clusters/devices.yaml", d)};
    ck_assert_ptr_nonnull(m.cluster);
    for (syn_strategy s = SYN_AUTO + 1; s <= syn_strategy_named("tp"); s++) {
        syn_options o = syn_default_options();
        o.strategy = s;
        syn_result res = syn_synthesize(a, g, f, &m, &o);
        ck_assert_int_eq(res.status, SYN_OK);
        const syn_program *p = res.program;
        const cost_timeline *t = &res.timeline;
        int n = p->mesh->n_classes;
        for (int i = 0; i < p->instr.n; i++) {
            const syn_instr *in = &p->instr.p[i];
            if (in->kind != SYN_OP || g->nodes.p[in->node].op != op) continue;
            priced x = {p, in, NULL, t->end[i * n] - t->begin[i * n]};
            for (int k = 0; k < i; k++)
                for (int j = 0; j < p->instr.p[k].n_out; j++)
                    if (p->instr.p[k].out[j] == in->in[0]) x.from = &p->instr.p[k];
            ck_assert_ptr_nonnull(x.from);
            look(&x, f->joined[in->node], count);
        }
    }
    ck_assert_int_gt(count[0], 0);
    ck_assert_int_gt(count[1], 0);
    hb_arena_free(a);
}

// count: made where the gradient is, or behind a collective.
static void look_at_sum(const priced *x, bool joined, int *count)
{
    bool made = x->from->kind == SYN_OP;
    if (!joined) return;
    if (made)
        ck_assert_double_eq_tol(x->sec, 0, 1e-12);
    else
        ck_assert_double_gt(x->sec, 0);
    count[!made]++;
}

// Sums of what a collective brings are not made where it was made.
START_TEST(sums_behind_collectives)
{
    each_priced(IR_OP_sum, look_at_sum, (int[2]){0});
}
END_TEST

// count: parts of a matmul, or copies.
static void look_at_split(const priced *x, bool joined, int *count)
{
    (void)joined;
    bool parts =
        x->from->kind == SYN_OP && x->p->tensors.p[x->from->in[1]].state.ax[0].kind != SYN_S;
    ck_assert_double_eq_tol(x->sec, parts ? 0 : x->in->sec[0], 1e-12);
    count[!parts]++;
}

// What a plan makes of the split of query, key and value: nothing behind a matmul with the whole
// weight, a copy behind one with a part, or behind a collective.
START_TEST(splits_of_whole_matmuls)
{
    each_priced(IR_OP_split, look_at_split, (int[2]){0});
}
END_TEST

// Squares of gradients take the time of their bytes, and so do the copies of parameters that
// updates write; not those that a one-sided put sends, nor of what ranks update in parts.
START_TEST(squares_and_copies)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json",
                           &(ir_options){.precision = IR_PRECISION_BF16}, d);
    ck_assert_ptr_nonnull(g);
    ir_factors *f = ir_factorize(a, g);
    cost_model m = {.cluster = cl_read(a, "clusters/h200x4.yaml", "clusters/devices.yaml", d)};
    ck_assert_ptr_nonnull(m.cluster);
    int kept = 0, made = 0;
    for (syn_strategy s = SYN_AUTO + 1; s <= syn_strategy_named("tp"); s++) {
        syn_options o = syn_default_options();
        o.strategy = s;
        o.no_pairs = true;
        syn_result res = syn_synthesize(a, g, f, &m, &o);
        ck_assert_int_eq(res.status, SYN_OK);
        const syn_program *p = res.program;
        for (int i = 0; i < p->instr.n; i++) {
            const syn_instr *in = &p->instr.p[i];
            if (in->kind != SYN_OP || !f->joined[in->node]) continue;
            const cost_timeline *t = &res.timeline;
            int n = p->mesh->n_classes, op = g->nodes.p[in->node].op;
            double sec = t->end[i * n] - t->begin[i * n];
            if (op == IR_OP_sumsq) ck_assert_double_lt(sec, in->sec[0] / 2);
            if (op != IR_OP_cast) continue;
            bool sent = false, whole = false;
            for (int k = 0; k < p->instr.n; k++) {
                const syn_instr *x = &p->instr.p[k];
                bool adam = x->kind == SYN_OP && g->nodes.p[x->node].op == IR_OP_adam;
                whole |= adam && x->in[0] == in->in[0];
                for (int j = 0; x->kind == SYN_START && j < x->n_in; j++)
                    sent |= cost_is_put(x->form) && x->in[j] == in->out[0];
            }
            ck_assert_msg((sec < in->sec[0] / 2) == (whole && !sent), "cast %d: %g of %g s", i, sec,
                          in->sec[0]);
            *(whole && !sent ? &kept : &made) += 1;
        }
    }
    ck_assert_int_gt(kept, 0);
    ck_assert_int_gt(made, 0);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("joined");
    TCase *c = tcase_create("joined");
    tcase_add_test(c, attention_is_not_moved);
    tcase_add_test(c, rows_that_no_kernel_holds);
    tcase_add_test(c, splits_of_whole_matmuls);
    tcase_add_test(c, sums_behind_collectives);
    tcase_add_test(c, squares_and_copies);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
