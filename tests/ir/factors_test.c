// Factors and rules of hand-made graphs, against what a person derives; work of cut nodes; and the
// properties that hold on every graph (random ones).

#include <check.h>
#include <stdlib.h>

#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

static hb_arena *arena;
static ir_graph *graph;
static ir_factors *factors;
static hb_str print;

static void setup(void)
{
    arena = hb_arena_new();
}

static void teardown(void)
{
    hb_arena_free(arena);
}

static void factorize(const char *text)
{
    graph = graph_text(arena, text);
    factors = ir_factorize(arena, graph);
    hb_buf b = {.arena = arena};
    ir_factors_print(&b, graph, factors);
    print = hb_done(&b);
}

// "name" -> the tensor's dims, "name: op" -> the node's rule.
#define IS(start, text) ck_assert_str_eq(line_of(arena, print, start " "), text)

START_TEST(mlp)
{
    factorize("x: input f32 16 8\n w1: param f32 6 8\n b1: param f32 6\n w2: param f32 6 4\n"
              "y: input i64 16\n"
              "h = linear(x, w1, b1) trans=1\n a = gelu(h)\n o = linear(a, w2)\n"
              "nll = ce_sum(o, y)\n n = count(y)\n l = div(nll, n)\n loss l\n");
    IS("x", "[b16 f1:8]");
    IS("w1", "[f2:6 f1:8]");
    IS("b1", "[f2:6]");
    IS("w2", "[f2:6 f3:4]");
    IS("o", "[b16 f3:4]");
    IS("h: linear", " 0 1, 2 1 + 2 -> 0 2  with 0=b16 1=f1:8 2=f2:6");
    IS("o: linear", " 0 1, 1 2 -> 0 2  with 0=b16 1=f2:6 2=f3:4");
    IS("nll.max: row_max", " 0 1 -> 0  with 0=b16 1=f3:4");
    IS("nll.target: target_logit", " 0 1, 0 -> 0  with 0=b16 1=f3:4");
    IS("nll: nll_sum", " 0, 0, 0, 0 ->   with 0=b16");
    IS("nll'dx: ce_bwd", " 0 1, 0, 0, 0,  -> 0 1  with 0=b16 1=f3:4");
    IS("h'dw: linear_dw", " 0 1, 0 2 -> 1 2  with 0=b16 1=f2:6 2=f1:8");
    IS("h'db: sum", " 0 1 -> 1  with 0=b16 1=f2:6");
    IS("w1'next: adam", " 0 1, 0 1, 0 1, 0 1 -> 0 1, 0 1, 0 1  with 0=f2:6 1=f1:8");
    IS("w1.exp_avg", "[f2:6 f1:8]");
    // What a contracted factor leaves behind and which operands may be partial is data too.
    int h = graph_node(graph, "h");
    const ir_rule *r = factors->rule[h];
    ck_assert_int_eq(r->n_terms, 2);
    ck_assert_int_eq(r->term[2], 1);
    ck_assert_int_eq(r->linear, 7);
    ck_assert_int_eq(r->reducer[0], 's');
    ck_assert_int_eq(factors->rule[graph_node(graph, "nll.max")]->reducer[0], 'm');
}
END_TEST

// GPT-2's attention: the fused projection of 2304 is k3 . h12 . e64.
static const char attention[] =
    "ids: input i64 2 5\n wte: param f32 11 768\n g: param f32 768\n be: param f32 768\n"
    "wqkv: param f32 768 2304\n bqkv: param f32 2304\n wo: param f32 768 768\n y: input i64 2 5\n"
    "x = embedding(wte, ids)\n n = layer_norm(x, g, be)\n f = linear(n, wqkv, bqkv)\n"
    "s = split(f) dim=2 sizes=768,768,768\n"
    "q0 = reshape(s) shape=2,5,12,64\n q = transpose(q0) perm=0,2,1,3\n"
    "k0 = reshape(s.1) shape=2,5,12,64\n k = transpose(k0) perm=0,2,1,3\n"
    "v0 = reshape(s.2) shape=2,5,12,64\n v = transpose(v0) perm=0,2,1,3\n"
    "a = sdpa(q, k, v) causal=true\n"
    "o0 = transpose(a) perm=0,2,1,3\n o1 = reshape(o0) shape=2,5,768\n o = linear(o1, wo)\n"
    "r = add(x, o)\n z = linear(r, wte) trans=1\n l = ce_sum(z, y)\n loss l\n";

