// --precision bf16: where casts stand, that the step still verifies, that rows on bf16 and f16
// storage are the f32 rows rounded once, and that training in bf16 follows training in fp32.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/graph_text.h"
#include "tests/support/op_cases.h"
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

// The nodes of a phase: "name:dtype=op(in, in)" a line.
static const char *nodes(const ir_graph *g, ir_phase phase)
{
    hb_buf b = {.arena = arena};
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (n->phase != phase) continue;
        hb_printf(&b, "%.*s:%s=%s(", HB_ARG(n->name), ir_dtype_name(g->tensors.p[n->out[0]].dtype),
                  ir_op_of(n->op)->name);
        for (int k = 0; k < n->n_in; k++)
            hb_printf(&b, "%s%.*s", k ? ", " : "", HB_ARG(g->tensors.p[n->in[k]].name));
        hb_puts(&b, ")\n");
    }
    return b.n ? hb_done(&b).p : "";
}

static const char mlp[] = "x: input f32 4 3\n w: param f32 3 2\n b: param f32 2\n y: input i64 4\n"
                          "h = linear(x, w, b)\n a = relu(h)\n s = ce_sum(a, y)\n"
                          "n = count(y)\n l = div(s, n)\n loss l\n";

START_TEST(mlp_in_bf16)
{
    ir_graph *g = graph_text_as(arena, mlp, IR_PRECISION_BF16, IR_F32);
    ck_assert_str_eq(nodes(g, IR_FORWARD), "x.bf16:bf16=cast(x)\n"
                                           "w.bf16:bf16=cast(w)\n"
                                           "b.bf16:bf16=cast(b)\n"
                                           "h:bf16=linear(x.bf16, w.bf16, b.bf16)\n"
                                           "a:bf16=relu(h)\n"
                                           "s.max:f32=row_max(a)\n"
                                           "s.expsum:f32=row_expsum(a, s.max)\n"
                                           "s.target:f32=target_logit(a, y)\n"
                                           "s:f32=nll_sum(s.max, s.expsum, s.target, y)\n"
                                           "n:f32=count(y)\n"
                                           "l:f32=div(s, n)\n");
    // Weight gradients are accumulated, reduced and used in f32: no cast behind them.
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed:f32=full()\n"
                                            "l'da:f32=div(l'seed, n)\n"
                                            "s'dx:bf16=ce_bwd(a, s.max, s.expsum, y, l'da)\n"
                                            "a'dx:bf16=relu_bwd(s'dx, a)\n"
                                            "h'dw:f32=linear_dw(x.bf16, a'dx)\n"
                                            "h'db:f32=sum(a'dx)\n");
    ck_assert_str_eq(nodes(g, IR_UPDATE), "w'next:f32=adam(w, w.exp_avg, w.exp_avg_sq, h'dw)\n"
                                          "b'next:f32=adam(b, b.exp_avg, b.exp_avg_sq, h'db)\n");
}
END_TEST

START_TEST(gradients_in_bf16)
{
    ir_graph *g = graph_text_as(arena, mlp, IR_PRECISION_BF16, IR_BF16);
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed:f32=full()\n"
                                            "l'da:f32=div(l'seed, n)\n"
                                            "s'dx:bf16=ce_bwd(a, s.max, s.expsum, y, l'da)\n"
                                            "a'dx:bf16=relu_bwd(s'dx, a)\n"
                                            "h'dw:f32=linear_dw(x.bf16, a'dx)\n"
                                            "h'db:f32=sum(a'dx)\n"
                                            "b.bf16'grad:bf16=cast(h'db)\n"
                                            "w.bf16'grad:bf16=cast(h'dw)\n");
    ck_assert_str_eq(nodes(g, IR_UPDATE),
                     "w'next:f32=adam(w, w.exp_avg, w.exp_avg_sq, w.bf16'grad)\n"
                     "b'next:f32=adam(b, b.exp_avg, b.exp_avg_sq, b.bf16'grad)\n");
}
END_TEST

