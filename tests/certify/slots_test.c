// Micro-batches as a repeated block of the program (ir/micro_batches.c).
//
//  proved     plans of the sample models in 2, 3 and 8 micro-batches, by every strategy: the whole
//             record, all micro-batches of it, is the step's
//  simulated  what a plan is said to take is what it takes with its micro-batches one after the
//             other, each instruction by itself
//  bits       one rank computes, bit by bit, what the unrolled step computes, in memory that is
//             garbage at first
//  mutants    every single fault in such a record is found; faults of sums and of micro-batches
//             among them

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/certify/modp.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/synth.h"
#include "tests/certify/mutate.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/record_exec.h"

static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                     "examples/bert-moe-tiny/graph.json",
                                     "tests/graphs/gpt2-dropout.json"};
static const char *const clusters[] = {"clusters/laptop1.yaml", "clusters/laptop.yaml",
                                       "clusters/laptop2x2.yaml", "clusters/a100x2-v100x2.yaml"};
enum { N_GRAPHS = sizeof graphs / sizeof *graphs, N_CLUSTERS = sizeof clusters / sizeof *clusters };

static ir_graph *built(hb_arena *a, const char *path, int64_t batch, int64_t k)
{
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, path, &(ir_options){.batch = batch, .micro_batches = k}, d);
    if (!g) hb_diag_print(d, stderr);
    ck_assert(g);
    return g;
}

static const cl_cluster *cluster(hb_arena *a, const char *path)
{
    hb_diag *d = hb_diag_new(a);
    const cl_cluster *c = cl_read(a, path, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(c);
    return c;
}

static syn_result planned(hb_arena *a, ir_graph *g, const cl_cluster *c, int strategy)
{
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.strategy = (syn_strategy)strategy;
    o.small_param = 0;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    ck_assert_msg(r.status != SYN_FAILED_CHECK, "%.*s", HB_ARG(r.why));
    return r;
}

static void must_hold(hb_arena *a, const syn_program *p, const char *name)
{
    hb_str why;
    record *rec = record_from_plan(a, p);
    ck_assert_msg(syn_check(a, p->g, p->f, rec, &why), "%s: %.*s", name, HB_ARG(why));
    ck_assert_msg(syn_modp(a, p->g, p->f, rec, 3, &why), "%s: %.*s", name, HB_ARG(why));
}

// Instructions [first, end) once more at the end of u, with their pairs and fusions; in the first
// or last micro-batch, or in none, also what is done there alone.
static void add_range(hb_arena *a, syn_program *u, const syn_program *p, int first, int end,
                      bool first_one, bool last, int *to)
{
    for (int i = first; i < end; i++) {
        syn_instr in = p->instr.p[i];
        if ((in.turn == IR_AFTER && !last) || (in.turn == IR_BEFORE && !first_one)) continue;
        for (int c = 0; c < CL_MAX_CLASSES; c++)
            in.sec[c] /= syn_instr_slots(p, &in);
        if (in.kind == SYN_WAIT) in.start = to[in.start];
        in.turn = IR_BEFORE;
        to[i] = u->instr.n;
        HB_PUSH(a, &u->instr, in);
    }
    for (int k = 0; k < p->pairs.n; k++) {
        syn_pair x = p->pairs.p[k];
        if (x.first < first || x.first >= end) continue;
        x.first = to[x.first];
        HB_PUSH(a, &u->pairs, x);
    }
    for (int k = 0; k < p->fusions.n; k++) {
        syn_fusion x = p->fusions.p[k];
        if (x.first < first || x.first >= end) continue;
        x.first = to[x.first];
        HB_PUSH(a, &u->fusions, x);
    }
}

// Seconds of the program with its micro-batches one after the other.
static double one_by_one(hb_arena *a, const syn_program *p)
{
    const syn_slot slot = syn_slot_of(p);
    ir_graph *g = hb_copy(a, p->g, sizeof *g);
    syn_program *u = hb_copy(a, p, sizeof *p);
    int *to = HB_ARRAY(a, int, p->instr.n + 1);
    u->arena = a;
    g->micro_batches = 1;
    u->g = g;
    memset(&u->instr, 0, sizeof u->instr);
    memset(&u->pairs, 0, sizeof u->pairs);
    memset(&u->fusions, 0, sizeof u->fusions);
    add_range(a, u, p, 0, slot.first, true, true, to);
    for (int m = 0; m < slot.times; m++)
        add_range(a, u, p, slot.first, slot.end, m == 0, m == slot.times - 1, to);
    add_range(a, u, p, slot.end, p->instr.n, true, true, to);
    cost_timeline t;
    return syn_simulate_in(a, u, &t, false);
}

START_TEST(proved)
{
    static const int times[] = {2, 3, 8};
    const char *graph = graphs[_i / N_CLUSTERS], *on = clusters[_i % N_CLUSTERS];
    int n = 0;
    for (int s = 0; s < syn_n_strategies; s++) {
        hb_arena *a = hb_arena_new();
        int k = times[(s + _i) % 3];
        ir_graph *g = built(a, graph, 24, k);
        syn_result r = planned(a, g, cluster(a, on), s);
        if (r.status == SYN_OK) {
            const syn_program *p = r.program;
            hb_str name = hb_fmt(a, "%s on %s, %s, %d micro-batches", graph, on,
                                 syn_strategy_name((syn_strategy)s), k);
            must_hold(a, p, name.p);
            double all = one_by_one(a, p), said = r.predicted_sec;
            bool exact = k <= 3;
            ck_assert_msg(fabs(said - all) <= (exact ? 1e-9 : 1e-2) * all,
                          "%s: said to take %.6g ms, takes %.6g", name.p, said * 1e3, all * 1e3);
            n++;
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(n, 0);
}
END_TEST

// --- bits ---

static void run_all(exec *x, const record *r, const interp *before)
{
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind > REC_CONST) {
            const char *bad = exec_call(x, c);
            ck_assert_msg(!bad, "call %d: %s", c, bad);
            continue;
        }
        for (int t = 0; t < before->g->tensors.n; t++)
            if (hb_str_eq(before->g->tensors.p[t].name, k->name))
                exec_set(x, k->in[0], &before->t[t]);
    }
}

static void fill_inputs(interp *x, uint64_t seed)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->kind != IR_INPUT) continue;
        for (int64_t k = 0; k < x->t[i].elements; k++) {
            if (t->dtype == IR_I64)
                ((int64_t *)x->t[i].data)[k] = test_below(&seed, 4);
            else if (t->dtype == IR_F32)
                ((float *)x->t[i].data)[k] = (float)test_uniform(&seed, -1, 1);
        }
    }
}

