// Variants of a step: micro-batches and recomputation.
//
//  random_graphs   a step in micro-batches, run on the CPU kernels, has the loss, gradients and
//  next
//                  parameters of the step itself; also with recomputation, where blocks repeat
//  structure       of mlp and gpt2-tiny: what is done how often, in which order, under which names
//  refused         batches that cannot be cut, with the place in the file
//  memory          large activations: plans of variants take less

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/search/synth.h"
#include "tests/support/graph_text.h"
#include "tests/support/interp.h"
#include "tests/support/random_graph.h"

static void must_verify(const ir_graph *g, const char *what)
{
    hb_str why = {0};
    ck_assert_msg(ir_verify(g, &why), "%s: %.*s", what, HB_ARG(why));
}

static hap_tensor *by_name(interp *x, hb_str name)
{
    return interp_get(x, name.p);
}

// Inputs and parameters of `to` (made there) as those of `from`, by name.
static void copy_leaves(interp *to, interp *from)
{
    for (int t = 0; t < to->g->tensors.n; t++) {
        if (to->g->tensors.p[t].kind == IR_VALUE) continue;
        const hap_tensor *x = by_name(from, to->g->tensors.p[t].name);
        ck_assert(x && x->bytes == to->t[t].bytes);
        if (x->bytes) memcpy(to->t[t].data, x->data, (size_t)x->bytes);
    }
}

static void fill_inputs(interp *x, random_source *r)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->kind != IR_INPUT) continue;
        for (int64_t k = 0; k < x->t[i].elements; k++) {
            if (t->dtype == IR_I64)
                ((int64_t *)x->t[i].data)[k] = random_below(r, 4);
            else
                ((float *)x->t[i].data)[k] = (float)(random_below(r, 2001) / 1000.0 - 1);
        }
    }
}

static double norm_of(const hap_tensor *x)
{
    double s = 0;
    for (int64_t k = 0; k < x->elements; k++)
        s += (double)((const float *)x->data)[k] * (double)((const float *)x->data)[k];
    return sqrt(s);
}

static double distance(const hap_tensor *x, const hap_tensor *y)
{
    double s = 0;
    ck_assert(x->elements == y->elements);
    for (int64_t k = 0; k < x->elements; k++) {
        double d = (double)((const float *)x->data)[k] - (double)((const float *)y->data)[k];
        s += d * d;
    }
    return sqrt(s);
}

// Factors of the unrolled step as they are found and as they are shared.
static void same_factors(hb_arena *a, const ir_graph *v)
{
    const ir_factors *f = ir_factorize(a, v);
    const ir_graph *u = ir_unroll_factors(a, v, v->micro_batches, &f);
    const ir_factors *own = ir_factorize(a, u);
    for (int k = 0; k < u->nodes.n; k++) {
        const ir_rule *x = f->rule[k], *y = own->rule[k];
        ck_assert(x->n_factors == y->n_factors && x->n_terms == y->n_terms);
        ck_assert(x->linear == y->linear && !memcmp(x->reducer, y->reducer, sizeof x->reducer));
        ck_assert(!memcmp(x->term, y->term, sizeof x->term));
        ck_assert(!memcmp(x->in, y->in, sizeof x->in) && !memcmp(x->out, y->out, sizeof x->out));
        for (int i = 0; i < x->n_factors; i++) {
            const ir_class *p = &f->cls[x->factor[i].cls], *q = &own->cls[y->factor[i].cls];
            ck_assert(x->factor[i].size == y->factor[i].size);
            ck_assert(x->factor[i].whole == y->factor[i].whole);
            ck_assert(p->size == q->size && p->grain == q->grain && p->whole == q->whole);
        }
    }
    for (int t = 0; t < u->tensors.n; t++)
        for (int d = 0; d < u->tensors.p[t].rank; d++) {
            const ir_dim_factors *x = &f->dim[t][d], *y = &own->dim[t][d];
            ck_assert_int_eq(x->n, y->n);
            for (int i = 0; i < x->n; i++)
                ck_assert(f->cls[x->cls[i]].size == own->cls[y->cls[i]].size);
        }
}