// A weight read by a lookup (f32) and twice as a matrix: one copy, gradients added in f32.
START_TEST(tied_weight)
{
    ir_graph *g = graph_text_as(arena,
                                "i: input i64 4\n w: param f32 5 3\n"
                                "e = embedding(w, i)\n"
                                "h = linear(e, w) trans=1\n k = linear(h, w)\n"
                                "r = add(k, e)\n l = sum(r) dims=0,1\n loss l\n",
                                IR_PRECISION_BF16, IR_F32);
    ck_assert_str_eq(nodes(g, IR_FORWARD), "e:f32=embedding(w, i)\n"
                                           "e.bf16:bf16=cast(e)\n"
                                           "w.bf16:bf16=cast(w)\n"
                                           "h:bf16=linear(e.bf16, w.bf16)\n"
                                           "k:bf16=linear(h, w.bf16)\n"
                                           "k.f32:f32=cast(k)\n"
                                           "r:f32=add(k.f32, e)\n"
                                           "l:f32=sum(r)\n");
    ck_assert_str_eq(nodes(g, IR_BACKWARD), "l'seed:f32=full()\n"
                                            "l'keep:f32=reshape(l'seed)\n"
                                            "l'dx:f32=expand(l'keep)\n"
                                            "k.f32'dx:bf16=cast(l'dx)\n"
                                            "k'dx:bf16=linear(k.f32'dx, w.bf16)\n"
                                            "k'dw:f32=linear_dw(h, k.f32'dx)\n"
                                            "h'dx:bf16=linear(k'dx, w.bf16)\n"
                                            "h'dw:f32=linear_dw(k'dx, e.bf16)\n"
                                            "h'sum1:f32=add(k'dw, h'dw)\n"
                                            "e.bf16'dx:f32=cast(h'dx)\n"
                                            "e.bf16'sum:f32=add(l'dx, e.bf16'dx)\n"
                                            "e'dw:f32=embedding_bwd(e.bf16'sum, i)\n"
                                            "e'sum:f32=add(h'sum1, e'dw)\n");
}
END_TEST

// What stays in f32, what follows its operand, what meets in the wider type, scalars.
START_TEST(autocast_lists)
{
    ir_graph *g = graph_text_as(
        arena,
        "x: input f32 4 3\n w: param f32 3 3\n m: input bool 4 3\n c: const f32\n g: param f32 3\n"
        "h = linear(x, w)\n"
        "e = exp(h)\n s = softmax(h)\n n = layer_norm(h, g)\n u = sum(h) dims=1 keepdim=true\n"
        "t = tanh(h)\n v = transpose(h) perm=1,0\n d = mul(h, c)\n q = where(m, h, x)\n"
        "z = concat(h, e) dim=0\n o = matmul(h, e) trans=2\n p = lt(h, x)\n"
        "a1 = add(e, s)\n a2 = add(a1, n)\n a3 = add(a2, t)\n a4 = add(a3, d)\n a5 = add(a4, q)\n"
        "a6 = add(a5, u)\n l1 = sum(a6) dims=0,1\n l2 = sum(o) dims=0,1\n l3 = sum(z) dims=0,1\n"
        "l4 = sum(v) dims=0,1\n k1 = add(l1, l2)\n k2 = add(k1, l3)\n l = add(k2, l4)\n loss l\n",
        IR_PRECISION_BF16, IR_F32);
    static const struct {
        const char *tensor;
        ir_dtype dtype;
    } want[] = {{"h", IR_BF16}, {"e", IR_F32},  {"s", IR_F32},      {"n", IR_F32},
                {"u", IR_F32},  {"t", IR_BF16}, {"v", IR_BF16},     {"d", IR_BF16},
                {"q", IR_F32},  {"z", IR_F32},  {"o", IR_BF16},     {"p", IR_BOOL},
                {"a3", IR_F32}, {"l4", IR_F32}, {"c.bf16", IR_BF16}};
    for (size_t i = 0; i < sizeof want / sizeof *want; i++)
        ck_assert_msg(g->tensors.p[graph_tensor(g, want[i].tensor)].dtype == want[i].dtype,
                      "%s is %s", want[i].tensor,
                      ir_dtype_name(g->tensors.p[graph_tensor(g, want[i].tensor)].dtype));
    // One f32 copy of h serves all that need one, statistics read bf16.
    int h = graph_tensor(g, "h"), wide = graph_tensor(g, "h.f32");
    ck_assert_int_eq(g->nodes.p[graph_node(g, "s.max")].in[0], h);
    ck_assert_int_eq(g->nodes.p[graph_node(g, "u")].in[0], h);
    static const char *const readers[] = {"e", "s", "n", "z"};
    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(g->nodes.p[graph_node(g, readers[i])].in[0], wide);
    ck_assert_int_eq(g->nodes.p[graph_node(g, "q")].in[1], wide);
}
END_TEST

