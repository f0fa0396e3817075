// The whole training step: which nodes stand in the backward pass and the update, in which order,
// with which names. Numbers are other tests' (finite differences, PyTorch).

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

static hb_arena *arena;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

// The nodes of a phase: "name=op(in, in)" a line.
static const char *nodes(const ir_graph *g, ir_phase phase)
{
    hb_buf b = {.arena = arena};
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (n->phase != phase) continue;
        hb_printf(&b, "%.*s=%s(", HB_ARG(n->name), ir_op_of(n->op)->name);
        for (int k = 0; k < n->n_in; k++)
            hb_printf(&b, "%s%.*s", k ? ", " : "", HB_ARG(g->tensors.p[n->in[k]].name));
        hb_puts(&b, ")\n");
    }
    return hb_done(&b).p;
}

START_TEST(linear_chain)
{
    ir_graph *g = graph_text(arena, "x: input f32 4 3\n w: param f32 3 2\n b: param f32 2\n"
                                    "y: input i64 4\n"
                                    "h = linear(x, w, b)\n a = relu(h)\n s = ce_sum(a, y)\n"
                                    "n = count(y)\n l = div(s, n)\n loss l\n");
    ck_assert_str_eq(nodes(g, IR_FORWARD), "h=linear(x, w, b)\n"
                                           "a=relu(h)\n"
                                           "s.max=row_max(a)\n"
                                           "s.expsum=row_expsum(a, s.max)\n"
                                           "s.target=target_logit(a, y)\n"
                                           "s=nll_sum(s.max, s.expsum, s.target, y)\n"
                                           "n=count(y)\n"
                                           "l=div(s, n)\n");
    // x is data: nothing is computed for it, nor for the count.
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed=full()\n"
                                            "l'da=div(l'seed, n)\n"
                                            "s'dx=ce_bwd(a, s.max, s.expsum, y, l'da)\n"
                                            "a'dx=relu_bwd(s'dx, a)\n"
                                            "h'dw=linear_dw(x, a'dx)\n"
                                            "h'db=sum(a'dx)\n");
    ck_assert_str_eq(nodes(g, IR_UPDATE), "w'next=adam(w, w.exp_avg, w.exp_avg_sq, h'dw)\n"
                                          "b'next=adam(b, b.exp_avg, b.exp_avg_sq, h'db)\n");
    ck_assert_int_eq(g->updates.n, 6);
    ck_assert_int_eq(g->nodes.p[graph_node(g, "h'dw")].forward, graph_node(g, "h"));
    ck_assert_int_eq(g->tensors.p[graph_tensor(g, "w.exp_avg")].of, graph_tensor(g, "w"));
    ck_assert_int_eq(g->grads.n, 4);
    ck_assert_int_eq(g->grads.p[1], graph_tensor(g, "h'dw"));
}
END_TEST

START_TEST(dense_orders)
{
    ir_graph *g = graph_text(arena, "x: param f32 5 3\n w: param f32 2 3\n v: param f32 2 7\n"
                                    "h = linear(x, w) trans=1\n" // [5 2]
                                    "p = matmul(h, v)\n"         // [5 7]
                                    "q = matmul(p, h) trans=2\n" // [7 2]
                                    "r = matmul(q, h) trans=1\n" // [7 5]
                                    "l = sum(r) dims=0,1\n loss l\n");
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed=full()\n"
                                            "l'keep=reshape(l'seed)\n"
                                            "l'dx=expand(l'keep)\n"
                                            "r'da=matmul(l'dx, h)\n"
                                            "r'db=matmul(l'dx, q)\n"
                                            "q'da=matmul(h, r'da)\n"
                                            "q'db=matmul(p, r'da)\n"
                                            "q'sum1=add(r'db, q'db)\n"
                                            "p'da=matmul(q'da, v)\n"
                                            "p'sum=add(q'sum1, p'da)\n"
                                            "p'db=matmul(h, q'da)\n"
                                            "h'dx=linear(p'sum, w)\n"
                                            "h'dw=linear_dw(p'sum, x)\n");
    static const struct {
        const char *node;
        int trans;
    } want[] = {{"r'da", 0}, {"r'db", 2}, {"q'da", 1}, {"q'db", 0},
                {"p'da", 1}, {"p'db", 2}, {"h'dx", 0}};
    for (int i = 0; i < 7; i++)
        ck_assert_int_eq(g->nodes.p[graph_node(g, want[i].node)].attr[0].i, want[i].trans);
}
END_TEST