// One step of both, from the same start: the worst relative difference of loss and gradients.
static double difference(hb_arena *a, const ir_graph *g, const ir_graph *v, uint64_t seed)
{
    if (v->micro_batches > 1) {
        same_factors(a, v);
        v = ir_unroll(a, v, v->micro_batches);
        must_verify(v, "unrolled");
    }
    interp *x = interp_new(a, g, seed), *y = interp_new(a, v, seed);
    random_source r = {seed ^ 0x1234};
    fill_inputs(x, &r);
    copy_leaves(y, x);
    const char *why = interp_run(x);
    ck_assert_msg(!why, "seed %d: %s", (int)seed, why);
    why = interp_run(y);
    ck_assert_msg(!why, "seed %d, variant: %s", (int)seed, why);
    double loss = (double)interp_loss(x), scale = 0, worst;
    worst = fabs(loss - (double)interp_loss(y)) / (fabs(loss) + 1);
    ck_assert_int_eq(g->grads.n, v->grads.n);
    ck_assert_int_eq(g->updates.n, v->updates.n);
    for (int i = 1; i < g->grads.n; i += 2)
        scale = fmax(scale, norm_of(&x->t[g->grads.p[i]]));
    for (int i = 1; i < g->grads.n; i += 2) {
        const hap_tensor *p = &x->t[g->grads.p[i]], *q = &y->t[v->grads.p[i]];
        ck_assert(hb_str_eq(g->tensors.p[g->grads.p[i]].name, v->tensors.p[v->grads.p[i]].name));
        worst = fmax(worst, distance(p, q) / (norm_of(p) + 1e-2 * scale + 1e-6));
    }
    return worst;
}

START_TEST(random_graphs)
{
    int done = 0, refused = 0, wrong = 0;
    for (uint64_t seed = 0; seed < 240; seed++) {
        hb_arena *a = hb_arena_new();
        hb_diag *d = hb_diag_new(a);
        random_graph_options o = {.n_ops = 2 + (int)(seed % 10), .train = true};
        ir_graph *g = random_graph(a, seed, o);
        int64_t k = g->batch;
        if (seed % 2 && k % 2 == 0) k = 2;
        ir_graph *v = ir_variant(a, g, k, NULL, d);
        if (v) {
            must_verify(v, "variant");
            must_verify(g, "the step, afterwards");
            double diff = difference(a, g, v, seed);
            if (!(diff < 2e-3)) {
                printf("seed %d, %d micro-batches: differs by %.3g\n", (int)seed, (int)k, diff);
                wrong++;
            }
            done++;
        } else {
            ck_assert_int_gt(hb_diag_count(d), 0);
            refused++;
        }
        hb_arena_free(a);
    }
    ck_assert_int_eq(wrong, 0);
    ck_assert_msg(done > 2 * refused, "%d done, %d refused", done, refused);
}
END_TEST

static ir_graph *built(hb_arena *a, const char *path)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, path, &(ir_options){0}, d);
    if (!g) hb_diag_print(d, stderr);
    ck_assert(g);
    return g;
}

static const char *const models[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                     "examples/bert-tiny/graph.json",
                                     "tests/graphs/gpt2-dropout.json"};
static const int blocks_of[] = {0, 3, 3, 2};

// Blocks of a set of bits.
static bool *blocks(hb_arena *a, int n, unsigned set)
{
    bool *again = HB_ARRAY(a, bool, n + 1);
    for (int b = 0; b < n; b++)
        again[b] = set >> b & 1;
    return again;
}

// Masks too: the dropout of a chunk, and of what is computed again, is the step's.
START_TEST(models_agree)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = built(a, models[_i]);
    int n = g->n_blocks;
    ck_assert_int_eq(n, blocks_of[_i]);
    for (int64_t k = 1; k <= 4; k *= 2)
        for (unsigned set = 0; set < 1u << n; set++) {
            ir_graph *v = ir_variant(a, g, k, blocks(a, n, set), d);
            ck_assert(v);
            ck_assert((v == g) == (k == 1 && set == 0));
            must_verify(v, models[_i]);
            double diff = difference(a, g, v, 3);
            ck_assert_msg(diff < 1e-4, "%s, %d micro-batches, blocks %x again: differs by %.3g",
                          models[_i], (int)k, set, diff);
        }
    hb_arena_free(a);
}
END_TEST