static ir_graph *example(const char *name, ir_precision p, ir_dtype grad)
{
    hb_diag *d = hb_diag_new(arena);
    ir_options o = {.precision = p, .grad_dtype = grad};
    ir_graph *g = ir_build(arena, hb_fmt(arena, "examples/%s/graph.json", name).p, &o, d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(g);
    hb_str why = {0};
    ck_assert_msg(ir_verify(g, &why), "%s: %.*s", name, HB_ARG(why));
    return g;
}

static const char *const examples[] = {"mlp", "gpt2-tiny", "bert-tiny", "gpt2", "bert"};

static int casts_in(const ir_graph *g)
{
    int n = 0;
    for (int i = 0; i < g->nodes.n; i++)
        n += g->nodes.p[i].op == IR_OP_cast;
    return n;
}

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

// A node of that name and op, or none, and what it reads.
static const char *reads(const ir_graph *g, const char *name)
{
    hb_buf b = {.arena = arena};
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        if (!hb_str_is(n->name, name)) continue;
        hb_puts(&b, ir_op_of(n->op)->name);
        for (int k = 0; k < n->n_in; k++)
            hb_printf(&b, " %.*s", HB_ARG(g->tensors.p[n->in[k]].name));
    }
    return b.n ? hb_done(&b).p : "";
}

// A softmax in f32 whose values go on in bf16: its gradient makes them again from the scores in
// bf16, and statistics and a bias that are smaller than they. Not where memory would hold more for
// it, or holds the values anyway.
START_TEST(softmax_made_again)
{
    static const char head[] =
        "q: param f32 2 3 4 8\n k: param f32 2 3 16 8\n v: param f32 2 3 16 8\n"
        "b: param f32 3 4 16\n f0: param f32 2 3 16 4\n f = transpose(f0) perm=0,1,3,2\n"
        "s = matmul(q, k) trans=1\n",
                      tail[] = "o = matmul(p, v)\n l = sum(o) dims=0,1,2,3\n loss l\n";
    static const struct {
        const char *scores;
        ir_precision precision;
        const char *dot, *apply, *added, *wide;
    } t[] = {
        {"a = add(s, b)\n p = softmax(a)\n", IR_PRECISION_BF16, "row_dot p.bf16'dx p'again",
         "softmax_apply p'again1 p.max p.expsum", "add p'again2 b", "cast s"},
        {"a = add(s, b)\n p0 = softmax(a)\n p = dropout(p0) p=0.1\n", IR_PRECISION_BF16,
         "row_dot p'dx p0'again", "softmax_apply p0'again1 p0.max p0.expsum", "add p0'again2 b",
         "cast s"},
        {"p = softmax(s)\n", IR_PRECISION_BF16, "row_dot p.bf16'dx p'again",
         "softmax_apply p'again1 p.max p.expsum", "cast s", ""},
        {"a = add(s, f)\n p = softmax(a)\n", IR_PRECISION_BF16, "row_dot p.bf16'dx p", "", "", ""},
        {"a = add(s, b)\n p = softmax(a)\n", IR_PRECISION_FP32, "row_dot o'da p", "", "", ""},
    };
    for (size_t i = 0; i < sizeof t / sizeof *t; i++) {
        hb_str text = hb_fmt(arena, "%s%s%s", head, t[i].scores, tail);
        ir_graph *g = graph_text_as(arena, text.p, t[i].precision, IR_F32);
        const char *of = strstr(t[i].scores, "p0") ? "p0" : "p";
        const char *names[] = {"dot", "again", "again1", "again2"},
                   *want[] = {t[i].dot, t[i].apply, t[i].added, t[i].wide};
        for (int k = 0; k < 4; k++)
            ck_assert_str_eq(reads(g, hb_fmt(arena, "%s'%s", of, names[k]).p), want[k]);
    }
}
END_TEST

