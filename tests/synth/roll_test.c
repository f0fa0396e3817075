// Loops and families: small programs with known repetitions, random layered ones, and real plans of
// gpt2-tiny; all checked by replaying the rolled placement on the unrolled program.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/factors.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/roll.h"
#include "synth/passes/roll_shape.h"
#include "synth/search/synth.h"
#include "tests/support/arena_replay.h"
#include "tests/support/toy_program.h"

static toy *t;

static void teardown(void)
{
    if (t) toy_free(t);
    t = NULL;
}

static void assert_sound(hb_arena *a, const syn_program *p)
{
    hb_str error = replay_loops(a, p);
    ck_assert_msg(error.n == 0, "%.*s", HB_ARG(error));
    error = replay_arena(a, p);
    ck_assert_msg(error.n == 0, "%.*s", HB_ARG(error));
}

static void roll_and_place(void)
{
    syn_roll(t->p);
    syn_arena(t->p);
    assert_sound(t->arena, t->p);
}

static int in_loops(const syn_program *p)
{
    int n = 0;
    for (int k = 0; k < p->loops.n; k++)
        n += p->loops.p[k].len * p->loops.p[k].count;
    return n;
}

static const syn_family *family_of(int buffer)
{
    int f = t->p->tensors.p[buffer].family;
    return f < 0 ? NULL : &t->p->families.p[f];
}

enum { LAYERS = 6, WIDTH = 5 };

// x -> w x -> relu -> saved -> ... and back, from the last layer to the first.
static void layers(int count, int width, int *state, int *saved, int *weight)
{
    t = toy_new(2);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 3000);
    state[0] = x = toy_op1(t, IR_OP_tanh, "embed", x);
    for (int k = 0; k < count; k++) {
        weight[k] = toy_buffer(t, SYN_ROLE_HOME, hb_fmt(t->arena, "net.h.%d.w", k).p, 3000);
        int y = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(t->arena, "net.h.%d.y", k).p, 3000);
        toy_op(t, IR_OP_mul, IR_FORWARD, hb_fmt(t->arena, "net.h.%d.mul", k).p, 1, &y, 2,
               (int[]){x, weight[k]});
        saved[k] = toy_op1(t, IR_OP_gelu, hb_fmt(t->arena, "net.h.%d.act", k).p, y);
        for (int j = 0; j < width - 3; j++)
            y = toy_op1(t, IR_OP_neg, hb_fmt(t->arena, "net.h.%d.neg%d", k, j).p, j ? y : saved[k]);
        state[k + 1] = x = toy_op1(t, IR_OP_relu, hb_fmt(t->arena, "net.h.%d.relu", k).p, y);
    }
    int d = toy_op1(t, IR_OP_exp, "top", x);
    for (int k = count - 1; k >= 0; k--) {
        int dy = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(t->arena, "net.h.%d.dy", k).p, 3000);
        int dw = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(t->arena, "net.h.%d.dw", k).p, 3000);
        toy_op(t, IR_OP_gelu_bwd, IR_BACKWARD, hb_fmt(t->arena, "net.h.%d.act'dx", k).p, 1, &dy, 2,
               (int[]){d, saved[k]});
        toy_op(t, IR_OP_mul, IR_BACKWARD, hb_fmt(t->arena, "net.h.%d.mul'dw", k).p, 1, &dw, 2,
               (int[]){dy, state[k]});
        d = toy_op1(t, IR_OP_neg, hb_fmt(t->arena, "net.h.%d.mul'dx", k).p, dy);
        t->p->instr.p[t->p->instr.n - 1].in[0] = dy;
        toy_op(t, IR_OP_sgd, IR_UPDATE, hb_fmt(t->arena, "net.h.%d.w'next", k).p, 1, &weight[k], 2,
               (int[]){weight[k], dw});
    }
}

