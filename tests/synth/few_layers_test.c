// Large steps are searched among few of their layers (ir/fold.h).
//
//  counts    a folded step is a step, and counts what the whole takes: work, parameters, moments
//  refused   what has no run of equal blocks is not folded
//  deep      a deep model is planned as well as a shallow one: each further layer takes no longer,
//            where leaving out slow devices pays and where memory binds
//  asked     so is one whose micro-batches and blocks are asked for, and one that is larger than
//            the limit as a variant alone
//  finished  last of all states are fixed in its best plans, and the result is the fastest of them
//  pairs     and counts what overlapped pairs take in all layers
//  kinds     so is one whose runs of equal layers are many, or a layer long
//  unlike    so is one whose layers all differ in an inner size: as one of equal layers, as large;
//            and neither is slower with more memory

#include <check.h>
#include <math.h>
#include <string.h>

#include "ir/factors.h"
#include "ir/fold.h"
#include "ir/variant.h"
#include "synth/plan/search_limits.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/plan_facts.h"
#include "tests/support/small_models.h"

static small_transformer model(int layers)
{
    return (small_transformer){.batch = 8,
                               .tokens = 64,
                               .width = 256,
                               .heads = 4,
                               .hidden = 1024,
                               .vocabulary = 2048,
                               .n_layers = layers,
                               .embedding = true,
                               .norm = true};
}

static double flops_of(hb_arena *a, const ir_graph *g)
{
    const ir_factors *f = ir_factorize(a, g);
    double sum = 0;
    for (int n = 0; n < g->nodes.n; n++) {
        double flops = 0, bytes = 0;
        ir_node_work(g, f, n, NULL, 0, &flops, &bytes);
        sum += flops * ir_node_times(g, n);
    }
    return sum;
}

static double bytes_of(const ir_graph *g, ir_kind kind)
{
    double sum = 0;
    for (int t = 0; t < g->tensors.n; t++)
        if (g->tensors.p[t].kind == kind)
            sum += (double)ir_elements(&g->tensors.p[t]) * ir_tensor_times(g, t);
    return sum;
}

// How often values count that go over from one block to the next, come to the first or leave the
// last, in the forward and the backward pass: all alike, and in all as often as there are.
static void passed_on_alike(const ir_graph *few, int n_blocks)
{
    int n = 0;
    double sum = 0, most = 0;
    for (int t = 0; t < few->tensors.n; t++) {
        int p = few->tensors.p[t].producer, readers = 0, reader = -1;
        if (p < 0 || few->nodes.p[p].phase == IR_UPDATE) continue;
        int maker = few->nodes.p[few->nodes.p[p].forward].block;
        for (int i = 0; i < few->nodes.n; i++) {
            const ir_node *x = &few->nodes.p[i];
            bool reads = false;
            for (int k = 0; k < x->n_in && x->phase != IR_UPDATE; k++)
                reads = reads || x->in[k] == t;
            int block = reads ? few->nodes.p[x->forward].block : -1;
            if (!reads || block == maker || block == reader) continue;
            reader = block;
            readers++;
        }
        if (readers != 1) continue;
        n++;
        sum += ir_tensor_times(few, t);
        most = fmax(most, ir_tensor_times(few, t));
    }
    ck_assert_int_ge(n, 2 * (few->n_blocks + 1));
    ck_assert_double_eq_tol(sum, n * most, 1e-9);
    ck_assert_double_eq_tol(most, (n_blocks + 1.0) / (few->n_blocks + 1), 1e-9);
}

enum { EDGE = 22 }; // layers of a step whose variants alone are larger than SYN_LARGE

