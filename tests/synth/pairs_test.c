// Pairs in plans: what they are, that they pay, and that the checker refuses what is right as calls
// one after the other and wrong beside each other.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ir/graph.h"
#include "synth/certify/record.h"
#include "synth/price/moves.h"
#include "synth/price/pair_cost.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/pair_via.h"
#include "tests/support/plan_facts.h"
#include "tests/support/small_models.h"

typedef struct planned {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cost_model m;
    syn_result r;
} planned;

static void search(planned *p, syn_strategy strategy, const syn_pins *pins, bool no_pairs)
{
    syn_options o = syn_default_options();
    o.strategy = strategy;
    o.pins = pins;
    o.no_pairs = no_pairs;
    p->r = syn_synthesize(p->a, p->g, p->f, &p->m, &o);
    ck_assert_msg(p->r.status != SYN_FAILED_CHECK, "%.*s", HB_ARG(p->r.why));
}

static void read_example(planned *p, const char *graph, const char *cluster, int64_t batch)
{
    p->a = hb_arena_new();
    hb_diag *d = hb_diag_new(p->a);
    ir_options o = {.batch = batch};
    p->g = ir_build(p->a, hb_fmt(p->a, "examples/%s/graph.json", graph).p, &o, d);
    ck_assert_ptr_nonnull(p->g);
    p->f = ir_factorize(p->a, p->g);
    p->m.cluster = cl_read(p->a, hb_fmt(p->a, "clusters/%s.yaml", cluster).p, NULL, d);
    ck_assert_ptr_nonnull(p->m.cluster);
}

// Tensor parallel blocks between cuts of the batch: gathers before, scatters behind them.
static const syn_pins *megatron(planned *p)
{
    hb_diag *d = hb_diag_new(p->a);
    hb_str pin[2] = {HB_STR("transformer.h.*.mlp.c_fc=S(2)"), HB_STR("transformer.h.*.add*=S(0)")};
    const syn_pins *pins = syn_pins_read(p->a, p->g, p->f, pin, 2, d);
    ck_assert_ptr_nonnull(pins);
    return pins;
}

// A transformer block whose matmuls take about as long as what they exchange, on GPUs that write
// into each other's memory.
static void draw(planned *p, int seed)
{
    device d[4] = {{0.1, 40, 0.6, 50, 0},
                   {0.1, 40, 0.6, 50, 0},
                   {seed % 3 ? 0.1 : 0.05, 40, 0.6, 50, 0},
                   {seed % 3 ? 0.1 : 0.05, 40, 0.6, 50, 0}};
    p->a = hb_arena_new();
    p->g = small_attention(p->a, &(small_transformer){.batch = 16,
                                                      .tokens = 64,
                                                      .width = 512,
                                                      .heads = 4,
                                                      .hidden = 2048 << seed % 2,
                                                      .vocabulary = 512,
                                                      .n_layers = 1 + seed % 3,
                                                      .norm = true});
    p->f = ir_factorize(p->a, p->g);
    int machines = seed % 5 == 4 ? 2 : 1;
    cl_cluster *c = small_cluster(p->a, machines, 4 / machines, d, 0.1, 200);
    for (int m = 0; m < machines; m++)
        c->machine[m].peer = true;
    p->m.cluster = c;
}

// --- what pairs are ---

static int matmuls_of(const syn_program *p, const syn_pair *x, int *op)
{
    int n = 0;
    for (int i = x->first; i < x->first + x->len; i++)
        if (p->instr.p[i].kind == SYN_OP) op[n++] = i;
    return n;
}