// A plan for one rank against the unrolled step, run by the kernels alone.
static void same_bits(hb_arena *a, ir_graph *g, const char *name)
{
    const ir_graph *u = ir_unroll(a, g, g->micro_batches);
    interp *before = interp_new(a, u, 7), *after = interp_new(a, u, 7);
    fill_inputs(before, 11);
    for (int t = 0; t < u->tensors.n; t++)
        memcpy(after->t[t].data, before->t[t].data, (size_t)before->t[t].bytes);
    const char *why = interp_run(after);
    ck_assert_msg(!why, "%s: %s", name, why);
    syn_result r = planned(a, g, cluster(a, "clusters/laptop1.yaml"), SYN_AUTO);
    ck_assert(r.status == SYN_OK);
    must_hold(a, r.program, name);
    record *rec = record_from_plan(a, r.program);
    exec *x = exec_new(a, rec, after->now);
    const char whole[SYN_MAX_AXES] = {0};
    run_all(x, rec, before);
    for (int i = 0; i < g->updates.n; i++) {
        int t = g->updates.p[i].tensor;
        double d = exec_differs(x, r.program->home[t], whole, &after->t[u->updates.p[i].next]);
        ck_assert_msg(d <= 0, "%s: %.*s is off by %g", name, HB_ARG(g->tensors.p[t].name), d);
    }
    if (g->loss >= 0) ck_assert(exec_differs(x, r.program->loss, whole, &after->t[u->loss]) <= 0);
    exec_free(x);
}

START_TEST(bits)
{
    hb_arena *a = hb_arena_new();
    same_bits(a, built(a, graphs[_i], 8, 4), graphs[_i]);
    hb_arena_free(a);
}
END_TEST

START_TEST(random_bits)
{
    int done = 0;
    for (uint64_t seed = 0; seed < (uint64_t)test_cases(12, 60, 400); seed++) {
        hb_arena *a = hb_arena_new();
        random_graph_options o = {.n_ops = 2 + (int)(seed % 10), .train = true};
        ir_graph *g = random_graph(a, seed, o);
        int64_t k = seed % 2 && g->batch % 2 == 0 ? 2 : g->batch;
        ir_graph *v = k > 1 ? ir_variant(a, g, k, NULL, hb_diag_new(a)) : NULL;
        if (v && (done += v->micro_batches > 1))
            same_bits(a, v, hb_fmt(a, "seed %d, %d micro-batches", (int)seed, (int)k).p);
        hb_arena_free(a);
    }
    ck_assert_int_gt(done, test_cases(2, 20, 100));
}
END_TEST

// --- mutants ---