static int count(const ir_graph *g, ir_op op)
{
    int n = 0;
    for (int i = 0; i < g->nodes.n; i++)
        n += g->nodes.p[i].op == op;
    return n;
}

// Node `name` of v stands there; it is of op `op`.
static const ir_node *stands(const ir_graph *v, const char *name, ir_turn turn, ir_op op)
{
    const ir_node *n = &v->nodes.p[graph_node(v, name)];
    ck_assert_msg(n->turn == turn && n->op == op, "%s", name);
    return n;
}

START_TEST(structure)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    for (int m = 0; m < 2; m++) {
        ir_graph *g = built(a, models[m]);
        for (int k = 2; k <= 4; k *= 2) {
            ir_graph *v = ir_variant(a, g, k, NULL, d), *u = ir_unroll(a, v, k);
            ck_assert_int_eq(count(v, IR_OP_linear), count(g, IR_OP_linear));
            ck_assert_int_eq(count(v, IR_OP_linear_dw), count(g, IR_OP_linear_dw));
            ck_assert_int_eq(count(v, IR_OP_slice), count(g, IR_OP_slice) + 2); // the two inputs
            ck_assert_int_eq(count(u, IR_OP_linear), k * count(g, IR_OP_linear));
            ck_assert_int_eq(count(u, IR_OP_linear_dw), k * count(g, IR_OP_linear_dw));
            ck_assert_int_eq(count(u, IR_OP_adam), count(g, IR_OP_adam));
            same_factors(a, v);
            ir_factors *f = ir_factorize(a, v);
            for (int t = 0; t < v->tensors.n; t++) {
                if (v->tensors.p[t].kind != IR_INPUT) continue;
                const ir_dim_factors *b = &f->dim[t][0]; // chunks in time, then the batch
                ck_assert_int_eq(b->n, 2);
                ck_assert_int_eq(f->cls[b->cls[0]].size, k);
                ck_assert(!f->cls[b->cls[1]].whole);
                ck_assert(f->cls[b->cls[1]].batch);
                ck_assert_str_eq(f->cls[b->cls[1]].letter, "b");
            }
        }
    }
    ir_graph *v = ir_variant(a, built(a, models[0]), 4, NULL, d);
    stands(v, "fc1#zero'dw", IR_BEFORE, IR_OP_full);
    stands(v, "fc1#part'dw", IR_SLOT, IR_OP_linear_dw);
    const ir_node *sum = stands(v, "fc1'dw", IR_SLOT, IR_OP_add);
    ck_assert(sum->adds && sum->in[0] == graph_tensor(v, "fc1#zero'dw"));
    ck_assert_int_eq(sum->in[1], graph_tensor(v, "fc1#part'dw"));
    const ir_node *part = stands(v, "image#part", IR_SLOT, IR_OP_slice);
    ck_assert_int_eq(part->step, 16);
    ck_assert_int_eq(ir_slot_attr(part, 0, 3).i, 0);
    ck_assert_int_eq(ir_slot_attr(part, 1, 3).i, 48);
    ck_assert_int_eq(ir_slot_attr(part, 2, 3).i, 64);
    stands(v, "count", IR_BEFORE, IR_OP_count); // of all labels: the mean of every chunk needs it
    stands(v, "loss", IR_AFTER, IR_OP_div);
    ir_graph *u = ir_unroll(a, v, 4); // sums go in the order of the micro-batches
    for (int i = 0; i < 4; i++) {
        char name[32], add[32];
        snprintf(name, sizeof name, "fc1#part'dw#%d", i);
        snprintf(add, sizeof add, i < 3 ? "fc1'dw#%d" : "fc1'dw", i);
        const ir_node *n = stands(u, add, IR_BEFORE, IR_OP_add);
        ck_assert_int_eq(n->in[1], graph_tensor(u, name));
        snprintf(add, sizeof add, i > 0 ? "fc1'dw#%d" : "fc1#zero'dw", i - 1);
        ck_assert_int_eq(n->in[0], graph_tensor(u, add));
    }
    hb_arena_free(a);
}
END_TEST

