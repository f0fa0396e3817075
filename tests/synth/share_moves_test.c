// Equal conversions made once: random programs mean the same before and after, as terms; as many go
// as an oracle counts that knows terms alone; of GPT-2's plan no gather is left twice side by side.

#include <check.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "synth/passes/share_moves.h"
#include "synth/plan/search_limits.h"
#include "synth/search/synth.h"
#include "tests/support/toy_program.h"

static uint64_t state;

static int below(int n) // splitmix64
{
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return (int)((z ^ (z >> 31)) % (uint64_t)n);
}

// --- what a program means: every op with the terms of its operands

static hb_str move_text(hb_arena *a, const syn_instr *in, hb_str source)
{
    return hb_fmt(a, "%d.%d.%d(%.*s)", (int)in->kind, (int)in->coll, (int)in->form, HB_ARG(source));
}

typedef struct meaning {
    hb_str ops;          // of all ops, in order
    hb_map *move;        // texts of conversions whose result is written once
    int moves, distinct; // how many such conversions there are, and different ones
} meaning;

static meaning meaning_of(hb_arena *a, const syn_program *p)
{
    meaning m = {.move = hb_map_new(a)};
    hb_buf ops = {.arena = a};
    hb_str *term = HB_ARRAY(a, hb_str, p->tensors.n), *coming = HB_ARRAY(a, hb_str, p->instr.n);
    int *writes = HB_ARRAY(a, int, p->tensors.n);
    for (int t = 0; t < p->tensors.n; t++)
        if (p->tensors.p[t].role == SYN_ROLE_INPUT) term[t] = p->tensors.p[t].name;
    for (int i = 0; i < p->instr.n; i++)
        for (int k = 0; k < p->instr.p[i].n_out && p->instr.p[i].kind != SYN_WAIT; k++)
            writes[p->instr.p[i].out[k]]++;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_WAIT) {
            term[p->instr.p[in->start].out[0]] = coming[in->start];
            continue;
        }
        hb_buf text = {.arena = a};
        for (int k = 0; k < in->n_in; k++) {
            ck_assert_msg(term[in->in[k]].n > 0, "instruction %d reads what is not there", i);
            hb_printf(&text, " %.*s", HB_ARG(term[in->in[k]]));
        }
        hb_str x = hb_done(&text);
        if (in->kind == SYN_OP) {
            hb_str y = hb_fmt(a, "%.*s", HB_ARG(p->g->nodes.p[in->node].name));
            hb_printf(&ops, "%.*s <-%.*s\n", HB_ARG(y), HB_ARG(x));
            for (int k = 0; k < in->n_out; k++)
                term[in->out[k]] = y; // every toy node has a name of its own
            continue;
        }
        hb_str y = move_text(a, in, term[in->in[0]]);
        if (writes[in->out[0]] > 1) // it cannot stand for another: it is its own
            y = hb_fmt(a, "%.*s@%.*s", HB_ARG(y), HB_ARG(p->tensors.p[in->out[0]].name));
        if (writes[in->out[0]] == 1) {
            m.moves++;
            m.distinct += hb_map_get(m.move, y) < 0;
            hb_map_put(m.move, y, 0);
        }
        if (in->kind == SYN_START) {
            coming[i] = y;
            term[in->out[0]] = (hb_str){0};
        } else {
            term[in->out[0]] = y;
        }
    }
    m.ops = hb_done(&ops);
    return m;
}

// --- random programs

static toy *random_program(hb_arena *a, uint64_t seed)
{
    static const cost_coll colls[] = {COST_ALL_GATHER, COST_ALL_REDUCE};
    toy *t = toy_new(1 + (int)(seed % 3));
    state = seed;
    HB_VEC(int) value = {0};
    for (int i = 0; i < 2; i++)
        HB_PUSH(a, &value, toy_buffer(t, SYN_ROLE_INPUT, hb_fmt(a, "in%d", i).p, 4096));
    for (int i = 0; i < 60; i++) {
        const char *name = hb_fmt(a, "n%d", i).p;
        int x = value.p[below(value.n)], y = value.p[below(value.n)], what = below(10);
        if (what < 3) {
            HB_PUSH(a, &value, toy_op1(t, IR_OP_relu, name, x));
        } else if (what == 3 && t->p->tensors.p[y].role == SYN_ROLE_VALUE) { // y anew, in place
            toy_op(t, IR_OP_add, IR_FORWARD, name, 1, &y, 2, (const int[]){y, x});
        } else { // one or two conversions, waited for in either order
            int n = 1 + below(2), start[2], out[2];
            cost_coll coll = colls[below(2)];
            for (int k = 0; k < n; k++) {
                out[k] = toy_buffer(t, SYN_ROLE_VALUE, hb_fmt(a, "%s.%d", name, k).p, 4096);
                start[k] = toy_start(t, coll, name, x, out[k], -1);
            }
            for (int k = n - 1; k >= 0; k--) {
                toy_wait(t, start[k]);
                toy_op1(t, IR_OP_tanh, hb_fmt(a, "%s.use%d", name, k).p, out[k]);
                HB_PUSH(a, &value, out[k]);
            }
        }
    }
    t->p->home = HB_ARRAY(t->arena, int, t->g->tensors.n);
    memset(t->p->home, -1, sizeof *t->p->home * (size_t)t->g->tensors.n);
    return t;
}

