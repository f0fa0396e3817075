// Stages of a step (ir/stages.h).
//
//  same_numbers   the graphs of 2 to 4 stages, run on the CPU kernels with values carried from send
//                 to recv, leave the bits that the step leaves: of the models, of stacks of layers
//                 and of random graphs, in micro-batches and not, with recomputation
//  waits          each stage does its nodes in order and gets what it waits for (else the run
//  stops) structure      of gpt2-tiny: which port there is, where it stands; one home a parameter
//  layers         what is counted as a layer

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "ir/stages.h"
#include "ir/variant.h"
#include "tests/support/cases.h"
#include "tests/support/graph_text.h"
#include "tests/support/interp.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_models.h"

typedef struct message {
    bool there;
    const hap_tensor *value;
} message;

typedef struct run {
    hb_arena *a;
    const ir_stages *s;
    interp **x;    // by stage
    message **out; // by port and number
    int *at;       // by stage: next node
} run;

// The next node of a stage, unless it waits. False: it waits, or all is done.
static bool advance(run *r, int s)
{
    interp *x = r->x[s];
    if (r->at[s] == x->g->nodes.n) return false;
    const ir_node *n = &x->g->nodes.p[r->at[s]];
    if (n->op == IR_OP_send) {
        message *m = &r->out[n->attr[0].i][n->attr[1].i];
        ck_assert_msg(!m->there, "%.*s is sent twice", HB_ARG(n->name));
        ck_assert_int_eq(r->s->ports.p[n->attr[0].i].from, s);
        *m = (message){true, &x->t[n->in[0]]};
    } else if (n->op == IR_OP_recv) {
        const message *m = &r->out[n->attr[2].i][n->attr[3].i];
        ck_assert_int_eq(r->s->ports.p[n->attr[2].i].to, s);
        if (!m->there) return false;
        ck_assert(m->value->bytes == x->t[n->out[0]].bytes);
        if (m->value->bytes) memcpy(x->t[n->out[0]].data, m->value->data, (size_t)m->value->bytes);
    } else {
        const char *why = interp_run_node(x, r->at[s]);
        ck_assert_msg(!why, "%s", why ? why : "");
    }
    r->at[s]++;
    return true;
}

static void must_verify(const ir_graph *g)
{
    hb_str why = {0};
    ck_assert_msg(ir_verify(g, &why), "%.*s", HB_ARG(why));
}

static const ir_graph *unrolled(hb_arena *a, const ir_graph *g)
{
    return g->micro_batches > 1 ? ir_unroll(a, g, g->micro_batches) : g;
}

static void fill(interp *x, uint64_t seed)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->producer >= 0) continue;
        random_source r = {seed};
        for (size_t k = 0; k < t->name.n; k++) // by name: a stage's is the step's
            r.state = r.state * 31 + (unsigned char)t->name.p[k];
        for (int64_t k = 0; k < x->t[i].elements && t->kind != IR_CONST; k++) {
            if (t->dtype == IR_I64)
                ((int64_t *)x->t[i].data)[k] = random_below(&r, 4);
            else if (t->dtype == IR_F32)
                ((float *)x->t[i].data)[k] = (float)(random_below(&r, 2001) / 1000.0 - 1);
        }
    }
}