// Forward values that the backward pass reads, in bytes: what lives at the turn of the step.
static int64_t saved(const ir_graph *g)
{
    int64_t bytes = 0;
    bool *seen = HB_ARRAY(g->arena, bool, g->tensors.n);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++) {
            const ir_tensor *t = &g->tensors.p[g->nodes.p[i].in[k]];
            bool forward = t->producer >= 0 && g->nodes.p[t->producer].phase == IR_FORWARD;
            if (!forward || g->nodes.p[i].phase == IR_FORWARD || seen[g->nodes.p[i].in[k]])
                continue;
            seen[g->nodes.p[i].in[k]] = true;
            bytes += ir_elements(t) * ir_dtype_bytes(t->dtype);
        }
    return bytes;
}

START_TEST(recomputed)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = built(a, models[1]);
    int64_t before = saved(g);
    for (int n = 1; n <= 3; n++) {
        ir_graph *v = ir_recompute(a, g, blocks(a, 3, (1u << n) - 1));
        must_verify(v, "recompute");
        ck_assert_int_lt(saved(v), before);
        before = saved(v);
        for (int i = 0; i < g->nodes.n; i++) // the forward pass is as it was
            if (g->nodes.p[i].phase == IR_FORWARD)
                ck_assert(hb_str_eq(v->nodes.p[i].name, g->nodes.p[i].name));
        int again = graph_node(v, "transformer.h.0.mlp.c_fc'again");
        ck_assert(v->nodes.p[again].phase == IR_BACKWARD);
        ck_assert_int_eq(v->nodes.p[again].forward, graph_node(v, "transformer.h.0.mlp.c_fc"));
        // just before its block, behind the blocks that come before it on the way back
        ck_assert_int_gt(again, graph_node(v, "transformer.h.1.ln_1'dx"));
        ck_assert_int_lt(again, graph_node(v, "transformer.h.0.mlp.c_proj'dw"));
        // nothing that the backward pass does not read: the block's last matmul
        for (int i = 0; i < v->nodes.n; i++)
            ck_assert(!hb_str_is(v->nodes.p[i].name, "transformer.h.0.mlp.c_proj'again"));
    }
    hb_arena_free(a);
}
END_TEST

static void check_refused(const char *path, const ir_options *o, const char *want)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ck_assert(!ir_build(a, path, o, d));
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    hb_diag_print(d, out);
    fclose(out);
    ck_assert_msg(strstr(text, want) != NULL, "%s", text);
    free(text);
    hb_arena_free(a);
}

START_TEST(refused)
{
    check_refused(models[0], &(ir_options){.micro_batches = 3},
                  "graph.json:5:3: error: 3 micro-batches do not divide the batch of 64");
    check_refused(models[0], &(ir_options){.micro_batches = 128}, "do not divide the batch of 64");
    check_refused(models[0], &(ir_options){.batch = 7, .micro_batches = 2}, "the batch of 7");
    check_refused(models[0], &(ir_options){.recompute = "all"}, "no blocks");
    check_refused(models[1], &(ir_options){.recompute = "4"}, "3 blocks repeat");
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = graph_text(a, "w: param f32 4 4\n y = linear(w, w)\n"
                                "l = sum(y) dims=0,1\n loss l\n");
    ck_assert(!ir_variant(a, g, 2, NULL, d));
    ck_assert_int_eq(hb_diag_count(d), 1);
    hb_arena_free(a);
}
END_TEST

// A maximum over the batch needs it whole: what it is made from is done before, once.
START_TEST(whole_again)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = graph_text(a, "x: input f32 12 3\n w: param f32 3 5\n y = linear(x, w)\n"
                                "t = transpose(y) perm=1,0\n s = softmax(t)\n"
                                "u = transpose(s) perm=1,0\n z = mul(u, y)\n"
                                "l = sum(z) dims=0,1\n loss l\n");
    g->batch = 12;
    g->tensors.p[graph_tensor(g, "x")].batch = 0;
    for (int64_t k = 2; k <= 12; k += k == 2 ? 2 : 8) {
        ir_graph *v = ir_variant(a, g, k, NULL, d);
        ck_assert(v);
        must_verify(v, "softmax over the batch");
        stands(v, "y", IR_BEFORE, IR_OP_linear);
        stands(v, "l", IR_SLOT, IR_OP_add);
        ck_assert(difference(a, g, v, 5) < 1e-4);
    }
    hb_arena_free(a);
}
END_TEST