static void look_at(const syn_program *p, int k)
{
    const syn_pair *x = &p->pairs.p[k], *next = x + 1;
    int op[SYN_PAIR_OPS], n = matmuls_of(p, x, op), start = syn_pair_start(p, x);
    const syn_instr *s = &p->instr.p[start];
    bool consumer = syn_is_consumer(p, x);
    ck_assert_int_eq(s->kind, SYN_START);
    ck_assert_int_eq(s->form, x->form);
    ck_assert_int_eq(s->n_in, 1);
    ck_assert_int_eq(x->len, n + (consumer ? 2 : 1));
    ck_assert_int_ge(n, 1);
    ck_assert(s->coll == COST_ALL_TO_ALL || consumer == (s->coll == COST_ALL_GATHER));
    if (consumer) {
        ck_assert_int_eq(p->instr.p[start + 1].kind, SYN_WAIT);
        ck_assert_int_eq(p->instr.p[start + 1].start, start);
    }
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[op[i]];
        ir_op made = p->g->nodes.p[in->node].op;
        ck_assert(made == IR_OP_linear || made == IR_OP_room_linear);
        ck_assert_int_eq(consumer ? in->in[0] : in->out[0], consumer ? s->out[0] : s->in[0]);
    }
    int members = s->coll == COST_ALL_REDUCE ? 1 : syn_group_size(p->mesh, s->axes);
    for (int d = 0; d < members; d++) {
        int there = 0;
        for (int i = 0; i < x->n_chunks; i++)
            there += x->chunk[i][0] == d;
        ck_assert_int_ge(there, 1);
    }
    for (int i = 0; i < x->n_chunks; i++)
        ck_assert(x->chunk[i][0] >= 0 && x->chunk[i][0] < members &&
                  (x->chunk[i][1] >= 1 || (i > 0 && x->chunk[i][1] < 0)));
    ck_assert_double_gt(x->total, 0);
    ck_assert_double_lt(x->total, x->sequential * 0.98 + 1e-12);
    ck_assert_double_ge(x->total, x->transfer * (1 - 1e-9));
    ck_assert_double_ge(syn_pair_hidden(p, x), 0);
    ck_assert_double_le(syn_pair_hidden(p, x), 1);
    for (int g = 0; g < p->fusions.n; g++) // in none of them
        ck_assert(p->fusions.p[g].first + p->fusions.p[g].len <= x->first ||
                  p->fusions.p[g].first >= x->first + x->len);
    if (k + 1 < p->pairs.n) ck_assert_int_le(x->first + x->len, next->first);
    for (int l = 0; l < p->loops.n; l++) { // in one repetition, alike in all
        const syn_loop *loop = &p->loops.p[l];
        int at = x->first - loop->first, last = at + x->len - 1;
        if (at < 0 || at >= loop->len * loop->count) continue;
        ck_assert_int_eq(at / loop->len, last / loop->len);
        int alike = 0;
        for (int j = 0; j < p->pairs.n; j++) {
            int other = p->pairs.p[j].first - loop->first;
            if (other < 0 || other >= loop->len * loop->count ||
                other % loop->len != at % loop->len)
                continue;
            alike +=
                p->pairs.p[j].n_chunks == x->n_chunks &&
                memcmp(p->pairs.p[j].chunk, x->chunk, sizeof *x->chunk * (size_t)x->n_chunks) == 0;
        }
        ck_assert_int_eq(alike, loop->count);
    }
}

typedef struct seen {
    int pairs, gathers, scatters, sums, in_loops;
    int to_experts, from_experts; // rows that come to rooms, and leave them
} seen;

static void look(const syn_program *p, seen *s)
{
    for (int k = 0; k < p->pairs.n; k++) {
        look_at(p, k);
        cost_coll coll = p->instr.p[syn_pair_start(p, &p->pairs.p[k])].coll;
        const syn_instr *last = &p->instr.p[p->pairs.p[k].first + p->pairs.p[k].len - 1];
        s->pairs++;
        if (coll == COST_ALL_TO_ALL) {
            s->to_experts +=
                last->kind == SYN_OP && p->g->nodes.p[last->node].op == IR_OP_room_linear;
            s->from_experts += p->instr.p[p->pairs.p[k].first].kind == SYN_OP;
        }
        s->gathers += coll == COST_ALL_GATHER;
        s->scatters += coll == COST_REDUCE_SCATTER;
        s->sums += coll == COST_ALL_REDUCE;
        for (int l = 0; l < p->loops.n; l++)
            s->in_loops += p->pairs.p[k].first >= p->loops.p[l].first &&
                           p->pairs.p[k].first < p->loops.p[l].first + p->loops.p[l].len;
    }
}