// Every parameter, moment and buffer has one home; it and the loss end as in the step.
static void compare(const interp *whole, run *r)
{
    int homes = 0, losses = 0, want = 0;
    for (int s = 0; s < r->s->n; s++) {
        const interp *x = r->x[s];
        homes += x->g->updates.n;
        losses += x->g->loss >= 0;
        for (int u = 0; u < x->g->updates.n; u++) {
            const ir_tensor *t = &x->g->tensors.p[x->g->updates.p[u].tensor];
            int next = -1;
            for (int k = 0; k < whole->g->updates.n; k++)
                if (hb_str_eq(whole->g->tensors.p[whole->g->updates.p[k].tensor].name, t->name))
                    next = whole->g->updates.p[k].next;
            ck_assert_int_ge(next, 0);
            const hap_tensor *a = &x->t[x->g->updates.p[u].next], *b = &whole->t[next];
            ck_assert(a->bytes == b->bytes);
            ck_assert_msg(a->bytes == 0 || memcmp(a->data, b->data, (size_t)a->bytes) == 0,
                          "%.*s differs", HB_ARG(t->name));
        }
        if (x->g->loss >= 0 && whole->g->loss >= 0)
            ck_assert(memcmp(x->t[x->g->loss].data, whole->t[whole->g->loss].data, 4) == 0);
    }
    want = whole->g->updates.n;
    ck_assert_int_eq(homes, want);
    ck_assert_int_eq(losses, whole->g->loss >= 0);
}

static void run_stages(hb_arena *a, const ir_graph *v, const ir_stages *s)
{
    run r = {.a = a, .s = s, .x = HB_ARRAY(a, interp *, s->n), .at = HB_ARRAY(a, int, s->n)};
    int k = v->micro_batches > 1 ? v->micro_batches : 1;
    r.out = HB_ARRAY(a, message *, s->ports.n + 1);
    for (int p = 0; p < s->ports.n; p++)
        r.out[p] = HB_ARRAY(a, message, k);
    interp *whole = interp_new(a, unrolled(a, v), 1);
    fill(whole, 5);
    for (int i = 0; i < s->n; i++) {
        must_verify(s->graph[i]);
        r.x[i] = interp_new(a, unrolled(a, s->graph[i]), 1);
        fill(r.x[i], 5);
    }
    const char *why = interp_run(whole);
    ck_assert_msg(!why, "%s", why ? why : "");
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < s->n; i++)
            while (advance(&r, i))
                any = true;
    }
    for (int i = 0; i < s->n; i++)
        ck_assert_msg(r.at[i] == r.x[i]->g->nodes.n, "stage %d waits at %.*s", i,
                      HB_ARG(r.x[i]->g->nodes.p[r.at[i]].name));
    compare(whole, &r);
}

// In n stages of about as many layers each.
static bool try_stages(hb_arena *a, const ir_graph *v, int n)
{
    hb_diag *d = hb_diag_new(a);
    int layers = ir_layers(a, v, NULL), first[IR_MAX_STAGES];
    if (layers < n) return false;
    for (int s = 0; s < n; s++)
        first[s] = s * layers / n;
    ir_stages *s = ir_stages_cut(a, v, n, first, d);
    if (!s) return false;
    run_stages(a, v, s);
    return true;
}

static ir_graph *built(hb_arena *a, const char *path, ir_precision p)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, path, &(ir_options){.precision = p}, d);
    ck_assert(g);
    return g;
}

static const char *const models[] = {
    "examples/mlp/graph.json",       "examples/gpt2-tiny/graph.json",
    "examples/bert-tiny/graph.json", "examples/bert-moe-tiny/graph.json",
    "examples/vit-tiny/graph.json",  "tests/graphs/gpt2-dropout.json",
    "tests/graphs/batch-norm.json"};

START_TEST(models_agree)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = built(a, models[_i], IR_PRECISION_FP32);
    bool *again = HB_ARRAY(a, bool, g->n_blocks + 1);
    for (int k = 1; k <= 4; k *= 2)
        for (int r = 0; r <= (g->n_blocks > 0); r++) {
            again[0] = r;
            ir_graph *v = ir_variant(a, g, k, again, d);
            if (!v && k > 1) continue; // moe: auxiliary statistics
            for (int n = 1; n <= 3; n++)
                ck_assert(try_stages(a, v, n) || n > ir_layers(a, g, NULL));
        }
    ir_graph *half = built(a, models[_i], IR_PRECISION_BF16);
    ck_assert(try_stages(a, ir_variant(a, half, 2, NULL, d), 2));
    hb_arena_free(a);
}
END_TEST