START_TEST(invariants_of_examples)
{
    ir_graph *g = example(examples[_i], IR_PRECISION_BF16, IR_F32);
    ir_graph *plain = example(examples[_i], IR_PRECISION_FP32, IR_F32);
    int *copies = HB_ARRAY(arena, int, g->tensors.n), dense = 0;
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        const ir_op_info *row = ir_op_of(n->op);
        const ir_tensor *y = &g->tensors.p[n->out[0]];
        bool is_dense = row->flops_kind == IR_FLOPS_DENSE || row->flops_kind == IR_FLOPS_SDPA;
        dense += is_dense;
        for (int k = 0; k < n->n_in; k++) {
            const ir_tensor *x = &g->tensors.p[n->in[k]];
            bool lse = n->op == IR_OP_sdpa_bwd && k == 5;
            if (is_dense && !lse)
                ck_assert_msg(x->dtype == IR_BF16, "%.*s reads %s", HB_ARG(n->name),
                              ir_dtype_name(x->dtype));
            if (n->op == IR_OP_norm_apply || n->op == IR_OP_norm_bwd || n->op == IR_OP_adam)
                ck_assert_int_eq(x->dtype, IR_F32);
        }
        if (n->op != IR_OP_cast) continue;
        const ir_tensor *x = &g->tensors.p[n->in[0]];
        ck_assert_msg(x->dtype != y->dtype, "%.*s casts %s to itself", HB_ARG(n->name),
                      ir_dtype_name(x->dtype));
        if (n->phase == IR_FORWARD)
            ck_assert_msg(++copies[n->in[0]] == 1, "%.*s is cast twice", HB_ARG(x->name));
    }
    ck_assert_int_ge(dense, 5);
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind != IR_VALUE && is_float(g->tensors.p[t].dtype))
            ck_assert_int_eq(g->tensors.p[t].dtype, IR_F32);
    ck_assert_int_eq(g->tensors.p[g->loss].dtype, IR_F32);
    ck_assert_int_eq(g->grads.n, plain->grads.n);
    ck_assert_int_eq(casts_in(plain), 0);
    for (int i = 0; i < g->grads.n; i += 2) // no gradient was rounded before its sum was done
        ck_assert_int_ne(g->nodes.p[g->tensors.p[g->grads.p[i + 1]].producer].op, IR_OP_cast);

    ir_graph *narrow = example(examples[_i], IR_PRECISION_BF16, IR_BF16);
    ck_assert_int_eq(casts_in(narrow), casts_in(g) + g->grads.n / 2);
    for (int i = 0; i < narrow->grads.n; i += 2)
        ck_assert_int_eq(narrow->tensors.p[narrow->grads.p[i + 1]].dtype, IR_BF16);

    hb_buf a = {.arena = arena}, b = {.arena = arena};
    ir_print(&a, plain);
    ir_print(&b, example(examples[_i], IR_PRECISION_TF32, IR_F32));
    ck_assert_str_eq(hb_done(&a).p, hb_done(&b).p);
}
END_TEST

// --- training ---

static void feed(interp *x, const char *model)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->kind != IR_INPUT) continue;
        arrays f =
            arrays_read(arena, hb_fmt(arena, "tests/torch/%s/%.*s.npy", model, HB_ARG(t->name)).p);
        interp_feed(x, i, f.v);
    }
}

static float *as_f32(const hap_tensor *t)
{
    float *v = HB_ARRAY(arena, float, t->elements);
    for (int64_t i = 0; i < t->elements; i++) {
        if (t->type == HAP_F32) {
            v[i] = ((const float *)t->data)[i];
        } else {
            uint32_t bits = (uint32_t)((const uint16_t *)t->data)[i] << 16;
            memcpy(&v[i], &bits, sizeof bits);
        }
    }
    return v;
}