START_TEST(examples_have_pairs)
{
    planned p = {0};
    seen s = {0};
    read_example(&p, "gpt2-tiny", "laptop-peers", 0);
    search(&p, SYN_AUTO, megatron(&p), false);
    double with = p.r.predicted_sec;
    look(p.r.program, &s);
    ck_assert_int_gt(s.gathers, 0);
    ck_assert_int_gt(s.scatters, 0);
    ck_assert_int_gt(s.in_loops, 0);
    search(&p, SYN_AUTO, megatron(&p), true);
    ck_assert_int_eq(p.r.program->pairs.n, 0);
    ck_assert_double_lt(with, p.r.predicted_sec);
    hb_arena_free(p.a);
    p = (planned){0};
    s = (seen){0};
    read_example(&p, "bert-tiny", "laptop", 16); // no peers: all-reduces of the library in parts
    search(&p, syn_strategy_named("tp"), NULL, false);
    look(p.r.program, &s);
    ck_assert_int_gt(s.sums, 0);
    ck_assert_int_eq(s.sums, s.pairs);
    hb_arena_free(p.a);
}
END_TEST

// --- what they cost ---

typedef struct both {
    int n, faster, infeasible;
} both;

// With pairs a synthesis finds the plan that one without finds, and takes it unless another is
// faster.
static void with_and_without(hb_arena *a, ir_graph *g, const cost_model *m, bool vary, both *b)
{
    syn_options o = syn_default_options();
    syn_result r[2];
    for (int off = 0; off < 2; off++) {
        o.no_pairs = off;
        r[off] = vary ? syn_plan(a, g, m, &o) : syn_synthesize(a, g, ir_factorize(a, g), m, &o);
        ck_assert_int_ne(r[off].status, SYN_FAILED_CHECK);
    }
    b->infeasible += r[1].status != SYN_OK;
    if (r[1].status != SYN_OK) return;
    ck_assert_int_eq(r[0].status, SYN_OK);
    ck_assert_int_eq(r[1].program->pairs.n, 0);
    if (!vary) ck_assert_double_eq_tol(r[0].plain_sec, r[1].predicted_sec, 1e-12);
    ck_assert_double_le(r[0].predicted_sec, r[1].predicted_sec * (1 + 1e-12));
    b->n++;
    b->faster += r[0].predicted_sec < r[1].predicted_sec * (1 - 1e-9);
}

// With memory to spare, and with less than that plan takes.
static void less_and_less(planned *p, bool vary, both *b)
{
    static const double part[] = {1, 0.9, 0.8, 0.65};
    cl_cluster *c = hb_copy(p->a, p->m.cluster, sizeof *c);
    p->m.cluster = c;
    int64_t full[CL_MAX_CLASSES], most = 0;
    search(p, SYN_AUTO, NULL, true);
    for (int k = 0; k < p->r.program->mesh->n_classes; k++)
        most = p->r.program->peak_bytes[k] > most ? p->r.program->peak_bytes[k] : most;
    for (int k = 0; k < c->n_classes; k++)
        full[k] = c->cls[k].capacity;
    for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
        for (int k = 0; k < c->n_classes; k++)
            c->cls[k].capacity = i == 0 ? full[k] : (int64_t)(part[i] * (double)most);
        with_and_without(p->a, p->g, &p->m, vary, b);
    }
}