START_TEST(counts)
{
    hb_arena *a = hb_arena_new();
    small_transformer m = model(10 + 5 * (_i / 2));
    m.tied = _i % 2;
    ir_graph *step = small_attention(a, &m), *few;
    hb_str why = {0};
    int n = ir_blocks(step);
    ck_assert_int_ge(n, m.n_layers - 1);
    ck_assert_ptr_nonnull(few = ir_fold(a, step, 3, false));
    ck_assert_msg(ir_verify(few, &why), "%.*s", HB_ARG(why));
    ck_assert_int_lt(few->nodes.n, step->nodes.n);
    ck_assert_int_eq(few->n_blocks, 6);
    ck_assert_int_eq(few->few_of[0], 0);
    ck_assert_int_eq(few->few_of[n - 1], 5);
    for (int b = 1; b < n; b++)
        ck_assert(few->few_of[b] == few->few_of[b - 1] || few->few_of[b] == few->few_of[b - 1] + 1);
    ck_assert_double_eq_tol(flops_of(a, few) / flops_of(a, step), 1, 1e-6);
    ck_assert_double_eq_tol(bytes_of(few, IR_PARAM) / bytes_of(step, IR_PARAM), 1, 1e-9);
    ck_assert_double_eq_tol(bytes_of(few, IR_STATE) / bytes_of(step, IR_STATE), 1, 1e-9);
    passed_on_alike(few, n);
    bool again[6] = {true, true, true, true, true, true}; // its variants are steps as well
    hb_diag *d = hb_diag_new(a);
    ir_graph *v = ir_variant(a, few, 4, again, d);
    ck_assert_ptr_nonnull(v);
    ck_assert_msg(ir_verify(v, &why), "%.*s", HB_ARG(why));
    hb_arena_free(a);
}
END_TEST

START_TEST(refused)
{
    hb_arena *a = hb_arena_new();
    small_transformer m = model(9);
    ir_graph *few = small_attention(a, &m);
    ir_blocks(few);
    ck_assert_ptr_null(ir_fold(a, few, 3, false));
    int64_t width[16];
    for (int i = 0; i < 16; i++)
        width[i] = 64 + 8 * i;
    ir_graph *unlike = small_mlp(a, 64, 15, width);
    ir_blocks(unlike);
    ck_assert_ptr_null(ir_fold(a, unlike, 2, false));
    ck_assert_ptr_null(ir_fold(a, unlike, 2, true)); // what goes over differs
    hb_arena_free(a);
}
END_TEST

// A step, on two fast devices in one machine and two slow ones behind a slow network, with so much
// memory for each layer.
static ir_graph *step_on(hb_arena *a, const small_transformer *m, double mib_a_layer,
                         cost_model *on)
{
    double mib = mib_a_layer * m->n_layers + 48;
    device fast = {50, 2000, 100, 5, mib}, slow = {10, 500, 100, 5, mib};
    *on = (cost_model){.cluster =
                           small_cluster(a, 2, 2, (device[]){fast, fast, slow, slow}, 0.1, 200)};
    ir_graph *g = small_attention(a, m);
    ir_blocks(g);
    g->batch = m->batch;
    return g;
}