// Losses follow fp32's within 1e-3, first gradients within 3 % of their norm, parameters within 10
// % of the way they went; and all of it really is another arithmetic.
START_TEST(training_follows_fp32)
{
    const char *model = examples[_i / 2];
    enum { STEPS = 20 };
    ir_dtype grad = _i % 2 ? IR_BF16 : IR_F32;
    interp *x[2];
    for (int k = 0; k < 2; k++) {
        ir_graph *g = example(model, k ? IR_PRECISION_BF16 : IR_PRECISION_FP32, k ? grad : IR_F32);
        x[k] = interp_new(arena, g, 1);
    }
    ck_assert_int_eq(x[0]->g->grads.n, x[1]->g->grads.n);
    bool differ = false;
    for (int s = 0; s < STEPS; s++) {
        for (int k = 0; k < 2; k++) {
            feed(x[k], model);
            const char *why = interp_run(x[k]);
            ck_assert_msg(!why, "%s", why);
        }
        double a = (double)interp_loss(x[0]), b = (double)interp_loss(x[1]);
        ck_assert_msg(fabs(a - b) <= 1e-3 * fabs(a), "%s: loss of step %d is %.7g, fp32's %.7g",
                      model, s, b, a);
        differ = differ || a != b;
        double all = 0;
        for (int pass = 0; s == 0 && pass < 2; pass++) {
            for (int i = 0; i < x[0]->g->grads.n; i += 2) {
                const hap_tensor *p = &x[0]->t[x[0]->g->grads.p[i + 1]],
                                 *q = &x[1]->t[x[1]->g->grads.p[i + 1]];
                const float *u = as_f32(p), *v = as_f32(q);
                double d = 0, n = 0;
                for (int64_t e = 0; e < p->elements; e++) {
                    d = hypot(d, (double)u[e] - (double)v[e]);
                    n = hypot(n, (double)u[e]);
                }
                if (pass == 0) all = hypot(all, n);
                ck_assert_msg(pass == 0 || d <= 3e-2 * n + 1e-4 * all,
                              "%s: gradient of %.*s is off by %.3g of %.3g", model,
                              HB_ARG(x[0]->g->tensors.p[x[0]->g->grads.p[i]].name), d, n);
            }
        }
        interp_advance(x[0]);
        interp_advance(x[1]);
    }
    ck_assert(differ);
}
END_TEST

// Any mix of rows verifies and runs in bf16, and gives about fp32's loss.
START_TEST(random_graphs)
{
    enum { SEEDS = 150 };
    int near = 0, dense = 0;
    for (uint64_t seed = 0; seed < SEEDS; seed++) {
        double loss[2];
        int grads[2];
        for (int k = 0; k < 2; k++) {
            random_graph_options o = {.n_ops = 2 + (int)(seed % 9), .train = true};
            if (k) o.precision = IR_PRECISION_BF16, o.grad_dtype = seed % 2 ? IR_BF16 : IR_F32;
            ir_graph *g = random_graph(arena, seed, o);
            hb_str why = {0};
            ck_assert_msg(ir_verify(g, &why), "seed %d: %.*s", (int)seed, HB_ARG(why));
            ir_factorize(arena, g);
            interp *x = interp_new(arena, g, seed);
            random_source r = {seed};
            for (int i = 0; i < g->tensors.n; i++) {
                bool ids = g->tensors.p[i].dtype == IR_I64;
                for (int64_t e = 0; g->tensors.p[i].kind == IR_INPUT && e < x->t[i].elements; e++) {
                    int v = random_below(&r, 4);
                    if (ids)
                        ((int64_t *)x->t[i].data)[e] = v;
                    else
                        ((float *)x->t[i].data)[e] = (float)v / 3 - 0.5f;
                }
            }
            const char *bad = interp_run(x);
            ck_assert_msg(!bad, "seed %d: %s", (int)seed, bad);
            loss[k] = (double)interp_loss(x);
            grads[k] = g->grads.n;
            for (int i = 0; k && i < g->nodes.n; i++)
                dense += ir_op_of(g->nodes.p[i].op)->flops_kind == IR_FLOPS_DENSE;
        }
        ck_assert_int_eq(grads[0], grads[1]);
        near += fabs(loss[0] - loss[1]) <= 0.02 * (1 + fabs(loss[0]));
    }
    ck_assert_int_gt(dense, SEEDS);
    ck_assert_msg(near >= SEEDS * 95 / 100, "%d of %d losses are near", near, SEEDS);
}
END_TEST