// The gradient that a matmul gives a batched weight is bf16: its chunks are added up in f32.
START_TEST(narrow_sums)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = graph_text_as(a,
                                "x: input f32 2 12 3\n w: param f32 2 3 5\n"
                                "y = matmul(x, w)\n u = mul(y, y)\n l = sum(u) dims=0,1,2\n"
                                "loss l\n",
                                IR_PRECISION_BF16, IR_F32);
    g->batch = 12;
    g->tensors.p[graph_tensor(g, "x")].batch = 1;
    ir_graph *v = ir_variant(a, g, 3, NULL, d);
    ck_assert(v);
    must_verify(v, "bf16");
    int sums = 0;
    for (int i = 0; i < v->nodes.n; i++) {
        const ir_node *n = &v->nodes.p[i];
        if (n->turn != IR_AFTER || n->op != IR_OP_cast) continue;
        int from = v->tensors.p[n->in[0]].producer;
        if (from < 0 || !v->nodes.p[from].adds) continue;
        const ir_node *sum = &v->nodes.p[from];
        if (v->tensors.p[n->out[0]].dtype != IR_BF16) continue;
        int part = v->tensors.p[sum->in[1]].producer;
        ck_assert(v->tensors.p[sum->out[0]].dtype == IR_F32);
        ck_assert(v->nodes.p[part].op == IR_OP_cast && v->nodes.p[part].turn == IR_SLOT);
        sums++;
    }
    ck_assert_int_eq(sums, 1);
    double diff = difference(a, g, v, 3);
    ck_assert_msg(diff < 2e-2, "%g", diff);
    hb_arena_free(a);
}
END_TEST

// Nothing can be done in chunks: the parameter holds the batch, and all that it is made from does.
START_TEST(all_whole)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = graph_text(a, "x: input f32 12 3\n v: param f32 12 3\n y = mul(x, v)\n"
                                "t = transpose(y) perm=1,0\n s = softmax(t)\n"
                                "u = mul(s, s)\n l = sum(u) dims=0,1\n loss l\n");
    g->batch = 12;
    g->tensors.p[graph_tensor(g, "x")].batch = 0;
    ir_graph *v = ir_variant(a, g, 3, NULL, d);
    if (v) { // what is left in the slot is right
        must_verify(v, "a batch that is a parameter's");
        ck_assert(difference(a, g, v, 5) < 1e-4);
    }
    ck_assert_int_eq(hb_diag_count(d), v ? 0 : 1);
    hb_arena_free(a);
}
END_TEST

// How blocks are asked for; what saved bytes and parts of blocks say of the graphs.
START_TEST(choices)
{
    static const struct {
        const char *text;
        unsigned set;
        const char *wrong;
    } asked[] = {{"all", 7, NULL},
                 {"0", 0, NULL},
                 {"2", 3, NULL},
                 {"0,2", 5, NULL},
                 {"1-2", 6, NULL},
                 {"2-2", 4, NULL},
                 {"0,1-1", 3, NULL},
                 {"4", 0, "4 blocks to recompute, but 3 blocks repeat"},
                 {"1,3", 0, "no block 3: 3 blocks repeat, from 0 on"},
                 {"1,", 0, "are all, how many, or a list like 0,2,5-7, not '1,'"},
                 {"2-1", 0, "a list like"},
                 {"1-", 0, "a list like"},
                 {"x", 0, "a list like"},
                 {"", 0, "a list like"}};
    hb_arena *a = hb_arena_new();
    ir_graph *g = built(a, models[1]);
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        hb_diag *d = hb_diag_new(a);
        const bool *again = ir_blocks_named(a, g, asked[i].text, d);
        ck_assert_msg(!again == !!asked[i].wrong, "%s", asked[i].text);
        if (again) {
            ir_graph *v = ir_variant(a, g, 1, again, d);
            unsigned set = 0;
            for (int b = 0; b < v->recomputed.n; b++)
                set |= 1u << v->recomputed.p[b];
            ck_assert_int_eq(set, asked[i].set);
            ck_assert_double_eq(ir_saved_bytes(v), (double)saved(v));
            ir_graph *w = ir_variant(a, g, 4, again, d);
            ck_assert(ir_saved_bytes(w) < ir_saved_bytes(v) / 3);
            ir_again before = ir_again_of(a, g), after = ir_again_of(a, v);
            for (int n = 0; n < v->nodes.n; n++) { // what is done again is what would have been
                const ir_node *x = &v->nodes.p[n];
                if (!x->again) continue;
                ck_assert(after.redo[n] && before.redo[x->forward] && !after.redo[x->forward]);
                ck_assert(set >> (x->block - 1) & 1);
                for (int o = 0; o < x->n_out; o++)
                    ck_assert_int_eq(after.freed[x->out[o]],
                                     before.freed[g->nodes.p[x->forward].out[o]]);
            }
            continue;
        }
        char *text = NULL;
        size_t n = 0;
        FILE *out = open_memstream(&text, &n);
        hb_diag_print(d, out);
        fclose(out);
        ck_assert_msg(strstr(text, asked[i].wrong) != NULL, "%s: %s", asked[i].text, text);
        free(text);
    }
    hb_arena_free(a);
}
END_TEST