START_TEST(programs_mean_the_same)
{
    int total = 0;
    for (uint64_t seed = 1; seed <= 400; seed++) {
        hb_arena *a = hb_arena_new();
        toy *t = random_program(a, seed);
        meaning before = meaning_of(a, t->p);
        int want = before.moves - before.distinct, n = t->p->instr.n;
        int near = seed % 2 ? INT_MAX : 6, found = syn_share_moves(t->p, near);
        if (near == INT_MAX)
            ck_assert_msg(found == want, "seed %d: %d of %d", (int)seed, found, want);
        else
            ck_assert_int_le(found, want);
        ck_assert_int_eq(t->p->instr.n, n - 2 * found);
        meaning after = meaning_of(a, t->p);
        ck_assert_msg(hb_str_eq(before.ops, after.ops), "seed %d:\n%.*s\nis now\n%.*s", (int)seed,
                      HB_ARG(before.ops), HB_ARG(after.ops));
        total += found;
        toy_free(t);
        hb_arena_free(a);
    }
    ck_assert_int_gt(total, 1000);
}
END_TEST

// The program that is changed is another one: what is fused there leaves the first one as it was.
START_TEST(the_other_program_is_left_alone)
{
    toy *t = toy_new(1);
    int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 4096), out[2];
    for (int k = 0; k < 2; k++) {
        out[k] = toy_buffer(t, SYN_ROLE_VALUE, k ? "b" : "a", 4096);
        toy_wait(t, toy_start(t, COST_ALL_GATHER, k ? "g" : "f", x, out[k], -1));
        toy_op1(t, IR_OP_relu, k ? "p" : "q", out[k]);
    }
    t->p->home = HB_ARRAY(t->arena, int, t->g->tensors.n);
    memset(t->p->home, -1, sizeof *t->p->home * (size_t)t->g->tensors.n);
    t->p->cluster->cls->capacity = 1 << 20;
    HB_ROOM(t->arena, &t->p->fusions, 4);
    int n = t->p->instr.n;
    syn_program *q = syn_with_shared_moves(t->p);
    ck_assert_ptr_ne(q, t->p);
    ck_assert_int_eq(t->p->instr.n, n);
    ck_assert_int_eq(q->instr.n, n - 2);
    ck_assert_ptr_ne(q->fusions.p, t->p->fusions.p);
    toy_free(t);
}
END_TEST

// --- plans

static const struct {
    const char *graph, *cluster;
    int64_t batch;
} plans[] = {{"examples/gpt2/graph.json", "clusters/laptop.yaml", 4},
             {"examples/gpt2-tiny/graph.json", "clusters/laptop3.yaml", 0},
             {"examples/bert-tiny/graph.json", "clusters/laptop2x2.yaml", 0}};

START_TEST(no_gather_is_made_twice)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_options io = {.batch = plans[_i].batch};
    ir_graph *g = ir_build(a, plans[_i].graph, &io, d);
    cl_cluster *c = cl_read(a, plans[_i].cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    ck_assert_int_eq(r.status, SYN_OK); // proved with it
    const syn_program *p = r.program;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *x = &p->instr.p[i];
        if (x->kind != SYN_START || x->n_in != 1) continue;
        bool written = false;
        for (int k = i + 1; k < p->instr.n && k < i + SYN_SHARE_NEAR && !written; k++) {
            const syn_instr *y = &p->instr.p[k];
            for (int j = 0; j < y->n_out && y->kind != SYN_WAIT; j++)
                written = written || y->out[j] == x->in[0] || y->out[j] == x->out[0];
            if (y->kind != SYN_START || y->n_in != 1) continue;
            ck_assert_msg(written || y->in[0] != x->in[0] || y->coll != x->coll ||
                              y->axes != x->axes ||
                              memcmp(&p->tensors.p[y->out[0]].state, &p->tensors.p[x->out[0]].state,
                                     sizeof(syn_state)) != 0,
                          "instructions %d and %d convert the same", i, k);
        }
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("share_moves");
    TCase *t = tcase_create("share_moves");
    tcase_set_timeout(t, 60);
    tcase_add_test(t, programs_mean_the_same);
    tcase_add_test(t, the_other_program_is_left_alone);
    tcase_add_loop_test(t, no_gather_is_made_twice, 0, (int)(sizeof plans / sizeof *plans));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