START_TEST(broadcast_and_missing_parts)
{
    ir_graph *g =
        graph_text(arena, "x: param f32 4 6\n w: param f32 1 6\n c: param f32 1\n"
                          "m = mul(x, w)\n a = add(m, c)\n s = split(a) dim=1 sizes=2,2,2\n"
                          "t = mul(s.1, s.1)\n l = sum(t) dims=0,1\n loss l\n");
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed=full()\n"
                                            "l'keep=reshape(l'seed)\n"
                                            "l'dx=expand(l'keep)\n"
                                            "t'da=mul(l'dx, s.1)\n"
                                            "t'db=mul(l'dx, s.1)\n"
                                            "t'sum1=add(t'da, t'db)\n"
                                            "s'zero0=full()\n"
                                            "s'zero2=full()\n"
                                            "s'dx=concat(s'zero0, t'sum1, s'zero2)\n"
                                            "a'fold1=sum(s'dx)\n"
                                            "a'fold1.shape=reshape(a'fold1)\n"
                                            "m'da=mul(s'dx, w)\n"
                                            "m'db=mul(s'dx, x)\n"
                                            "m'fold1=sum(m'db)\n");
    ck_assert_int_eq(g->tensors.p[graph_tensor(g, "a'fold1.shape")].rank, 1);
    ck_assert_int_eq(g->tensors.p[graph_tensor(g, "m'fold1")].rank, 2); // keepdim
}
END_TEST

START_TEST(norm_softmax_dropout)
{
    ir_graph *g =
        graph_text(arena, "x: param f32 4 6\n w: param f32 6\n b: param f32 6\n"
                          "n = layer_norm(x, w, b) eps=0.5\n d = dropout(n) p=0.5 key=7\n"
                          "s = softmax(d)\n o = log_softmax(s)\n m = mean(o) dims=0,1\n loss m\n");
    ck_assert_str_eq(
        nodes(g, IR_BACKWARD),
        "m'seed=full()\n" // the scale's gradient is named after it, the sum's after m.sum
        "m'dx=scale(m'seed)\n"
        "m.sum'keep=reshape(m'dx)\n"
        "m.sum'dx=expand(m.sum'keep)\n"
        "o'rows=row_sum(m.sum'dx)\n"
        "o'dx=log_softmax_bwd(m.sum'dx, o, o'rows)\n"
        "s'dot=row_dot(o'dx, s)\n"
        "s'dx=softmax_bwd(o'dx, s, s'dot)\n"
        "d'dx=dropout(s'dx)\n"
        "n'stats=norm_bwd_stats(d'dx, x, n.sum, n.m2, w)\n"
        "n'dx=norm_bwd(d'dx, x, n.sum, n.m2, n'stats, n'stats.1, w)\n"
        "n'dw=norm_bwd_params(d'dx, x, n.sum, n.m2)\n");
    ck_assert_double_eq(g->nodes.p[graph_node(g, "n'dx")].attr[0].f, 0.5);
    const ir_node *d = &g->nodes.p[graph_node(g, "d'dx")];
    ck_assert_int_eq(d->attr[1].i, 7); // the same key: the same mask
    ck_assert_double_eq(d->attr[0].f, 0.5);
    ck_assert_double_eq(g->nodes.p[graph_node(g, "m")].attr[0].f, 1.0 / 24);
    // Without weights, no parameter gradients; without a bias, none for it.
    g = graph_text(arena, "x: param f32 4 6\n n = layer_norm(x)\n m = mean(n) dims=0,1\n loss m\n");
    ck_assert_ptr_eq(strstr(nodes(g, IR_BACKWARD), "norm_bwd_params"), NULL);
}
END_TEST

// Blocks of a residual network: the same nodes up to the block's number.
static const char *block_nodes(const ir_graph *g, int block, int *count)
{
    hb_buf b = {.arena = arena};
    char prefix[16], number[8];
    snprintf(prefix, sizeof prefix, "h.%d.", block);
    snprintf(number, sizeof number, "%d", block);
    *count = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (strncmp(n->name.p, prefix, strlen(prefix)) != 0) continue;
        hb_printf(&b, "%d %s %s\n", (int)n->phase, ir_op_of(n->op)->name,
                  n->name.p + strlen(prefix));
        ++*count;
    }
    return hb_done(&b).p;
}