START_TEST(pairs_only_add_plans)
{
    both b = {0};
    int n = test_cases(1, 10, 10);
    for (int seed = 0; seed < n; seed++) {
        planned p = {0};
        draw(&p, seed);
        less_and_less(&p, false, &b);
        hb_arena_free(p.a);
    }
    planned p = {0};
    read_example(&p, "gpt2-tiny", "laptop-peers", 0);
    less_and_less(&p, true, &b);
    hb_arena_free(p.a);
    ck_assert_int_ge(b.n, 3 * n);
    ck_assert_int_ge(2 * b.faster, n);
}
END_TEST

// --- what the checker refuses ---

typedef struct refusals {
    int apart, form; // faults that calls one by one do not have
    int pairs;
    int passed, passed_early; // chunks by way of another member, taken and refused
} refusals;

static record *copy_of(hb_arena *a, const record *r)
{
    record *x = hb_copy(a, r, sizeof *r);
    x->calls.p = hb_copy(a, r->calls.p, sizeof *r->calls.p * (size_t)r->calls.n);
    x->tensors.p = hb_copy(a, r->tensors.p, sizeof *r->tensors.p * (size_t)r->tensors.n);
    x->calls.cap = x->calls.n;
    return x;
}

static void drop_call(record *r, int at)
{
    r->calls.n--;
    memmove(&r->calls.p[at], &r->calls.p[at + 1], sizeof *r->calls.p * (size_t)(r->calls.n - at));
}

static bool accepts(const planned *p, const record *r, hb_str *why)
{
    return syn_check(p->a, p->g, p->f, r, why);
}

static void refuses(const planned *p, const record *r, const char *what)
{
    hb_str why;
    ck_assert_msg(!accepts(p, r, &why), "accepted, but expected: %s", what);
    ck_assert_msg(strstr(hb_str_n(p->a, why.p, why.n).p, what) != NULL, "%.*s, not: %s",
                  HB_ARG(why), what);
}

static bool one_by_one(const planned *p, record *r, int from, int to)
{
    hb_str why;
    drop_call(r, to);
    drop_call(r, from);
    return accepts(p, r, &why);
}

static void faulty_groups(const planned *p, const record *r, int from)
{
    const rec_call *k = &r->calls.p[from];
    for (int d = 0; d < k->n_chunks; d++) {
        record *x = copy_of(p->a, r);
        rec_call *y = &x->calls.p[from];
        y->chunk = hb_copy(p->a, k->chunk, sizeof *k->chunk * (size_t)k->n_chunks);
        y->n_chunks = 0;
        for (int i = 0; i < k->n_chunks; i++)
            if (k->chunk[i][0] != k->chunk[d][0])
                memcpy(y->chunk[y->n_chunks++], k->chunk[i], sizeof *k->chunk);
        refuses(p, x, y->chunk[0][1] < 0 ? "and weight -" : "no chunk of distance");
        y->n_chunks = k->n_chunks;
        memcpy(y->chunk, k->chunk, sizeof *k->chunk * (size_t)k->n_chunks);
        y->chunk[d][1] = 0;
        refuses(p, x, "and weight 0");
        y->chunk[d][1] = 1;
        y->chunk[d][0] = r->n_ranks;
        refuses(p, x, "has distance");
        y->chunk[d][0] = -1;
        refuses(p, x, "has distance -1");
    }
}