// micro_batches, computed_again: as asked, of all blocks; 0: none of it is. *nodes, if not NULL: of
// the step and of the variant.
static double step_of_model(small_transformer m, double mib_a_layer, int micro_batches,
                            bool computed_again, int *nodes)
{
    hb_arena *a = hb_arena_new();
    cost_model on;
    ir_graph *g = step_on(a, &m, mib_a_layer, &on);
    syn_options o = syn_default_options();
    bool *again = HB_ARRAY(a, bool, g->n_blocks + 1);
    memset(again, computed_again, (size_t)g->n_blocks);
    o.micro_batches = micro_batches;
    if (micro_batches > 0) o.again = again;
    syn_result r = syn_plan(a, g, &on, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    if (micro_batches > 1) ck_assert_int_eq(r.program->g->micro_batches, micro_batches);
    if (micro_batches > 0)
        ck_assert_int_eq(r.program->g->recomputed.n, computed_again ? g->n_blocks : 0);
    if (nodes) nodes[0] = g->nodes.n, nodes[1] = r.program->g->nodes.n;
    double sec = r.predicted_sec;
    hb_arena_free(a);
    return sec;
}

static double step_of_runs(int layers, int alike, double mib_a_layer, int micro_batches,
                           bool computed_again, int *nodes)
{
    small_transformer m = model(layers);
    m.alike = alike;
    return step_of_model(m, mib_a_layer, micro_batches, computed_again, nodes);
}

static double step_of(int layers, double mib_a_layer, int micro_batches, bool computed_again,
                      int *nodes)
{
    return step_of_runs(layers, 0, mib_a_layer, micro_batches, computed_again, nodes);
}

START_TEST(deep)
{
    double mib = _i == 0 ? 1000 : 16; // ample; a layer takes 9 MiB with its moments, and saves 20
    double s8 = step_of(8, mib, 0, false, NULL), s14 = step_of(14, mib, 0, false, NULL),
           s44 = step_of(44, mib, 0, false, NULL);
    ck_assert_msg((s44 - s14) / 30 < (s14 - s8) / 6 * 1.05, "%g, %g, %g ms", s8 * 1e3, s14 * 1e3,
                  s44 * 1e3);
}
END_TEST

START_TEST(asked)
{
    static const struct {
        int micro_batches;
        bool again;
    } as[] = {{2, false}, {1, true}, {4, true}};
    int k = as[_i].micro_batches, nodes[2];
    bool again = as[_i].again;
    double s8 = step_of(8, 1000, k, again, NULL), s14 = step_of(14, 1000, k, again, NULL),
           edge = step_of(EDGE, 1000, k, again, nodes), s44 = step_of(44, 1000, k, again, NULL);
    ck_assert_int_le(nodes[0], SYN_LARGE);
    ck_assert_int_gt(nodes[1], SYN_LARGE);
    ck_assert_msg((edge - s14) / (EDGE - 14) < (s14 - s8) / 6 * 1.05, "%g, %g, %g ms", s8 * 1e3,
                  s14 * 1e3, edge * 1e3);
    ck_assert_msg((s44 - s14) / 30 < (s14 - s8) / 6 * 1.05, "%g, %g, %g ms", s8 * 1e3, s14 * 1e3,
                  s44 * 1e3);
}
END_TEST

START_TEST(finished)
{
    hb_arena *a = hb_arena_new();
    small_transformer m = model(2 * EDGE);
    cost_model on;
    ir_graph *g = step_on(a, &m, 12, &on);
    ck_assert_int_gt(g->nodes.n, SYN_LARGE);
    FILE *log = tmpfile();
    ck_assert_ptr_nonnull(log);
    syn_options o = syn_default_options();
    o.log = log;
    syn_result r = syn_plan(a, g, &on, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    rewind(log);
    char line[256];
    double least = HUGE_VAL, from = HUGE_VAL;
    int n = 0;
    while (fgets(line, sizeof line, log)) {
        double before, behind;
        if (sscanf(line, "states fixed in a plan of %lf ms: %lf ms", &before, &behind) != 2)
            continue;
        n++;
        from = fmin(from, before);
        least = fmin(least, behind > 0 ? fmin(before, behind) : before);
    }
    fclose(log);
    ck_assert_int_eq(n, 2);
    ck_assert_double_lt(least, 0.97 * from);
    ck_assert_double_eq_tol(r.predicted_sec * 1e3, least, 1e-5 * least);
    hb_arena_free(a);
}
END_TEST

START_TEST(kinds)
{
    int alike = _i == 0 ? 1 : 10, nodes[2];
    double s10 = step_of_runs(10, alike, 1000, 0, false, NULL),
           s20 = step_of_runs(20, alike, 1000, 0, false, nodes);
    ck_assert_int_le(nodes[0], SYN_LARGE);
    double s60 = step_of_runs(60, alike, 1000, 0, false, NULL);
    ck_assert_msg((s60 - s20) / 40 < (s20 - s10) / 10 * 1.05, "%g, %g, %g ms", s10 * 1e3, s20 * 1e3,
                  s60 * 1e3);
}
END_TEST

START_TEST(unlike)
{
    enum { LAYERS = 45, WIDER = 8 };
    hb_arena *a = hb_arena_new();
    small_transformer m = model(LAYERS), equal = m;
    m.wider = WIDER;
    equal.hidden += WIDER * (LAYERS - 1) / 2;
    ir_graph *step = small_attention(a, &m), *few;
    hb_str why = {0};
    ir_blocks(step);
    ck_assert_ptr_null(ir_fold(a, step, 3, false));
    ck_assert_ptr_nonnull(few = ir_fold(a, step, 3, true));
    ck_assert_msg(ir_verify(few, &why), "%.*s", HB_ARG(why));
    ck_assert_int_eq(few->n_blocks, 6);
    ck_assert_double_eq_tol(flops_of(a, few) / flops_of(a, step), 1, 1e-6);
    ck_assert_double_eq_tol(bytes_of(few, IR_PARAM) / bytes_of(step, IR_PARAM), 1, 1e-9);
    hb_arena_free(a);
    double s[2], t[2];
    for (int k = 0; k < 2; k++) {
        double mib = k == 0 ? 17 : 1000; // a layer
        s[k] = step_of_model(m, mib, 0, false, NULL);
        t[k] = step_of_model(equal, mib, 0, false, NULL);
        ck_assert_msg(s[k] < t[k] * 1.01, "%g, %g ms", s[k] * 1e3, t[k] * 1e3);
    }
    ck_assert_msg(s[1] < s[0] * 1.005, "%g, with less memory %g ms", s[1] * 1e3, s[0] * 1e3);
    ck_assert_msg(t[1] < t[0] * 1.005, "%g, with less memory %g ms", t[1] * 1e3, t[0] * 1e3);
}
END_TEST

// Seconds of a step on four devices that write into each other's memory, over links of so many
// GB/s: with pairs, without.
static void by_pairs(hb_arena *a, const ir_graph *g, double gbps, double *with, double *without)
{
    device d = {0.1, 40, gbps, 50, 0};
    cl_cluster *c = small_cluster(a, 1, 4, (device[]){d, d, d, d}, 0.1, 200);
    c->machine[0].peer = true;
    syn_options o = syn_default_options();
    o.all_devices = true;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &(cost_model){.cluster = c}, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    *with = r.predicted_sec;
    *without = r.plain_sec;
}

START_TEST(pairs)
{
    hb_arena *a = hb_arena_new();
    ir_graph *step = small_attention(a, &(small_transformer){.batch = 16,
                                                             .tokens = 64,
                                                             .width = 512,
                                                             .heads = 4,
                                                             .hidden = 2048 << _i,
                                                             .vocabulary = 512,
                                                             .n_layers = 12,
                                                             .norm = true});
    ir_blocks(step);
    // On faster links a plan without pairs is as fast as the best with pairs that was known.
    static const double gbps[] = {0.6, 0.3}, known[][2] = {{1.0307, 1.682}, {1.076, 1.7196}};
    for (int k = 0; k < 2; k++) {
        double with[2], without[2];
        by_pairs(a, ir_fold(a, step, 2, false), gbps[k], &with[0], &without[0]);
        by_pairs(a, step, gbps[k], &with[1], &without[1]);
        ck_assert_double_le(with[1], known[k][_i]);
        if (k == 1) ck_assert_double_lt(with[1], 0.99 * without[1]);
        ck_assert_double_eq_tol(without[0] / without[1], 1, 0.03);
        ck_assert_double_eq_tol(with[0] / with[1], 1, 0.03);
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("few_layers");
    TCase *c = tcase_create("few_layers");
    tcase_set_timeout(c, 0);
    tcase_add_loop_test(c, counts, 0, test_cases(2, 6, 6));
    tcase_add_test(c, refused);
    tcase_add_loop_test(c, deep, 0, test_cases(1, 2, 2));
    tcase_add_loop_test(c, asked, 0, test_cases(1, 3, 3));
    tcase_add_test(c, finished);
    tcase_add_loop_test(c, pairs, 0, test_cases(1, 2, 2));
    tcase_add_loop_test(c, kinds, 0, test_cases(1, 2, 2));
    tcase_add_test(c, unlike);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? 1 : 0;
}