// --- rows on narrow storage ---

// To nearest even with `digits` significant bits, none below 2^least: from the definition.
static double rounded(double v, int digits, int least, double largest)
{
    if (v == 0 || !isfinite(v)) return v;
    int e;
    (void)frexp(v, &e);
    int unit = e - digits > least ? e - digits : least;
    double r = ldexp(nearbyint(ldexp(v, -unit)), unit);
    return fabs(r) > largest ? copysign((double)INFINITY, r) : r;
}

static double round_to(hap_dtype t, double v)
{
    return t == HAP_BF16 ? rounded(v, 8, -133, 0x1.FEp127) : rounded(v, 11, -24, 65504);
}

static double element(const hap_tensor *t, int64_t i)
{
    uint16_t h = ((const uint16_t *)t->data)[i];
    if (t->type == HAP_BF16) {
        uint32_t bits = (uint32_t)h << 16;
        float f;
        memcpy(&f, &bits, sizeof f);
        return (double)f;
    }
    int e = h >> 10 & 31, m = h & 1023;
    double v = e == 31 ? (double)(m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return h & 0x8000 ? -v : v;
}

// A copy of an f32 tensor in t's place with narrow storage; its values must be representable.
static hap_tensor narrow_of(const hap_tensor *t, hap_dtype type)
{
    hap_tensor n = shard_new(type, t->rank, t->dim, (const int[]){0, 0});
    for (int64_t i = 0; i < t->elements; i++) {
        // By search over all numbers of the type: 2^16 of them, by their sign and magnitude.
        double v = (double)((const float *)t->data)[i];
        uint16_t *h = &((uint16_t *)n.data)[i], lo = 0, hi = type == HAP_BF16 ? 0x7F80 : 0x7C00;
        while (lo < hi) {
            *h = (uint16_t)(lo + (hi - lo) / 2);
            if (element(&n, i) < fabs(v))
                lo = (uint16_t)(*h + 1);
            else
                hi = *h;
        }
        *h = (uint16_t)(lo | (signbit(v) ? 0x8000 : 0));
        ck_assert(element(&n, i) == v);
    }
    return n;
}

// Comparisons of op_cases are of integers; these are of floats.
static const op_case more_cases[] = {{IR_OP_eq, "", "v2x3x4 v4", NULL, NULL},
                                     {IR_OP_le, "", "v2x3x4 v3x1", NULL, NULL},
                                     {IR_OP_ge, "", "v4 v2x3x4", NULL, NULL}};

// The case with f32 tensors holding narrow values, then with narrow operands and outputs (or f32
// outputs, for rows that leave f32 by the table): the outputs are the f32 row's, rounded once.
static int row_agrees(const op_case *c, hap_dtype type, bool wide_out, uint64_t *rng)
{
    static const hap_step_state now = {.step = 2, .lr = 0.1, .seed = 5};
    int node, floats = 0;
    ir_graph *g = op_case_graph(arena, c, false, &node);
    const ir_node *n = &g->nodes.p[node];
    interp *x = interp_new(arena, g, 1);
    bool in_place = ir_op_of(n->op)->flags & IR_IN_PLACE;
    hap_tensor narrow[IR_MAX_IN + IR_MAX_OUT], *in[2][IR_MAX_IN], *out[2][IR_MAX_OUT];
    int n_narrow = 0;
    for (int i = 0; i < n->n_in; i++) {
        hap_tensor *t = &x->t[n->in[i]];
        op_case_fill(c, i, t, rng);
        in[0][i] = in[1][i] = t;
        if (t->type != HAP_F32) continue;
        for (int64_t e = 0; e < t->elements; e++)
            ((float *)t->data)[e] = (float)round_to(type, (double)((float *)t->data)[e]);
        narrow[n_narrow] = narrow_of(t, type);
        in[1][i] = &narrow[n_narrow++];
        floats++;
    }
    for (int o = 0; o < n->n_out; o++) {
        hap_tensor *t = &x->t[n->out[o]];
        out[0][o] = out[1][o] = t;
        if (in_place) {
            out[0][o] = in[0][o];
            out[1][o] = in[1][o];
        } else {
            narrow[n_narrow] = shard_new(t->type == HAP_F32 && !wide_out ? type : t->type, t->rank,
                                         t->dim, (const int[]){0, 0});
            out[1][o] = &narrow[n_narrow++];
            floats += t->type == HAP_F32;
        }
    }
    for (int k = 1; floats > 0 && k >= 0; k--) { // narrow first: in place, the f32 run overwrites
        hap_op_call call = interp_call(n, in[k], out[k]);
        if (n->op == IR_OP_full) call.attr[2].i = (int64_t)out[k][0]->type;
        const char *why = hap_cpu_run(&now, &call);
        ck_assert_msg(!why, "%s: %s", op_case_text(c), why);
    }
    for (int o = 0; floats > 0 && o < n->n_out; o++) {
        const hap_tensor *a = out[0][o], *b = out[1][o];
        for (int64_t e = 0; e < a->elements && a->type == HAP_F32; e++) {
            double v = (double)((const float *)a->data)[e], want = wide_out ? v : round_to(type, v);
            double got = wide_out ? (double)((const float *)b->data)[e] : element(b, e);
            ck_assert_msg(want == got || (isnan(want) && isnan(got)),
                          "%s: element %lld of output %d is %.9g, not %.9g", op_case_text(c),
                          (long long)e, o, got, want);
        }
        if (a->type != HAP_F32) ck_assert(memcmp(a->data, b->data, (size_t)a->bytes) == 0);
    }
    for (int i = 0; i < n_narrow; i++)
        shard_free(&narrow[i]);
    return floats;
}

START_TEST(rows_on_narrow_storage)
{
    uint64_t rng = (uint64_t)_i + 1;
    int floats = 0, n_more = (int)(sizeof more_cases / sizeof *more_cases);
    bool logical = _i == IR_OP_logical_and || _i == IR_OP_logical_or || _i == IR_OP_logical_not;
    const char *left = ir_op_of((ir_op)_i)->dtypes;
    if (ir_op_of((ir_op)_i)->flags & IR_PORT) return; // between stages: stages_test, train_stages
    for (int i = 0; i < n_op_cases + n_more; i++) {
        const op_case *c = i < n_op_cases ? &op_cases[i] : &more_cases[i - n_op_cases];
        if (c->op != (ir_op)_i) continue;
        floats += row_agrees(c, HAP_BF16, false, &rng);
        floats += row_agrees(c, HAP_F16, false, &rng);
        if (strspn(left, "fw") == strlen(left)) row_agrees(c, HAP_BF16, true, &rng);
    }
    ck_assert_msg(floats > 0 || logical, "row %s was not run on floats", ir_op_of((ir_op)_i)->name);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("casts");
    TCase *t = tcase_create("casts");
    tcase_add_checked_fixture(t, setup, teardown);
    tcase_set_timeout(t, 60);
    tcase_add_test(t, mlp_in_bf16);
    tcase_add_test(t, gradients_in_bf16);
    tcase_add_test(t, tied_weight);
    tcase_add_test(t, autocast_lists);
    tcase_add_test(t, softmax_made_again);
    tcase_add_loop_test(t, invariants_of_examples, 0, 5);
    tcase_add_loop_test(t, training_follows_fp32, 0, 6);
    tcase_add_test(t, random_graphs);
    tcase_add_loop_test(t, rows_on_narrow_storage, 0, IR_N_OPS);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