START_TEST(repeated_blocks)
{
    hb_buf t = {.arena = arena};
    int depth = 5, count;
    hb_puts(&t, "x: input f32 4 6\n g.in: param f32 6 6\n");
    for (int i = 0; i < depth; i++)
        hb_printf(&t, "h.%d.w: param f32 6 6\n h.%d.g: param f32 6\n", i, i);
    hb_puts(&t, "h.-1.res = linear(x, g.in)\n");
    for (int i = 0; i < depth; i++)
        hb_printf(&t,
                  "h.%d.n = layer_norm(h.%d.res, h.%d.g)\n h.%d.f = linear(h.%d.n, h.%d.w)\n"
                  "h.%d.a = gelu(h.%d.f)\n h.%d.res = add(h.%d.res, h.%d.a)\n",
                  i, i - 1, i, i, i, i, i, i, i, i - 1, i);
    hb_printf(&t, "l = sum(h.%d.res) dims=0,1\n loss l\n", depth - 1);
    ir_graph *g = graph_text(arena, hb_done(&t).p);
    const char *first = block_nodes(g, 0, &count);
    ck_assert_int_gt(count, 10);
    for (int i = 1; i < depth; i++)
        ck_assert_str_eq(block_nodes(g, i, &count), first);
    // Backward blocks stand one after the other, the last first.
    int last = depth;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (n->phase != IR_BACKWARD || strncmp(n->name.p, "h.", 2) != 0) continue;
        int block = atoi(n->name.p + 2);
        ck_assert_int_le(block, last);
        last = block;
    }
}
END_TEST

START_TEST(tied_and_unused)
{
    ir_graph *g = graph_text(arena, "ids: input i64 4\n e: param f32 9 6\n u: param f32 3\n"
                                    "x = embedding(e, ids)\n z = linear(x, e) trans=1\n"
                                    "k = relu(u)\n s = ce_sum(z, ids)\n loss s\n");
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "s'seed=full()\n"
                                            "s'dx=ce_bwd(z, s.max, s.expsum, ids, s'seed)\n"
                                            "z'dx=linear(s'dx, e)\n"
                                            "z'dw=linear_dw(s'dx, x)\n"
                                            "x'dw=embedding_bwd(z'dx, ids)\n"
                                            "x'sum=add(z'dw, x'dw)\n");
    ck_assert_str_eq(nodes(g, IR_UPDATE), "e'next=adam(e, e.exp_avg, e.exp_avg_sq, x'sum)\n");
}
END_TEST

// The optimizer: rows, attributes, groups, clipping.
START_TEST(optimizers)
{
    static const char *const names[] = {"sgd", "momentum", "adam", "adamw"};
    for (int k = 0; k < 4; k++) {
        ir_graph *g = ir_graph_new(arena);
        hb_diag *d = hb_diag_new(arena);
        int64_t six = 6;
        int w = ir_add_tensor(g, HB_STR("fc.weight"), IR_PARAM, IR_F32, 1, &six);
        int b = ir_add_tensor(g, HB_STR("fc.bias"), IR_PARAM, IR_F32, 1, &six);
        int m = ir_add_node(g, HB_STR("m"), IR_OP_mul, IR_FORWARD, 2, (int[]){w, b}, NULL);
        ir_attr a[2] = {{.kind = IR_ATTR_INTS, .n = 1}, {.kind = IR_ATTR_BOOL}};
        int t = g->nodes.p[m].out[0];
        int s = ir_add_node(g, HB_STR("s"), IR_OP_sum, IR_FORWARD, 1, &t, a);
        g->loss = g->nodes.p[s].out[0];
        hb_str glob = HB_STR("*.bias");
        struct ir_parameter_group group = {1, &glob, 0.5, 0};
        g->opt = (ir_optimizer){.lr = 0.1,
                                .beta1 = 0.8,
                                .beta2 = 0.7,
                                .eps = 1e-6,
                                .weight_decay = 0.25,
                                .momentum = 0.9,
                                .nesterov = true,
                                .clip_norm = 3,
                                .n_groups = 1,
                                .group = &group};
        g->opt.name = hb_str_c(arena, names[k]);
        ck_assert(ir_autodiff(g, d) && ir_optimize(g, d));
        hb_str why = {0};
        ck_assert_msg(ir_verify(g, &why), "%s", why.p);
        const char *moments[] = {"", ", fc.weight.momentum",
                                 ", fc.weight.exp_avg, fc.weight.exp_avg_sq",
                                 ", fc.weight.exp_avg, fc.weight.exp_avg_sq"};
        const char *row = k < 2 ? names[k] : "adam";
        hb_str want = hb_fmt(arena,
                             "fc.weight'sumsq=sumsq(m'da)\n"
                             "fc.bias'sumsq=sumsq(m'db)\n"
                             "fc.bias'norm=add(fc.weight'sumsq, fc.bias'sumsq)\n"
                             "clip=clip_scale(fc.bias'norm)\n"
                             "fc.weight'next=%s(fc.weight%s, m'da, clip)\n",
                             row, moments[k]);
        ck_assert_int_eq(strncmp(nodes(g, IR_UPDATE), want.p, want.n), 0);
        const ir_node *n = &g->nodes.p[graph_node(g, "fc.weight'next")];
        const ir_node *nb = &g->nodes.p[graph_node(g, "fc.bias'next")];
        ck_assert_double_eq(n->attr[ir_attr_index(n->op, "wd")].f, 0.25);
        ck_assert_double_eq(n->attr[ir_attr_index(n->op, "lr_scale")].f, 1);
        ck_assert_double_eq(nb->attr[ir_attr_index(n->op, "wd")].f, 0);
        ck_assert_double_eq(nb->attr[ir_attr_index(n->op, "lr_scale")].f, 0.5);
        if (k >= 2) {
            ck_assert_int_eq(n->attr[ir_attr_index(n->op, "decoupled")].i, k == 3);
            ck_assert_double_eq(n->attr[ir_attr_index(n->op, "beta2")].f, 0.7);
        } else if (k == 1) {
            ck_assert_int_eq(n->attr[ir_attr_index(n->op, "nesterov")].i, 1);
            ck_assert_double_eq(n->attr[ir_attr_index(n->op, "mu")].f, 0.9);
        }
        ck_assert_double_eq(g->nodes.p[graph_node(g, "clip")].attr[0].f, 3);
        ck_assert_int_eq(g->updates.n, 2 * (k == 0 ? 1 : k == 1 ? 2 : 3));
    }
}
END_TEST