// Layers that differ in sizes are blocks, too, and the wide one among them can be asked for.
START_TEST(unlike)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = graph_text(a, "x: input f32 8 6\nu: param f32 6 6\nv: param f32 6 6\n"
                                "w: param f32 6 20\nh: param f32 20 3\n"
                                "f = linear(x, u)\nfa = gelu(f)\ng = linear(fa, v)\nga = gelu(g)\n"
                                "k = linear(ga, w)\nka = gelu(k)\nl = linear(ka, h)\n"
                                "s = sum(l) dims=0,1\nloss s\n");
    g->batch = 8;
    ck_assert_int_eq(ir_blocks(g), 3);
    for (unsigned set = 0; set < 8; set++) {
        ir_graph *v = ir_variant(a, g, 1, blocks(a, 3, set), hb_diag_new(a));
        must_verify(v, "layers that differ");
        ck_assert_int_eq(v->nodes.n, g->nodes.n + (int)(set & 1) + (int)(set >> 1 & 1) +
                                         (int)(set >> 2)); // the matmul, not the gelu
        ck_assert(difference(a, g, v, 3) < 1e-5);
    }
    hb_arena_free(a);
}
END_TEST

static int64_t peak(hb_arena *a, const cl_cluster *c, const char *path, const ir_options *o)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, path, o, d);
    ck_assert(g);
    cost_model m = {.cluster = c, .math = COST_F32};
    syn_options options = syn_default_options();
    options.strategy = syn_strategy_named("dp-prop");
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &options);
    ck_assert_msg(r.status == SYN_OK, "%.*s", HB_ARG(r.why));
    int64_t most = 0;
    for (int k = 0; k < r.program->mesh->n_classes; k++)
        most = r.program->peak_bytes[k] > most ? r.program->peak_bytes[k] : most;
    return most;
}

START_TEST(memory)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    const cl_cluster *c = cl_read(a, "clusters/laptop.yaml", "clusters/devices.yaml", d);
    ck_assert(c);
    int64_t whole = peak(a, c, models[1], &(ir_options){.batch = 64});
    int64_t two = peak(a, c, models[1], &(ir_options){.batch = 64, .micro_batches = 2});
    int64_t four = peak(a, c, models[1], &(ir_options){.batch = 64, .micro_batches = 4});
    int64_t again = peak(a, c, models[1], &(ir_options){.batch = 64, .recompute = "all"});
    int64_t both =
        peak(a, c, models[1], &(ir_options){.batch = 64, .micro_batches = 2, .recompute = "all"});
    ck_assert_int_lt(two, 7 * whole / 10);
    ck_assert_int_lt(four, 8 * two / 10);
    ck_assert_int_lt(again, 7 * whole / 10);
    ck_assert_int_lt(both, two);
    ck_assert_int_lt(both, again);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("variant");
    TCase *t = tcase_create("variant");
    tcase_set_timeout(t, 100);
    tcase_add_test(t, random_graphs);
    tcase_add_loop_test(t, models_agree, 0, 4);
    tcase_add_test(t, structure);
    tcase_add_test(t, recomputed);
    tcase_add_test(t, refused);
    tcase_add_test(t, whole_again);
    tcase_add_test(t, narrow_sums);
    tcase_add_test(t, all_whole);
    tcase_add_test(t, choices);
    tcase_add_test(t, unlike);
    tcase_add_test(t, memory);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