START_TEST(fused_attention)
{
    factorize(attention);
    IS("wqkv", "[c768 k3.h12.e64]");
    IS("bqkv", "[k3.h12.e64]");
    IS("wo", "[h12.e64 c768]");
    IS("f", "[b2 t5 k3.h12.e64]");
    IS("s.1", "[b2 t5 h12.e64]");
    IS("q", "[b2 h12 t5 e64]");
    IS("o1", "[b2 t5 h12.e64]");
    IS("f: linear", " 0 1 2, 2 3.4.5 + 3.4.5 -> 0 1 3.4.5  with 0=b2 1=t5 2=c768 3=k3 4=h12 5=e64");
    IS("s: split", " 0 1 2.3.4 -> 0 1 3.4, 0 1 3.4, 0 1 3.4  with 0=b2 1=t5 2=k3! 3=h12 4=e64");
    IS("q0: reshape", " 0 1 2.3 -> 0 1 2 3  with 0=b2 1=t5 2=h12 3=e64");
    IS("q: transpose", " 0 1 2 3 -> 0 2 1 3  with 0=b2 1=t5 2=h12 3=e64");
    // e is whole by the formula, the values' width because the logsumexp has no reducer.
    IS("a: sdpa", " 0 1 2 3, 0 1 4 3, 0 1 4 5 -> 0 1 2 5, 0 1 2"
                  "  with 0=b2 1=h12 2=t5 3=e64! 4=t5! 5=e64!");
    IS("o1: reshape", " 0 1 2 3 -> 0 1 2.3  with 0=b2 1=t5 2=h12 3=e64");
    IS("s'dx: concat", " 0 1 2.3, 0 1 2.3, 0 1 2.3 -> 0 1 4.2.3  with 0=b2 1=t5 2=h12 3=e64 4=k3!");
    // Tied weights: one parameter, two uses, one explicit add; v and c are the same classes in
    // both.
    IS("wte", "[v11 c768]");
    IS("z", "[b2 t5 v11]");
    IS("x: embedding", " 0 1, 2 3 -> 2 3 1  with 0=v11 1=c768 2=b2 3=t5");
    IS("z: linear", " 0 1 2, 3 2 -> 0 1 3  with 0=b2 1=t5 2=c768 3=v11");
    IS("x'dw: embedding_bwd", " 0 1 2, 0 1 -> 3 2  with 0=b2 1=t5 2=c768 3=v11");
    IS("x'sum: add", " 0 1 + 0 1 -> 0 1  with 0=v11 1=c768");
    for (int c = 0; c < factors->n_classes; c++)
        ck_assert_int_eq(factors->cls[c].whole, 0);
}
END_TEST

START_TEST(grouped_heads)
{
    factorize("q: input f32 2 6 5 4\n k: param f32 2 3 7 4\n v: param f32 2 3 7 8\n"
              "m: const bool 1 1 5 7\n a = sdpa(q, k, v, m)\n b = sum(a) dims=0,1,2,3\n loss b\n");
    IS("q", "[b2 g3.r2 t5 e4]");
    IS("k", "[b2 g3 s7 e4]");
    IS("a", "[b2 g3.r2 t5 d8]");
    IS("a: sdpa", " 0 1.2 3 4, 0 1 5 4, 0 1 5 6, 1 1 3 5 -> 0 1.2 3 6, 0 1.2 3"
                  "  with 0=b2 1=g3 2=r2 3=t5 4=e4! 5=s7! 6=d8!");
    IS("a'dqkv: sdpa_bwd",
       " 0 1.2 3 4, 0 1.2 3 5, 0 1 6 5, 0 1 6 4, 0 1.2 3 4, 0 1.2 3, 1 1 3 6"
       " -> 0 1.2 3 5, 0 1 6 5, 0 1 6 4  with 0=b2 1=g3 2=r2 3=t5 4=d8! 5=e4! 6=s7!");
    // One kv head for all: g is 1, the whole head dim is r.
    factorize("q: input f32 2 6 5 4\n k: param f32 2 1 7 4\n v: param f32 2 1 7 8\n"
              "a = sdpa(q, k, v)\n");
    IS("q", "[b2 h6 t5 e4]");
    IS("a: sdpa", " 0 1 2 3, 0 1 4 3, 0 1 4 5 -> 0 1 2 5, 0 1 2"
                  "  with 0=b2 1=h6 2=t5 3=e4! 4=s7! 5=d8!");
}
END_TEST