START_TEST(forward_and_backward_are_loops)
{
    int state[LAYERS + 1], saved[LAYERS], weight[LAYERS];
    layers(LAYERS, WIDTH, state, saved, weight);
    roll_and_place();
    ck_assert_int_eq(t->p->loops.n, 2);
    const syn_loop *f = &t->p->loops.p[0], *b = &t->p->loops.p[1];
    ck_assert_int_eq(f->first, 1);
    ck_assert_int_eq(f->len, WIDTH);
    ck_assert_int_eq(f->count, LAYERS);
    ck_assert_int_eq(b->first, 2 + WIDTH * LAYERS);
    ck_assert_int_eq(b->len, 4);
    ck_assert_int_eq(b->count, LAYERS);
    ck_assert(hb_str_is(f->name, "net.h") && hb_str_is(b->name, "net.h"));
    ck_assert_int_eq(f->dir, 1);
    ck_assert_int_eq(b->dir, -1);
}
END_TEST

// The list repeats from the middle of a layer on; repetitions begin with a layer all the same.
START_TEST(repetitions_begin_with_a_layer)
{
    for (int before = 0; before < 4; before++) {
        t = toy_new(1);
        int x = toy_op1(t, IR_OP_exp, "start", toy_buffer(t, SYN_ROLE_INPUT, "in", 1000));
        for (int j = 4 - before; j < 4; j++) // the end of a layer that is not one of the numbered
            x = toy_op1(t, (ir_op)(IR_OP_neg + j), hb_fmt(t->arena, "head.%d", j).p, x);
        for (int k = 0; k < 6; k++)
            for (int j = 0; j < 4; j++)
                x = toy_op1(t, (ir_op)(IR_OP_neg + j), hb_fmt(t->arena, "h.%d.op%d", k, j).p, x);
        roll_and_place();
        ck_assert_int_eq(t->p->loops.n, 1);
        ck_assert_int_eq(t->p->loops.p[0].first, 1 + before);
        ck_assert_int_eq(t->p->loops.p[0].count, 6);
        ck_assert(hb_str_is(t->p->loops.p[0].name, "h"));
        toy_free(t);
    }
    t = NULL;
}
END_TEST

// A pair of the last op of a layer and the first of the next: repetitions begin between others.
START_TEST(repetitions_part_no_pair)
{
    t = toy_new(1);
    int x = toy_op1(t, IR_OP_exp, "start", toy_buffer(t, SYN_ROLE_INPUT, "in", 1000));
    for (int k = 0; k < 6; k++)
        for (int j = 0; j < 4; j++)
            x = toy_op1(t, (ir_op)(IR_OP_neg + j), hb_fmt(t->arena, "h.%d.op%d", k, j).p, x);
    for (int k = 0; k < 5; k++)
        HB_PUSH(t->arena, &t->p->pairs, (syn_pair){.first = 1 + 4 * k + 3, .len = 2});
    syn_roll(t->p);
    hb_str error = replay_loops(t->arena, t->p);
    ck_assert_msg(error.n == 0, "%.*s", HB_ARG(error));
    ck_assert_int_eq(t->p->pairs.n, 5);
    ck_assert_int_eq(t->p->loops.n, 1);
    ck_assert_int_eq(t->p->loops.p[0].count, 5);
}
END_TEST

START_TEST(families_follow_the_layers)
{
    int state[LAYERS + 1], saved[LAYERS], weight[LAYERS];
    layers(LAYERS, WIDTH, state, saved, weight);
    roll_and_place();
    for (int k = 0; k < LAYERS;
         k++) { // also what only the backward loop knows from the last to the first
        ck_assert_int_eq(t->p->tensors.p[saved[k]].index, k);
        ck_assert_int_eq(t->p->tensors.p[weight[k]].index, k);
    }
    for (int k = 0; k <= LAYERS; k++) // the boundary values: one more than layers
        ck_assert_int_eq(t->p->tensors.p[state[k]].index, k);
    ck_assert_int_eq(family_of(state[0])->count, LAYERS + 1);
    ck_assert_int_eq(family_of(saved[0])->mod, LAYERS);
    ck_assert_int_eq(family_of(weight[0])->mod, LAYERS);
    const syn_loop *b = &t->p->loops.p[1];
    int dy = roll_at(t->p, b, 0, 0, 0); // of the last layer
    ck_assert_int_eq(t->p->tensors.p[dy].index, LAYERS - 1);
    ck_assert_int_eq(family_of(dy)->mod, 1);
    int d = roll_at(t->p, b, 0, 2, 0);      // handed from layer to layer
    ck_assert_int_eq(family_of(d)->mod, 1); // the one before is dead when it is written
    ck_assert_int_eq(family_of(d)->count, LAYERS + 1);
}
END_TEST