static bool accepted(hb_arena *a, const syn_program *p, const record *r)
{
    hb_str why;
    return syn_check(a, p->g, p->f, r, &why);
}

static record *copy_of(hb_arena *a, const record *r)
{
    record *w = hb_copy(a, r, sizeof *w);
    w->calls.p = hb_copy(a, r->calls.p, sizeof *r->calls.p * (size_t)r->calls.n);
    w->calls.cap = r->calls.n;
    return w;
}

static void put(record *r, int from, int to) // call `from` goes to place `to`
{
    rec_call moved = r->calls.p[from];
    if (to < from)
        memmove(&r->calls.p[to + 1], &r->calls.p[to], sizeof moved * (size_t)(from - to));
    else
        memmove(&r->calls.p[from], &r->calls.p[from + 1], sizeof moved * (size_t)(to - from));
    r->calls.p[to] = moved;
}

// A sum left out, made twice, in another order; one that begins too late; a micro-batch in place of
// another.
static void sums_and_slots(hb_arena *a, const syn_program *p, const record *r)
{
    int adds[8], n_adds = 0, zero = -1, sum = -1, slices = 0;
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind == REC_OP && k->op == IR_OP_add && k->out[0] == k->in[0] &&
            (sum < 0 || k->out[0] == sum) && n_adds < 8) {
            sum = k->out[0];
            adds[n_adds++] = c;
        }
    }
    ck_assert_int_eq(n_adds, 3);
    for (int c = 0; c < adds[0]; c++)
        if (r->calls.p[c].kind == REC_OP && r->calls.p[c].op == IR_OP_full &&
            r->calls.p[c].out[0] == sum)
            zero = c;
    ck_assert_int_ge(zero, 0);
    for (int i = 0; i < 3; i++) {
        record *w = copy_of(a, r);
        put(w, adds[i], w->calls.n - 1);
        w->calls.n--;
        ck_assert_msg(!accepted(a, p, w), "sum %d is left out", i);
        w = copy_of(a, r);
        rec_call twice = w->calls.p[adds[i]];
        HB_PUSH(a, &w->calls, twice);
        put(w, w->calls.n - 1, adds[i] + 1);
        ck_assert_msg(!accepted(a, p, w), "sum %d is made twice", i);
    }
    record *w = copy_of(a, r);
    put(w, zero, adds[0] + 1);
    ck_assert_msg(!accepted(a, p, w), "zero behind the first sum");
    w = copy_of(a, r);
    w->calls.p[zero].kind = REC_BATCH;
    ck_assert_msg(!accepted(a, p, w), "a sum that begins anywhere");
    for (int c = 0; c < r->calls.n; c++) {
        const rec_call *k = &r->calls.p[c];
        if (k->kind != REC_OP || k->op != IR_OP_slice || k->attr[1].i == 0) continue;
        w = copy_of(a, r);
        ir_attr *attr = hb_copy(a, k->attr, sizeof *attr * IR_MAX_ATTR);
        attr[2].i -= attr[1].i;
        attr[1].i = 0;
        w->calls.p[c].attr = attr;
        ck_assert_msg(!accepted(a, p, w), "call %d: the first micro-batch once more", c);
        slices++;
    }
    ck_assert_int_ge(slices, 2);
}

START_TEST(mutants)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = built(a, graphs[_i], 24, 3);
    syn_result r = planned(a, g, cluster(a, "clusters/laptop.yaml"), SYN_AUTO);
    ck_assert(r.status == SYN_OK);
    record *rec = record_from_plan(a, r.program);
    int total = 0, wrong = 0;
    ck_assert(accepted(a, r.program, rec));
    sums_and_slots(a, r.program, rec);
    for (int k = 0; k < MUT_N; k++)
        for (int seed = 1; seed <= test_cases(1, 4, 20); seed++) {
            hb_arena *one = hb_arena_new();
            hb_str what;
            record *w = mutate(one, rec, (mut_kind)k, (uint64_t)seed, &what);
            total += w != NULL;
            if (w && accepted(one, r.program, w)) {
                wrong++;
                fprintf(stderr, "accepted: %s: %.*s\n", graphs[_i], HB_ARG(what));
            }
            hb_arena_free(one);
        }
    ck_assert_msg(wrong == 0, "%d of %d wrong programs were accepted", wrong, total);
    ck_assert_int_gt(total, test_cases(5, 20, 100));
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slots");
    TCase *t = tcase_create("slots");
    tcase_set_timeout(t, 200);
    tcase_add_loop_test(t, proved, 0, N_GRAPHS * N_CLUSTERS);
    tcase_add_loop_test(t, bits, 0, N_GRAPHS);
    tcase_add_test(t, random_bits);
    tcase_add_loop_test(t, mutants, 0, 2);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