// Every chunk by way of every member: who asks the checker gets the answer of the definition. All
// chunks twice, so that there are parts that come before others.
static void faulty_ways(const planned *p, const record *r, int from, refusals *s)
{
    const rec_call *k = &r->calls.p[from];
    bool gathers = k[1].kind == REC_START && k[1].coll == COST_ALL_GATHER;
    int64_t n = 0;
    for (int g = 0; g < k->n_chunks; g++)
        n = k->chunk[g][0] >= n ? k->chunk[g][0] + 1 : n;
    for (int g = 0; g < 2 * k->n_chunks; g++)
        for (int64_t via = -1; via <= n; via++) {
            hb_str why;
            record *x = copy_of(p->a, r);
            rec_call *y = &x->calls.p[from];
            y->n_chunks = 2 * k->n_chunks;
            y->chunk = hb_alloc(p->a, sizeof *k->chunk * (size_t)y->n_chunks);
            for (int i = 0; i < 2; i++)
                memcpy(y->chunk + i * k->n_chunks, k->chunk,
                       sizeof *k->chunk * (size_t)k->n_chunks);
            y->chunk[g][2] = via;
            bool no_member = via < 0 || via >= n || !gathers || y->chunk[g][0] == via;
            if (via != 0 && (no_member || y->chunk[g][0] == 0)) {
                refuses(p, x, "goes by way of");
            } else if (pair_via_fits((const int64_t(*)[3])y->chunk, y->n_chunks, g, via)) {
                ck_assert_msg(accepts(p, x, &why), "%.*s", HB_ARG(why));
                s->passed += via > 0;
            } else {
                refuses(p, x, "is passed on before");
                s->passed_early++;
            }
        }
}

static void faulty_marks(const planned *p, const record *r, int from, int to)
{
    hb_str why;
    record *x = copy_of(p->a, r);
    drop_call(x, to);
    ck_assert(!accepts(p, x, &why));
    x = copy_of(p->a, r);
    drop_call(x, from);
    refuses(p, x, "ends no pair");
    x = copy_of(p->a, r); // one call less, at either end
    rec_call k = x->calls.p[to];
    x->calls.p[to] = x->calls.p[to - 1];
    x->calls.p[to - 1] = k;
    if (to - from != 4 || x->calls.p[from + 1].kind != REC_START) // a consumer of two matmuls
        refuses(p, x, "ends what is neither");
    x = copy_of(p->a, r);
    k = x->calls.p[from];
    x->calls.p[from] = x->calls.p[from + 1];
    x->calls.p[from + 1] = k;
    refuses(p, x, "ends what is neither");
    x = copy_of(p->a, r); // one call more
    k = x->calls.p[to];
    x->calls.p[to] = x->calls.p[to + 1];
    x->calls.p[to + 1] = k;
    ck_assert(!accepts(p, x, &why));
}

static bool is_written(const record *r, int from, int to, int id)
{
    for (int k = from + 1; k < to; k++) {
        const rec_call *c = &r->calls.p[k];
        for (int i = 0; i < c->n_out; i++)
            if (c->out[i] == id) return true;
        if (c->kind == REC_START && c->scratch == id) return true;
    }
    return false;
}

static int tensors_of(const record *r, int from, int to, int *id)
{
    int n = 0;
    for (int k = from + 1; k < to; k++) {
        const rec_call *c = &r->calls.p[k];
        for (int i = 0; i < c->n_in + c->n_out + (c->kind == REC_START && c->scratch >= 0); i++) {
            int t = i < c->n_in              ? c->in[i]
                    : i < c->n_in + c->n_out ? c->out[i - c->n_in]
                                             : c->scratch;
            bool known = t < 0;
            for (int j = 0; j < n; j++)
                known = known || id[j] == t;
            if (!known) id[n++] = t;
        }
    }
    return n;
}

// An all-reduce over its source.
static bool sums_in_place(const record *r, int from, int to, int x, int y)
{
    for (int k = from + 1; k < to; k++) {
        const rec_call *c = &r->calls.p[k];
        if (c->kind == REC_START && c->coll == COST_ALL_REDUCE &&
            ((c->in[0] == x && c->out[0] == y) || (c->in[0] == y && c->out[0] == x)))
            return true;
    }
    return false;
}