START_TEST(few_repetitions_are_loops_only_if_long)
{
    for (int width = 8; width < 20; width += 4) {
        int state[3], saved[2], weight[2];
        layers(2, width, state, saved, weight);
        roll_and_place();
        bool found =
            t->p->loops.n > 0 && t->p->loops.p[0].len == width && t->p->loops.p[0].count == 2;
        ck_assert_int_eq(found, width >= 12);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

// The instruction in the middle layer that does something else splits the loop in two.
static void layers_but_one(void (*change)(syn_instr *in, ir_node *n))
{
    int state[8], saved[7], weight[7];
    layers(7, WIDTH, state, saved, weight);
    int at = 1 + 3 * WIDTH + 1;
    change(&t->p->instr.p[at], &t->g->nodes.p[t->p->instr.p[at].node]);
    roll_and_place();
}

static void other_op(syn_instr *in, ir_node *n)
{
    (void)in;
    n->op = IR_OP_silu;
}

static void other_attr(syn_instr *in, ir_node *n)
{
    (void)in;
    n->attr[0].i = 1;
}

static void other_phase(syn_instr *in, ir_node *n)
{
    (void)in;
    n->phase = IR_BACKWARD;
}

static void nothing(syn_instr *in, ir_node *n)
{
    (void)in;
    (void)n;
}

START_TEST(what_differs_is_not_in_one_loop)
{
    static void (*const change[])(syn_instr *, ir_node *) = {nothing, other_op, other_attr,
                                                             other_phase};
    for (int k = 0; k < 4; k++) {
        layers_but_one(change[k]);
        int odd = 1 + 3 * WIDTH + 1;
        bool whole = false;
        for (int i = 0; i < t->p->loops.n; i++) {
            const syn_loop *l = &t->p->loops.p[i];
            whole = whole || (l->first <= odd && odd < l->first + l->len * l->count);
        }
        ck_assert_int_eq(whole, k == 0);
        ck_assert_int_ge(t->p->loops.n, k == 0 ? 2 : 3); // before, after, backward
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(other_shapes_and_states_are_not_in_one_loop)
{
    for (int how = 0; how < 5; how++) {
        int state[8], saved[7], weight[7];
        layers(7, WIDTH, state, saved, weight);
        syn_tensor *x = &t->p->tensors.p[saved[3]];
        if (how == 1) t->g->tensors.p[x->value].dim[0]++;
        if (how == 2) x->dtype = IR_BF16;
        if (how == 3) x->state.ax[0].kind = SYN_P;
        if (how == 4) t->p->tensors.p[weight[3]].role = SYN_ROLE_CONST;
        syn_roll(t->p);
        hb_str error = replay_loops(t->arena, t->p);
        ck_assert_msg(error.n == 0, "%.*s", HB_ARG(error));
        bool whole = t->p->loops.n > 0 && t->p->loops.p[0].count == 7;
        ck_assert_int_eq(whole, how == 0);
        toy_free(t);
    }
    t = NULL;
}
END_TEST

START_TEST(dropout_keys_may_differ)
{
    t = toy_new(1);
    int x = toy_op1(t, IR_OP_exp, "x", toy_buffer(t, SYN_ROLE_INPUT, "in", 1000));
    for (int k = 0; k < 5; k++)
        for (int j = 0; j < 3; j++) {
            x = toy_op1(t,
                        j == 1 ? IR_OP_dropout
                        : j    ? IR_OP_relu
                               : IR_OP_neg,
                        hb_fmt(t->arena, "h.%d.%d", k, j).p, x);
            t->g->nodes.p[t->g->nodes.n - 1].attr[ir_attr_index(IR_OP_dropout, "key")].i =
                j == 1 ? k : 0;
        }
    roll_and_place();
    ck_assert_int_eq(t->p->loops.n, 1);
    ck_assert_int_eq(t->p->loops.p[0].count, 5);
}
END_TEST

// A slot that holds one buffer in some repetitions and others in the rest belongs to no common
// loop.
START_TEST(a_slot_is_one_buffer_or_always_new)
{
    t = toy_new(1);
    int x = toy_op1(t, IR_OP_exp, "x", toy_buffer(t, SYN_ROLE_INPUT, "in", 1000)), w[8];
    for (int k = 0; k < 8; k++)
        w[k] = toy_buffer(t, SYN_ROLE_HOME, "w", 1000);
    for (int k = 0; k < 8; k++)
        for (int j = 0; j < 4; j++) {
            int y = toy_buffer(t, SYN_ROLE_VALUE, "y", 1000);
            toy_op(t,
                   j == 1   ? IR_OP_mul
                   : j == 2 ? IR_OP_sub
                            : IR_OP_add,
                   IR_FORWARD, hb_fmt(t->arena, "h.%d.%d", k, j).p, 1, &y, 2,
                   (int[]){x, j == 1 ? w[k < 5 ? k : 0] : w[0]});
            x = y;
        }
    roll_and_place();
    ck_assert_int_ge(t->p->loops.n, 1);
    ck_assert_int_eq(t->p->loops.p[0].first, 1);
    ck_assert_int_eq(t->p->loops.p[0].count, 5);
}
END_TEST

// Gathers start one layer early: the wait of a layer belongs to the start of the one before.
START_TEST(collectives_may_cross_repetitions)
{
    enum { N = 6 };
    t = toy_new(3);
    int x = toy_op1(t, IR_OP_exp, "x", toy_buffer(t, SYN_ROLE_INPUT, "in", 2000)), whole[N + 1],
        start[N + 1];
    for (int k = 0; k <= N; k++) {
        if (k < N) {
            int w = toy_buffer(t, SYN_ROLE_HOME, hb_fmt(t->arena, "h.%d.w", k).p, 2000);
            int scratch = toy_buffer(t, SYN_ROLE_SCRATCH, "scratch", 8000);
            whole[k] = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(t->arena, "h.%d.w_all", k).p, 6000);
            start[k] = toy_start(t, COST_ALL_GATHER, hb_fmt(t->arena, "h.%d.w", k).p, w, whole[k],
                                 scratch);
        }
        if (k == 0) continue;
        toy_wait(t, start[k - 1]);
        for (int j = 0; j < 3; j++) {
            int y = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(t->arena, "h.%d.y%d", k, j).p, 2000);
            toy_op(t,
                   j == 0   ? IR_OP_mul
                   : j == 1 ? IR_OP_add
                            : IR_OP_sub,
                   IR_FORWARD, hb_fmt(t->arena, "h.%d.op%d", k - 1, j).p, 1, &y, 2,
                   (int[]){x, whole[k - 1]});
            x = y;
        }
    }
    t->p->loss = x;
    roll_and_place();
    ck_assert_int_eq(t->p->loops.n, 1);
    ck_assert_int_ge(t->p->loops.p[0].count, N - 1);
    ck_assert_int_eq(t->p->loops.p[0].len, 5);
    ck_assert_int_eq(family_of(whole[1])->mod, 2);
    for (int r = 0; r < t->p->loops.p[0].count; r++) // the unrolled list still says exactly which
        for (int j = 0; j < 5; j++) {
            int at = t->p->loops.p[0].first + r * 5 + j;
            const syn_instr *w = &t->p->instr.p[at];
            if (w->kind == SYN_WAIT) ck_assert_int_eq(w->start, r == 0 ? 1 : at - 6);
        }
}
END_TEST

// Two slots begin with one buffer and go on with others: the first is a chain, the second
// contradicts it.
START_TEST(a_place_in_a_chain_is_for_one_buffer)
{
    t = toy_new(1);
    int x = toy_op1(t, IR_OP_exp, "x", toy_buffer(t, SYN_ROLE_INPUT, "in", 1000)), w[5], v[5];
    for (int k = 0; k < 5; k++) {
        w[k] = toy_buffer(t, SYN_ROLE_HOME, hb_fmt(t->arena, "h.%d.w", k).p, 1000);
        v[k] = k == 0 ? w[0] : toy_buffer(t, SYN_ROLE_HOME, hb_fmt(t->arena, "h.%d.v", k).p, 1000);
    }
    for (int k = 0; k < 5; k++)
        for (int j = 0; j < 2; j++) {
            int y = toy_buffer(t, SYN_ROLE_VALUE, "y", 1000);
            toy_op(t, j ? IR_OP_mul : IR_OP_add, IR_FORWARD, hb_fmt(t->arena, "h.%d.op%d", k, j).p,
                   1, &y, 2, (int[]){x, j ? v[k] : w[k]});
            x = y;
        }
    roll_and_place();
    ck_assert_int_eq(t->p->loops.n, 1);
    ck_assert_int_eq(family_of(w[0])->count, 5);
    for (int k = 1; k < 5; k++) {
        ck_assert_int_eq(t->p->tensors.p[w[k]].index, k);
        ck_assert_ptr_null(family_of(v[k]));
    }
}
END_TEST

START_TEST(rolling_again_changes_nothing)
{
    int state[LAYERS + 1], saved[LAYERS], weight[LAYERS];
    layers(LAYERS, WIDTH, state, saved, weight);
    roll_and_place();
    int64_t bytes = t->p->local_bytes[0];
    int n_loops = t->p->loops.n, n_families = t->p->families.n;
    roll_and_place();
    ck_assert_int_eq(t->p->local_bytes[0], bytes);
    ck_assert_int_eq(t->p->loops.n, n_loops);
    ck_assert_int_eq(t->p->families.n, n_families);
}
END_TEST

static void add_peaks(hb_arena *a, const syn_program *p, int64_t *unrolled, int64_t *rolled)
{
    int64_t(*off)[CL_MAX_CLASSES] = hb_alloc(a, sizeof *off * (size_t)(p->tensors.n + 1));
    arena_size size = arena_plan(a, p, false, off, NULL);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        *unrolled += size.sym + size.local[c];
        *rolled += p->peak_bytes[c];
    }
}

START_TEST(random_layers_are_rolled_soundly)
{
    int64_t unrolled = 0, rolled = 0;
    int total = 0, inside = 0;
    for (uint64_t seed = 1; seed <= 300; seed++) {
        int noise = seed % 3 == 0 ? (int)(seed % 5) : 0, n = 3 + (int)(seed % 9);
        t = toy_random_layers(seed, n, noise);
        roll_and_place();
        add_peaks(t->arena, t->p, &unrolled, &rolled);
        if (noise == 0 && n >= 5) {
            total += t->p->instr.n;
            inside += in_loops(t->p);
        }
        toy_free(t);
        t = NULL;
    }
    printf("layers: %.1f %% of instructions in loops; rolled peak %.4f of the unrolled one\n",
           100.0 * inside / total, (double)rolled / (double)unrolled);
    ck_assert_int_ge(100 * inside, 75 * total);
    ck_assert_msg((double)rolled < 1.1 * (double)unrolled, "rolling costs %g",
                  (double)rolled / (double)unrolled);
}
END_TEST

START_TEST(random_programs_without_structure)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        t = toy_random(seed, 10 + (int)(seed % 80));
        roll_and_place();
        toy_free(t);
        t = NULL;
    }
}
END_TEST