START_TEST(reshapes)
{
    // Both ways to a fixed point: x learns its factors from what happens later to y.
    factorize("x: input f32 24 5\n y = relu(x)\n z = reshape(y) shape=2,12,5\n"
              "u = reshape(z) shape=2,3,20\n");
    IS("x", "[b2.b2:3.b3:4 f3:5]");
    IS("u: reshape", " 0 1.2 3 -> 0 1 2.3  with 0=b2 1=b2:3 2=b3:4 3=f3:5");
    // 4 . 6 against 6 . 4: common divisor 2, then 2 against 3 has none up to 6 = 6, then 4 ... = 2
    // . 2
    factorize("x: input f32 4 3 5\n y = reshape(x) shape=6,2,5\n");
    IS("y: reshape", " 0.1 2 3 -> 0.4 5 3  with 0=b2 1=b2:2! 2=f2:3! 3=f3:5 4=f4:3! 5=f5:2!");
    // No common divisor at all: whole, but what follows is aligned again.
    factorize("x: input f32 2 3 7\n y = reshape(x) shape=3,2,7\n");
    IS("y: reshape", " 0 1 2 -> 3 4 2  with 0=b2! 1=f1:3! 2=f2:7 3=f3:3! 4=f4:2!");
    // Dims of size 1 come and go.
    factorize("x: input f32 1 6 1\n y = reshape(x) shape=2,1,3\n z = sum(y) dims=0 keepdim=true\n");
    IS("x", "[1 f1:2.f2:3 1]");
    IS("y: reshape", " 1 0.1 1 -> 0 1 1  with 0=f1:2 1=f2:3");
    IS("z: sum", " 0 1 1 -> 1 1 1  with 0=f1:2 1=f2:3");
}
END_TEST

START_TEST(pieces)
{
    factorize("x: input f32 4 12\n"
              "s = slice(x) dim=1 start=4 stop=8\n" // piece 4 of 3: aligned
              "c = concat(s, s) dim=1\n"
              "p = pad(s) dim=1 before=4 after=0\n");
    IS("x", "[b4 f1:3.f2:4]");
    IS("s: slice", " 0 1.2 -> 0 2  with 0=b4 1=f1:3! 2=f2:4");
    IS("c: concat", " 0 1, 0 1 -> 0 2.1  with 0=b4 1=f2:4 2=f3:2!");
    IS("p: pad", " 0 1 -> 0 2.1  with 0=b4 1=f2:4 2=f4:2!");
    factorize("x: input f32 4 12\n"
              "s = slice(x) dim=1 start=3 stop=8\n t = split(x) dim=1 sizes=4,8\n"
              "c = concat(t, t.1) dim=1\n p = pad(x) dim=1 before=1 after=1 value=3\n"
              "u = split(x) dim=0 sizes=4\n");
    IS("s: slice", " 0 1 -> 0 2  with 0=b4 1=f1:12! 2=f2:5!");
    IS("t: split", " 0 1 -> 0 2, 0 3  with 0=b4 1=f1:12! 2=f3:4! 3=f4:8!");
    IS("c: concat", " 0 1, 0 2 -> 0 3  with 0=b4 1=f3:4! 2=f4:8! 3=f5:12!");
    IS("p: pad", " 0 1 -> 0 2  with 0=b4 1=f1:12! 2=f6:14!");
    IS("u: split", " 0 1 -> 0 1  with 0=b4 1=f1:12");
    // A class that no rule can cut is whole; b can be cut everywhere.
    ck_assert(factors->cls[factors->dim[graph_tensor(graph, "s")][1].cls[0]].whole);
    ck_assert(!factors->cls[factors->dim[graph_tensor(graph, "x")][0].cls[0]].whole);
}
END_TEST

START_TEST(broadcasts)
{
    factorize("x: input f32 2 3 4\n w: param f32 3 1\n c: param f32 4\n"
              "a = mul(x, w)\n b = add(a, c)\n e = expand(c) shape=5,1,4\n"
              "m = matmul(x, x) trans=1\n");
    IS("a: mul", " 0 1 2, 1 1 -> 0 1 2  with 0=b2 1=f1:3 2=f2:4");
    IS("b: add", " 0 1 2 + 2 -> 0 1 2  with 0=b2 1=f1:3 2=f2:4");
    IS("e: expand", " 0 -> 1 1 0  with 0=f2:4 1=f4:5");
    // x x': rows and columns are one class but two factors of the rule.
    IS("m: matmul", " 0 1 2, 0 3 2 -> 0 1 3  with 0=b2 1=f1:3 2=f2:4 3=f1:3");
}
END_TEST