START_TEST(refusals)
{
    static const struct {
        const char *text, *what;
    } bad[] = {
        {"q: param f32 1 2 3 4\n m: param f32 1 2 3 3\n"
         "a = sdpa(q, q, q, m)\n l = sum(a) dims=0,1,2,3\n",
         "not supported: gradient of the mask"},
        {"q: param f32 1 2 3 4\n a = sdpa(q, q, q)\n l = sum(a.1) dims=0,1,2\n",
         "not supported: gradient through the logsumexp"},
        {"x: input f32 3\n w: param f32 3\n a = relu(w)\n l = sum(x) dims=0\n",
         "the loss 'l' depends on no parameter"},
    };
    for (int i = 0; i < 3; i++) {
        ir_graph *g = graph_text(arena, bad[i].text);
        hb_diag *d = hb_diag_new(arena);
        char *text = NULL;
        size_t n = 0;
        g->loss = graph_tensor(g, "l");
        ck_assert(!ir_autodiff(g, d));
        FILE *f = open_memstream(&text, &n);
        hb_diag_print(d, f);
        fclose(f);
        ck_assert_msg(strstr(text, bad[i].what) != NULL, "%s", text);
        free(text);
    }
}
END_TEST

// Examples that are in the repository build, verify, and give every parameter a gradient.
START_TEST(examples)
{
    static const char *const paths[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                        "examples/bert-tiny/graph.json"};
    for (int i = 0; i < 3; i++) {
        hb_diag *d = hb_diag_new(arena);
        ir_graph *g = ir_build(arena, paths[i], NULL, d);
        if (!g) hb_diag_print(d, stderr);
        ck_assert(g != NULL);
        int params = 0;
        for (int t = 0; t < g->tensors.n; t++)
            params += g->tensors.p[t].kind == IR_PARAM;
        ck_assert_int_gt(params, 3);
        ck_assert_int_eq(g->grads.n, 2 * params);
        ck_assert_int_ge(g->updates.n, params);
    }
}
END_TEST

START_TEST(random_graphs)
{
    for (uint64_t seed = 1000; seed < 1400; seed++) {
        teardown();
        setup();
        ir_graph *g = random_graph(
            arena, seed, (random_graph_options){.n_ops = 1 + (int)(seed % 20), .train = true});
        hb_str why = {0};
        ck_assert_msg(ir_verify(g, &why), "seed %d: %s", (int)seed, why.p);
        ck_assert_int_gt(g->grads.n, 0);
        hb_buf one = {.arena = arena}, two = {.arena = arena};
        ir_print(&one, g);
        ir_print(&two, random_graph(
                           arena, seed,
                           (random_graph_options){.n_ops = 1 + (int)(seed % 20), .train = true}));
        ck_assert_str_eq(one.p, two.p); // deterministic
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("autodiff_structure");
    TCase *t = tcase_create("autodiff_structure");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 40);
    tcase_add_test(t, linear_chain);
    tcase_add_test(t, dense_orders);
    tcase_add_test(t, broadcast_and_missing_parts);
    tcase_add_test(t, norm_softmax_dropout);
    tcase_add_test(t, repeated_blocks);
    tcase_add_test(t, tied_and_unused);
    tcase_add_test(t, optimizers);
    tcase_add_test(t, refusals);
    tcase_add_test(t, examples);
    tcase_add_test(t, random_graphs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