// Of a gradient "transformer.h.3.…": 3; -1: of no layer.
static int layer_of(const syn_program *p, int buffer)
{
    hb_str name = p->g->tensors.p[p->tensors.p[buffer].value].name;
    for (size_t i = 1; i < name.n; i++)
        if (name.p[i - 1] == '.' && name.p[i] >= '0' && name.p[i] <= '9') return atoi(name.p + i);
    return -1;
}

// Is there a bucket of gradients of two layers that leaves some of the last one's to the next?
static bool buckets_end_within(const syn_program *p)
{
    const syn_instr *last = NULL;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || in->coll != COST_ALL_REDUCE) continue;
        int end = last ? layer_of(p, last->in[last->n_in - 1]) : -1;
        if (end >= 0 && layer_of(p, last->in[0]) != end && layer_of(p, in->in[0]) == end)
            return true;
        last = in;
    }
    return false;
}

// Plans of gpt2-tiny, by strategy: forward, backward and update are loops, and rolling costs little
// memory. Where buckets end within layers the backward pass is none.
START_TEST(gpt2_tiny_plans)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, "examples/gpt2-tiny/graph.json", &(ir_options){0}, d);
    ck_assert_ptr_nonnull(g);
    ir_factors *f = ir_factorize(a, g);
    static const char *const clusters[] = {"clusters/laptop.yaml", "clusters/laptop2.yaml",
                                           "clusters/laptop-peers.yaml",
                                           "clusters/laptop2x2-peers.yaml"};
    for (int k = 0; k < 4; k++) {
        cl_cluster *c = cl_read(a, clusters[k], "clusters/devices.yaml", d);
        ck_assert_ptr_nonnull(c);
        cost_model m = {.cluster = c};
        for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++)
            for (int keep = 0; keep < 2; keep++) {
                syn_options o = syn_default_options();
                o.strategy = (syn_strategy)s;
                o.keep_grads = keep;
                syn_result r = syn_synthesize(a, g, f, &m, &o);
                ck_assert_msg(r.status == SYN_OK, "%s: %.*s", syn_strategy_name(o.strategy),
                              HB_ARG(r.why));
                syn_program *p = r.program;
                syn_roll(p);
                syn_arena(p);
                assert_sound(a, p);
                int least = buckets_end_within(p) ? 30 : 60; // %
                ck_assert_int_ge(100 * in_loops(p), least * p->instr.n);
                int64_t unrolled = 0, rolled = 0;
                add_peaks(a, p, &unrolled, &rolled);
                // Between peers: where pages of SEG_SYM are larger than most of these buffers.
                double most = (k < 2 ? 1.1 : 1.2) * (double)unrolled;
                ck_assert_msg((double)rolled < most, "rolling costs %g",
                              (double)rolled / (double)unrolled);
            }
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("roll");
    TCase *c = tcase_create("roll");
    tcase_add_checked_fixture(c, NULL, teardown);
    tcase_set_timeout(c, 60);
    tcase_add_test(c, forward_and_backward_are_loops);
    tcase_add_test(c, repetitions_begin_with_a_layer);
    tcase_add_test(c, repetitions_part_no_pair);
    tcase_add_test(c, families_follow_the_layers);
    tcase_add_test(c, few_repetitions_are_loops_only_if_long);
    tcase_add_test(c, what_differs_is_not_in_one_loop);
    tcase_add_test(c, other_shapes_and_states_are_not_in_one_loop);
    tcase_add_test(c, dropout_keys_may_differ);
    tcase_add_test(c, a_slot_is_one_buffer_or_always_new);
    tcase_add_test(c, collectives_may_cross_repetitions);
    tcase_add_test(c, a_place_in_a_chain_is_for_one_buffer);
    tcase_add_test(c, rolling_again_changes_nothing);
    tcase_add_test(c, random_layers_are_rolled_soundly);
    tcase_add_test(c, random_programs_without_structure);
    tcase_add_test(c, gpt2_tiny_plans);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