// What a pair writes, on the bytes of something else of the pair.
static void faulty_places(const planned *p, const record *r, int from, int to, refusals *s)
{
    int id[64], n = tensors_of(r, from, to, id);
    for (int i = 0; i < n; i++)
        for (int k = 0; k < n; k++) {
            const rec_tensor *w = &r->tensors.p[id[i]], *o = &r->tensors.p[id[k]];
            hb_str why;
            if (i == k || !is_written(r, from, to, id[i]) || w->seg != o->seg ||
                memcmp(w->off, o->off, sizeof w->off) == 0)
                continue;
            if (sums_in_place(r, from, to, id[i], id[k])) continue;
            record *x = copy_of(p->a, r); // both at the end of the segment
            for (int c = 0; c < x->n_classes; c++) {
                int64_t end = ((w->seg ? x->local_bytes[c] : x->sym_bytes) + 4095) / 4096 * 4096;
                x->tensors.p[id[i]].off[c] = x->tensors.p[id[k]].off[c] = end;
            }
            x->sym_bytes = 4 * (x->sym_bytes + 4096);
            for (int c = 0; c < x->n_classes; c++)
                x->local_bytes[c] = 4 * (x->local_bytes[c] + 4096);
            ck_assert_msg(!accepts(p, x, &why), "tensor %d on %d", id[i], id[k]);
            bool beside = strstr(hb_str_n(p->a, why.p, why.n).p, "is written beside") != NULL;
            s->apart += one_by_one(p, x, from, to) && beside;
        }
}

static void faulty_form(const planned *p, const record *r, int from, int to, refusals *s)
{
    for (int k = from + 1; k < to; k++) {
        if (r->calls.p[k].kind != REC_START || r->calls.p[k].coll != COST_ALL_GATHER) continue;
        record *x = copy_of(p->a, r);
        x->calls.p[k].form = COST_SENDRECV;
        refuses(p, x, "there is no pair of this");
        s->form += one_by_one(p, x, from, to);
    }
}

static void refuse_all(const planned *p, refusals *s)
{
    record *r = record_from_plan(p->a, p->r.program), *bare = copy_of(p->a, r);
    hb_str why;
    ck_assert(accepts(p, r, &why));
    for (int k = 0; k < bare->calls.n;)
        if (bare->calls.p[k].kind == REC_OVERLAP || bare->calls.p[k].kind == REC_OVERLAPPED)
            drop_call(bare, k);
        else
            k++;
    ck_assert_int_eq(bare->calls.n, r->calls.n - 2 * p->r.program->pairs.n);
    ck_assert(accepts(p, bare, &why));
    for (int from = 0; from < r->calls.n; from++) {
        if (r->calls.p[from].kind != REC_OVERLAP || s->pairs > 60) continue;
        int to = from;
        while (r->calls.p[to].kind != REC_OVERLAPPED)
            to++;
        s->pairs++;
        faulty_groups(p, r, from);
        faulty_ways(p, r, from, s);
        faulty_marks(p, r, from, to);
        faulty_places(p, r, from, to, s);
        faulty_form(p, r, from, to, s);
    }
}