START_TEST(stacks_agree)
{
    static const int64_t width[] = {6, 8, 4, 8, 6, 8, 4};
    for (int n = 2; n <= 4; n++)
        for (int k = 1; k <= 4; k *= 2) {
            hb_arena *a = hb_arena_new();
            ir_graph *g = small_mlp(a, 8, 6, width);
            small_transformer m = {.batch = 4,
                                   .tokens = 3,
                                   .width = 8,
                                   .heads = 2,
                                   .hidden = 12,
                                   .vocabulary = 11,
                                   .n_layers = 4,
                                   .embedding = true,
                                   .norm = true,
                                   .tied = n % 2 == 0};
            ck_assert(try_stages(a, ir_variant(a, g, k, NULL, hb_diag_new(a)), n));
            ir_graph *t = small_attention(a, &m);
            ir_blocks(t);
            ck_assert(try_stages(a, ir_variant(a, t, k, NULL, hb_diag_new(a)), n));
            hb_arena_free(a);
        }
}
END_TEST

START_TEST(random_graphs)
{
    int done = 0, n_cases = test_cases(60, 240, 2000);
    for (int seed = 0; seed < n_cases; seed++) {
        hb_arena *a = hb_arena_new();
        ir_graph *g = random_graph(a, (uint64_t)seed,
                                   (random_graph_options){.n_ops = 4 + seed % 12, .train = true});
        ir_graph *v =
            ir_variant(a, g, seed % 3 == 1 && g->batch % 2 == 0 ? 2 : 1, NULL, hb_diag_new(a));
        if (v && try_stages(a, v, 2 + seed % 2)) done++;
        hb_arena_free(a);
    }
    ck_assert_int_gt(done, n_cases / 6);
}
END_TEST

START_TEST(structure)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *v = ir_variant(a, built(a, models[1], IR_PRECISION_FP32), 4, NULL, d);
    ck_assert_int_eq(ir_layers(a, v, NULL), 3);
    ir_stages *s = ir_stages_cut(a, v, 2, (const int[]){0, 2}, d);
    ck_assert(s);
    int up = 0, down = 0, before = 0, after = 0;
    for (int i = 0; i < s->ports.n; i++) {
        const ir_port *p = &s->ports.p[i];
        const ir_node *send = &s->graph[p->from]->nodes.p[p->send],
                      *recv = &s->graph[p->to]->nodes.p[p->recv];
        ck_assert(send->op == IR_OP_send && recv->op == IR_OP_recv);
        ck_assert(send->turn == p->turn && recv->turn == p->turn);
        ck_assert_int_eq(send->step, ir_in_slot(p->turn));
        up += p->turn == IR_SLOT && p->from == 0;
        down += p->turn == IR_SLOT_BACK && p->from == 1;
        before += p->turn == IR_BEFORE && p->from == 0;
        after += p->turn == IR_AFTER;
    }
    // The activation and its gradient; the tied table and its other gradient; the sum of squares
    // on its way up and the norm's scale back.
    ck_assert_int_eq(up, 1);
    ck_assert_int_eq(down, 1);
    ck_assert_int_eq(before, 1);
    ck_assert_int_eq(after, 3);
    ck_assert_int_eq(s->ports.n, 6);
    hb_arena_free(a);
}
END_TEST

START_TEST(layers)
{
    hb_arena *a = hb_arena_new();
    ck_assert_int_eq(ir_layers(a, built(a, models[0], IR_PRECISION_FP32), NULL), 2);
    ck_assert_int_eq(ir_layers(a, built(a, models[0], IR_PRECISION_BF16), NULL), 2);
    ck_assert_int_eq(ir_layers(a, built(a, models[1], IR_PRECISION_FP32), NULL), 3);
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("stages");
    TCase *t = tcase_create("stages");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, models_agree, 0, (int)(sizeof models / sizeof *models));
    tcase_add_test(t, stacks_agree);
    tcase_add_test(t, random_graphs);
    tcase_add_test(t, structure);
    tcase_add_test(t, layers);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