static double flops, bytes;

static void work(const char *node, int k, int64_t n, int64_t lo)
{
    ir_part part = {k, n, lo};
    ir_node_work(graph, factors, graph_node(graph, node), &part, 1, &flops, &bytes);
}

START_TEST(node_work)
{
    factorize(attention);
    work("o", -1, 0, -1); // [2 5 768] [768 768]
    ck_assert_double_eq(flops, 2.0 * 10 * 768 * 768);
    ck_assert_double_eq(bytes, 4.0 * (10 * 768 + 768 * 768 + 10 * 768));
    work("o", 2, 3, -1); // h cut to 3 of 12: a quarter of the contraction
    ck_assert_double_eq(flops, 2.0 * 10 * 192 * 768);
    ck_assert_double_eq(bytes, 4.0 * (10 * 192 + 192 * 768 + 10 * 768));
    work("o", 2, 0, -1); // zero rows
    ck_assert_double_eq(flops, 0);
    work("x", -1, 0, -1); // gather: 10 rows of the table, not 11
    ck_assert_double_eq(bytes, 10 * 768 * 4 + 10 * 8 + 10 * 768 * 4);
    work("q0", -1, 0, -1); // a reshape moves nothing
    ck_assert_double_eq(bytes, 0);
    work("l", -1, 0, -1);
    ck_assert_double_eq(flops, 100);
    // Causal attention: half the square; the areas of a cut add up to it, later rows cost more.
    work("a", -1, 0, -1);
    ck_assert_double_eq(flops, 2.0 * 2 * 12 * 5 * 5 * 128 / 2);
    double all = flops, sum = 0, before = 0;
    for (int lo = 0; lo < 5; lo++) {
        work("a", 2, 1, lo);
        ck_assert_double_gt(flops, before);
        before = flops;
        sum += flops;
    }
    ck_assert_double_eq_tol(sum, all, 1e-6 * all);
    work("a'dqkv", -1, 0, -1);
    ck_assert_double_eq(flops, all * 2.5);
}
END_TEST

// On every graph: sizes multiply to the dims; a rule's dims agree with its tensors' classes; a
// factor stands at most once in a tensor; one that an operand has and a '-' output lacks is whole.
static void check_rule(const ir_graph *g, const ir_factors *f, int id, int n, const int *tensors,
                       ir_rule_dim (*dims)[IR_MAX_RANK])
{
    const ir_rule *r = f->rule[id];
    for (int i = 0; i < n; i++) {
        const ir_tensor *t = &g->tensors.p[tensors[i]];
        int met[IR_MAX_RULE_FACTORS] = {0};
        for (int d = 0; d < t->rank; d++) {
            const ir_dim_factors *df = &f->dim[tensors[i]][d];
            ck_assert_int_eq(dims[i][d].n, df->n);
            int64_t size = 1;
            for (int k = 0; k < df->n; k++) {
                int local = dims[i][d].f[k];
                size *= f->cls[df->cls[k]].size;
                if (local < 0) {
                    ck_assert_int_eq(f->cls[df->cls[k]].size, 1);
                    continue;
                }
                ck_assert_int_lt(local, r->n_factors);
                ck_assert_int_eq(r->factor[local].cls, df->cls[k]);
                ck_assert_int_eq(r->factor[local].size, f->cls[df->cls[k]].size);
                ck_assert_int_eq(met[local]++, 0);
                ck_assert(r->factor[local].whole || !f->cls[df->cls[k]].whole);
            }
            ck_assert_int_eq(size, t->dim[d]);
        }
    }
}

// Each choice of a row is a row, whichever operand has them all: by the matrices forward and for
// the gradients, by dw whether its first or its last operand is the same for all choices.
static void check_experts(const char *node, int k, int64_t n, double products, double rows,
                          double row)
{
    ir_part part = {k, n, -1};
    work(node, k, n, -1);
    ck_assert_msg(flops == 2 * products, "%s: %g flops", node, flops);
    double gathered = ir_gathered_bytes(graph, factors, graph_node(graph, node), &part, 1);
    ck_assert_msg(gathered == 4 * rows * row, "%s: %g bytes", node, gathered);
}