// Columns [3 4 e] of 16 x 32 rows become rows: a message has 12 runs a row. At 100 ns each
// they are what the transfer takes. The first block's rows are whole, or a gather of them may be in
// the pair in its place.
START_TEST(short_stretches_of_an_all_to_all)
{
    planned p = {0};
    read_example(&p, "gpt2-tiny", "laptop-peers", 8);
    hb_diag *d = hb_diag_new(p.a);
    hb_str pin[4] = {HB_STR("transformer.h.*.ln_1=R"), HB_STR("transformer.h.*.attn.c_attn=S(e)"),
                     HB_STR("transformer.h.*.attn.sdpa=S(0)"), HB_STR("transformer.add=R")};
    search(&p, SYN_AUTO, syn_pins_read(p.a, p.g, p.f, pin, 4, d), false);
    ck_assert_int_eq(p.r.status, SYN_OK);
    syn_program *s = p.r.program;
    syn_pair *x = NULL;
    for (int k = 0; k < s->pairs.n; k++)
        if (s->instr.p[syn_pair_start(s, &s->pairs.p[k])].coll == COST_ALL_TO_ALL)
            x = &s->pairs.p[k];
    ck_assert_ptr_nonnull(x);
    const syn_instr *start = &s->instr.p[syn_pair_start(s, x)];
    const syn_axis_state *rows = &s->tensors.p[start->out[0]].state.ax[0];
    ck_assert(rows->kind == SYN_S && rows->dim == 0);
    const syn_cut *cut = &s->mesh->cuts.p[rows->cut];
    int64_t least = cut->table[0], most = least, n = s->mesh->n_ranks;
    for (int r = 1; r < n; r++) {
        least = cut->table[r] < least ? cut->table[r] : least;
        most = cut->table[r] > most ? cut->table[r] : most;
    }
    // What the one with the fewest rows sends, or the one with the most gets.
    int64_t busiest = cut->size - least > (n - 1) * most ? cut->size - least : (n - 1) * most;
    double before = x->transfer, want = 12.0 * 32 * (double)busiest * 1e-7;
    ck_assert_double_lt(before, 0.5 * want);
    cl_cluster slow = *p.m.cluster;
    slow.cls = HB_ARRAY(p.a, cl_class, slow.n_classes);
    for (int c = 0; c < slow.n_classes; c++) {
        slow.cls[c] = p.m.cluster->cls[c];
        slow.cls[c].run_put = 1e-7;
    }
    cost_model m = {.cluster = &slow};
    syn_price_pairs(s, syn_costs_new(p.a, &m, s->mesh, p.g, p.f));
    ck_assert_double_ge(x->transfer, want);
    ck_assert_double_le(x->transfer, 1.1 * want);
    hb_arena_free(p.a);
}
END_TEST

START_TEST(random_plans)
{
    seen s = {0};
    refusals bad = {0};
    for (int seed = 0; seed < 12; seed++) {
        planned p = {0};
        draw(&p, seed);
        search(&p, (syn_strategy)(seed % syn_n_strategies), NULL, false);
        if (p.r.status == SYN_OK) {
            look(p.r.program, &s);
            refuse_all(&p, &bad);
        }
        hb_arena_free(p.a);
    }
    ck_assert_int_gt(s.pairs, 10);
    ck_assert_int_gt(s.gathers + s.scatters, 0);
    ck_assert_int_gt(s.sums, 0);
}
END_TEST

START_TEST(only_pairs_are_refused)
{
    planned p = {0};
    refusals bad = {0};
    read_example(&p, "gpt2-tiny", "laptop-peers", 16);
    search(&p, SYN_AUTO, megatron(&p), false);
    refuse_all(&p, &bad);
    hb_arena_free(p.a);
    ck_assert_int_gt(bad.pairs, 0);
    ck_assert_int_gt(bad.apart, 0);
    ck_assert_int_gt(bad.form, 0);
    ck_assert_int_gt(bad.passed, 10);
    ck_assert_int_gt(bad.passed_early, 10);
}
END_TEST

// Rows on their way to experts and back beside the experts' products; one rank has no expert.
START_TEST(experts_have_pairs)
{
    planned p = {.a = hb_arena_new()};
    seen s = {0};
    refusals bad = {0};
    device dev[4] = {{0.002, 100, 0.2, 0.2, 0},
                     {0.0015, 100, 0.2, 0.2, 0},
                     {0.0015, 100, 0.2, 0.2, 0},
                     {0.0003, 100, 0.2, 0.2, 0}};
    hb_diag *d = hb_diag_new(p.a);
    cl_cluster *c = small_cluster(p.a, 1, 4, dev, 0.2, 0.1);
    hb_str pin[5] = {HB_STR("*.experts.*_proj=S(0)"), HB_STR("*.experts.*to_rooms=S(0)"),
                     HB_STR("*.experts.*2.rooms=S(0)"), HB_STR("*.experts.*rooms'dx=S(0)"),
                     HB_STR("*.experts.expert_linear'dx=S(0)")};
    p.g = ir_build(p.a, "tests/graphs/experts.json", &(ir_options){.expert_room = 5}, d);
    ck_assert_ptr_nonnull(p.g);
    p.f = ir_factorize(p.a, p.g);
    c->machine[0].peer = true;
    p.m.cluster = c;
    search(&p, syn_strategy_named("hap"), syn_pins_read(p.a, p.g, p.f, pin, 5, d), false);
    ck_assert_int_eq(p.r.status, SYN_OK);
    look(p.r.program, &s);
    ck_assert_int_eq(s.to_experts, 4); // forward and backward of two layers
    ck_assert_int_eq(s.from_experts, 4);
    for (int k = 0; k < p.r.program->pairs.n; k++)
        ck_assert_double_gt(syn_pair_hidden(p.r.program, &p.r.program->pairs.p[k]), 0.3);
    refuse_all(&p, &bad);
    ck_assert_int_gt(bad.pairs, 0);
    ck_assert_int_gt(bad.apart, 0);
    hb_arena_free(p.a);
}
END_TEST

// The gather of columns, its wait and a product of them: rows of one member are not one range.
START_TEST(inner_rows_are_refused)
{
    planned p = {0};
    int tried = 0;
    read_example(&p, "gpt2-tiny", "laptop-peers", 0);
    hb_diag *d = hb_diag_new(p.a);
    hb_str pin[2] = {HB_STR("transformer.h.*.mlp.c_fc=S(2)"), HB_STR("transformer.h.*.add*=S(2)")};
    search(&p, syn_strategy_named("tp"), syn_pins_read(p.a, p.g, p.f, pin, 2, d), false);
    ck_assert_int_eq(p.r.status, SYN_OK);
    record *r = record_from_plan(p.a, p.r.program);
    int64_t(*chunk)[3] = hb_alloc(p.a, sizeof *chunk * (size_t)r->n_ranks);
    for (int i = 0; i < r->n_ranks; i++)
        chunk[i][0] = i, chunk[i][1] = 1, chunk[i][2] = 0;
    for (int k = 0; k + 1 < r->calls.n; k++) {
        const rec_call *wait = &r->calls.p[k], *op = wait + 1;
        int at = 0;
        while (at < k && (r->calls.p[at].kind != REC_START || r->calls.p[at].event != wait->event))
            at++;
        const rec_call *start = &r->calls.p[at];
        if (wait->kind != REC_WAIT || start->coll != COST_ALL_GATHER || !cost_is_put(start->form) ||
            op->kind != REC_OP || op->op != IR_OP_linear || op->in[0] != start->out[0] ||
            start[-1].kind == REC_OVERLAP)
            continue;
        record *x = copy_of(p.a, r);
        x->calls.p = hb_room(p.a, sizeof *x->calls.p, r->calls.n + 2);
        memcpy(x->calls.p, r->calls.p, sizeof *r->calls.p * (size_t)at);
        memcpy(&x->calls.p[at], start + 1, sizeof *start * (size_t)(k - at - 1));
        x->calls.p[k - 1] =
            (rec_call){.kind = REC_OVERLAP, .n_chunks = r->n_ranks, .chunk = chunk, .scratch = -1};
        x->calls.p[k] = *start;
        x->calls.p[k + 1] = *wait;
        x->calls.p[k + 2] = *op;
        x->calls.p[k + 3] = (rec_call){.kind = REC_OVERLAPPED, .scratch = -1};
        memcpy(&x->calls.p[k + 4], op + 1, sizeof *op * (size_t)(r->calls.n - k - 2));
        x->calls.n = r->calls.n + 2;
        refuses(&p, x, "is not the outermost");
        tried++;
    }
    ck_assert_int_gt(tried, 0);
    hb_arena_free(p.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pairs");
    TCase *t = tcase_create("pairs");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, examples_have_pairs);
    tcase_add_test(t, experts_have_pairs);
    tcase_add_test(t, short_stretches_of_an_all_to_all);
    tcase_add_test(t, pairs_only_add_plans);
    tcase_add_test(t, only_pairs_are_refused);
    tcase_add_test(t, inner_rows_are_refused);
    tcase_add_test(t, random_plans);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