START_TEST(rows_of_experts)
{
    for (int trans = 0; trans < 2; trans++) { // 24 rows of 2 choices, 3 experts, 5 by 8
        factorize(hb_fmt(arena,
                         "x: input f32 4 6 5\n g: param f32 5 3\n w1: param f32 %s\n"
                         "w2: param f32 3 8 5\n x1 = reshape(x) shape=4,6,1,5\n l = linear(x, g)\n"
                         "i = top_index(l) k=2\n u = expert_linear(x1, i, w1) trans=%d\n"
                         "z = expert_linear(u, i, w2)\n q = mul(z, z)\n"
                         "t = sum(q) dims=0,1,2,3\n loss t\n",
                         trans ? "3 8 5" : "3 5 8", trans)
                      .p);
        check_experts("u", -1, 0, 48 * 5 * 8, 48, 5);
        check_experts("z", -1, 0, 48 * 5 * 8, 48, 8);
        check_experts("u'dw", -1, 0, 48 * 5 * 8, 48, 5 + 8);
        check_experts("z'dw", -1, 0, 48 * 5 * 8, 48, 5 + 8);
        check_experts("z'dx", -1, 0, 48 * 5 * 8, 48, 5);
        // Of the first dim of the rows a quarter; of the experts a third of the rows.
        check_experts("u'dw", 0, 1, 12 * 5 * 8, 12, 5 + 8);
        const ir_rule *r = factors->rule[graph_node(graph, "u'dw")];
        check_experts("u'dw", r->out[0][0].f[0], 1, 16 * 5 * 8, 16, 5 + 8);
    }
    ck_assert_double_eq(ir_gathered_bytes(graph, factors, graph_node(graph, "l"), NULL, 0), 0);
}
END_TEST

// Those that a GPU's matrix units do not take are told by them, gradients too.
START_TEST(channels_of_groups)
{
    factorize("x: input f32 4 16 9 9\n a: param f32 16 1 3 3\n b: param f32 32 4 3 3\n"
              "c: param f32 6 32 1 1\n t: param f32 6 7 7\n"
              "y = conv(x, a) stride=1,1 padding=1,1 dilation=1,1 groups=16\n"
              "z = conv(y, b) stride=1,1 padding=0,0 dilation=1,1 groups=4\n"
              "u = conv(z, c) stride=1,1 padding=0,0 dilation=1,1\n v = mul(u, t)\n"
              "l = sum(v) dims=0,1,2,3\n loss l\n");
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "y")), 1);
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "y'dw")), 1);
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "z")), 4);
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "z'dx")), 4);
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "u")), INT64_MAX);
    ck_assert_int_eq(ir_channels_of_group(graph, graph_node(graph, "v")), INT64_MAX);
}
END_TEST

START_TEST(random_graphs)
{
    for (uint64_t seed = 0; seed < 600; seed++) {
        teardown();
        setup();
        ir_graph *g = random_graph(arena, seed,
                                   (random_graph_options){.n_ops = 2 + (int)(seed % 14),
                                                          .train = seed % 2,
                                                          .linear = seed % 3 == 0});
        hb_str why = {0};
        ck_assert_msg(ir_verify(g, &why), "seed %d: %s", (int)seed, why.p);
        ir_factors *f = ir_factorize(arena, g);
        for (int i = 0; i < g->nodes.n; i++) {
            const ir_node *n = &g->nodes.p[i];
            check_rule(g, f, i, n->n_in, n->in, f->rule[i]->in);
            check_rule(g, f, i, n->n_out, n->out, f->rule[i]->out);
            double whole, cut, moved;
            ir_node_work(g, f, i, NULL, 0, &whole, &moved);
            ck_assert(whole >= 0 && moved >= 0);
            for (int k = 0; k < f->rule[i]->n_factors; k++) {
                ir_part part = {k, f->rule[i]->factor[k].size, -1};
                ir_node_work(g, f, i, &part, 1, &cut, &moved);
                ck_assert_double_eq(whole, cut);
            }
        }
        for (int i = 0; i < g->updates.n; i++) // loop-carried tensors have one form
            for (int d = 0; d < g->tensors.p[g->updates.p[i].tensor].rank; d++)
                ck_assert_mem_eq(&f->dim[g->updates.p[i].tensor][d],
                                 &f->dim[g->updates.p[i].next][d], sizeof(ir_dim_factors));
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("factors");
    TCase *t = tcase_create("factors");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 40);
    tcase_add_test(t, mlp);
    tcase_add_test(t, fused_attention);
    tcase_add_test(t, grouped_heads);
    tcase_add_test(t, reshapes);
    tcase_add_test(t, pieces);
    tcase_add_test(t, broadcasts);
    tcase_add_test(t, node_work);
    tcase_add_test(t, rows_of_experts);
    tcase_add_test(t, channels_of_groups);
    tcase_add_test(t, random_graphs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
