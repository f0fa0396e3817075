// Which blocks to compute again and in how many micro-batches, against every subset and number of
// them: models of 2 to 6 blocks that differ in size and in what they free a second, on one device
// and on unequal ones, at capacities between what the step takes with nothing computed again, in
// one go, and with all, in most micro-batches. Each variant is planned as a graph of its own; what
// syn_plan chose must be within 1 % of the best simulated of all of them.
//
//  choice         syn_blocks_choose against all subsets of random blocks: the same least time
//  subsets        the planner, in one micro-batch
//  micro_batches  the planner, in as many as it likes
//
//     recompute_oracle_test [capacities]     a case: 1, at night 4; more for a longer sweep, with a
//     line a case

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "synth/search/blocks.h"
#include "synth/search/synth.h"
#include "tests/support/cases.h"
#include "tests/support/graph_text.h"
#include "tests/support/plan_facts.h"
#include "tests/support/random_graph.h"

static int n_capacities;

// --- the choice alone ---

static bool set_fits(const syn_blocks *b, double share, unsigned set)
{
    for (int c = 0; c < b->n_classes; c++) {
        double kept = 0;
        for (int j = 0; j <= b->n; j++) {
            if (kept > b->room[j * b->n_classes + c] - (1 - share) * b->capacity[c]) return false;
            if (j < b->n && !(set >> j & 1)) kept += b->bytes[j * b->n_classes + c];
        }
    }
    return true;
}

static double set_seconds(const syn_blocks *b, unsigned set)
{
    double sum = 0;
    for (int j = 0; j < b->n; j++)
        sum += set >> j & 1 ? b->sec[j] : 0;
    return sum;
}

START_TEST(choice)
{
    random_source r = {(uint64_t)_i * 7 + 1};
    hb_arena *a = hb_arena_new();
    int found = 0, odd = 0;
    for (int round = 0; round < 40; round++) {
        int n = 1 + random_below(&r, 9), classes = 1 + random_below(&r, 3);
        syn_blocks b = {.n = n, .n_classes = classes};
        b.sec = HB_ARRAY(a, double, n);
        b.bytes = HB_ARRAY(a, double, n *classes);
        b.room = HB_ARRAY(a, double, (n + 1) * classes);
        b.capacity = HB_ARRAY(a, double, classes);
        double total = 0;
        for (int c = 0; c < classes; c++)
            b.capacity[c] = 1e6 * (1 + random_below(&r, 3));
        for (int j = 0; j < n; j++) {
            b.sec[j] = 1 + random_below(&r, 50);
            double size = 1 + random_below(&r, 60); // classes hold about the same share
            total += size;
            for (int c = 0; c < classes; c++)
                b.bytes[j * classes + c] = size * b.capacity[c];
        }
        for (int i = 0; i < n * classes; i++) // all together fill the memory
            b.bytes[i] /= total;
        double tight = 0.05 + random_below(&r, 80) * 0.01;
        for (int i = 0; i < (n + 1) * classes; i++)
            b.room[i] = fmin(tight + random_below(&r, 30) * 0.01, 1) * b.capacity[i % classes];
        double least = HUGE_VAL, got = 0;
        for (unsigned set = 0; set < 1u << n; set++)
            if (set_fits(&b, 0.98, set)) least = fmin(least, set_seconds(&b, set));
        bool *again = HB_ARRAY(a, bool, n + 1), prefix = true;
        bool any = syn_blocks_choose(&b, 0.98, again, &got);
        ck_assert_int_eq(any, isfinite(least));
        if (!any) continue;
        unsigned set = 0;
        for (int j = 0; j < n; j++) {
            set |= again[j] ? 1u << j : 0;
            prefix = prefix && (j == 0 || again[j - 1] || !again[j]);
        }
        ck_assert(set_fits(&b, 0.98, set) && syn_blocks_fit(&b, 0.98, again));
        ck_assert_double_eq_tol(got, set_seconds(&b, set), 1e-9);
        ck_assert_msg(got <= least * (1 + 1e-9), "%g s, could be %g", got, least);
        found++;
        odd += !prefix;
    }
    ck_assert_int_gt(found, 10);
    ck_assert_int_gt(odd, 3);
    hb_arena_free(a);
}
END_TEST

// --- the planner ---

typedef struct model {
    const char *name;
    int n;
    int64_t batch, width[8];
    bool residual; // blocks x + W gelu(V norm(x)) of hidden sizes width[1..n], else a chain
} model;

static const model models[] = {
    {"chain, one wide layer", 5, 2048, {256, 256, 256, 32, 1024, 64}, false},
    {"chain, narrow and wide", 6, 2048, {64, 512, 64, 512, 128, 384, 32}, false},
    {"residual, unlike hidden sizes", 5, 4096, {128, 256, 1024, 384, 768, 512}, true},
    {"residual, equal", 4, 4096, {128, 512, 512, 512, 512}, true},
};
static const model small_models[] = {
    {"chain of two", 2, 2048, {256, 512, 128}, false},
    {"chain of three, narrow and wide", 3, 2048, {64, 512, 64, 384}, false},
    {"residual, two, unlike", 2, 4096, {128, 512, 1024}, true},
    {"chain of two, 2 * 27 * 25 rows", 2, 1350, {256, 512, 128}, false},
};
enum {
    N_MODELS = sizeof models / sizeof *models,
    N_SMALL = sizeof small_models / sizeof *small_models,
    MOST_CHUNKS = 32 // as the planner
};

static ir_graph *model_graph(hb_arena *a, const model *m)
{
    hb_buf b = {.arena = a};
    const int64_t *w = m->width;
    long long last = w[m->residual ? 0 : m->n];
    hb_printf(&b, "x0: input f32 %lld %lld\ny: input i64 %lld\n", (long long)m->batch,
              (long long)w[0], (long long)m->batch);
    for (int i = 0; i < m->n; i++)
        if (m->residual)
            hb_printf(&b,
                      "g%d: param f32 %lld\nb%d: param f32 %lld\nv%d: param f32 %lld %lld\n"
                      "w%d: param f32 %lld %lld\n",
                      i, (long long)w[0], i, (long long)w[0], i, (long long)w[0],
                      (long long)w[i + 1], i, (long long)w[i + 1], (long long)w[0]);
        else
            hb_printf(&b, "w%d: param f32 %lld %lld\n", i, (long long)w[i], (long long)w[i + 1]);
    hb_printf(&b, "head: param f32 %lld 32\n", last);
    for (int i = 0; i < m->n; i++)
        if (m->residual)
            hb_printf(&b,
                      "n%d = layer_norm(x%d, g%d, b%d)\nu%d = linear(n%d, v%d)\ne%d = gelu(u%d)\n"
                      "d%d = linear(e%d, w%d)\nx%d = add(x%d, d%d)\n",
                      i, i, i, i, i, i, i, i, i, i, i, i, i + 1, i, i);
        else
            hb_printf(&b, "f%d = linear(x%d, w%d)\nx%d = gelu(f%d)\n", i, i, i, i + 1, i);
    hb_printf(&b,
              "logits = linear(x%d, head)\nce = ce_sum(logits, y)\nn = count(y)\n"
              "total = div(ce, n)\nloss total\n",
              m->n);
    ir_graph *g = graph_text(a, hb_done(&b).p);
    g->batch = m->batch;
    ck_assert_int_eq(ir_blocks(g), m->n);
    return g;
}

static cl_cluster *devices(hb_arena *a, int n)
{
    device d[3] = {{0.08, 16, 4, 5, 0}, {0.05, 12, 4, 5, 0}, {0.03, 8, 4, 5, 0}};
    return small_cluster(a, 1, n, d, 4, 5);
}

// micro_batches 0: as many as it likes
static syn_options options(int64_t micro_batches)
{
    syn_options o = syn_default_options();
    o.micro_batches = micro_batches;
    o.small_param = 4096;
    return o;
}

static syn_result variant(hb_arena *a, ir_graph *g, const cost_model *m, int64_t chunks,
                          unsigned set)
{
    bool again[16] = {false};
    for (int b = 0; b < g->n_blocks; b++)
        again[b] = set >> b & 1;
    ir_graph *v = ir_variant(a, g, chunks, again, hb_diag_new(a));
    syn_options o = options(chunks);
    syn_result r = syn_synthesize(a, v, ir_factorize(a, v), m, &o);
    ck_assert_int_ne(r.status, SYN_FAILED_CHECK);
    return r;
}

static double peak(const syn_result *r, int n_devices)
{
    double sum = 0;
    for (int i = 0; i < n_devices; i++)
        sum += (double)r->program->peak_bytes[r->program->mesh->class_of[i]];
    return sum;
}

static bool prefix(unsigned set)
{
    return (set & (set + 1)) == 0;
}

typedef struct choice_made {
    double sec;
    int64_t chunks;
    unsigned set;
} choice_made;

static hb_str text_of(hb_arena *a, const choice_made *x, int n)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < n; i++)
        hb_putc(&b, x->set >> i & 1 ? 'x' : '.');
    hb_printf(&b, " in %lld, %.5g ms", (long long)x->chunks, x->sec * 1e3);
    return hb_done(&b);
}

// The best of all variants, and of those that are simple: the first blocks; in one micro-batch.
static void try_all(ir_graph *g, const cost_model *m, int64_t last, choice_made *best,
                    choice_made *simple)
{
    *best = *simple = (choice_made){HUGE_VAL, 0, 0};
    for (int64_t k = 1; k <= last; k++)
        for (unsigned set = 0; g->batch % k == 0 && set < 1u << g->n_blocks; set++) {
            hb_arena *own = hb_arena_new();
            syn_result r = variant(own, g, m, k, set);
            choice_made x = {r.status == SYN_OK ? r.predicted_sec : HUGE_VAL, k, set};
            if (x.sec < best->sec) *best = x;
            if (x.sec < simple->sec && (last > 1 ? k == 1 : prefix(set))) *simple = x;
            hb_arena_free(own);
        }
}

static choice_made planned(hb_arena *a, ir_graph *g, const cost_model *m, int64_t last)
{
    syn_options o = options(last > 1 ? 0 : 1);
    syn_result r = syn_plan(a, g, m, &o);
    choice_made got = {HUGE_VAL, 0, 0};
    if (r.status != SYN_OK) return got;
    const ir_graph *v = r.program->g;
    got.sec = r.predicted_sec;
    got.chunks = v->micro_batches > 1 ? v->micro_batches : 1;
    for (int b = 0; b < v->recomputed.n; b++)
        got.set |= 1u << v->recomputed.p[b];
    return got;
}

// odd: the best is no simple one.
typedef struct tally {
    int cases, missed, odd, odd_found;
} tally;

// last: the most micro-batches that are tried.
static void sweep(const model *mo, int n_devices, int64_t last, tally *t)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = model_graph(a, mo);
    cl_cluster *c = devices(a, n_devices);
    cost_model m = {.cluster = c};
    int64_t most_chunks = last;
    while (g->batch % most_chunks != 0)
        most_chunks--;
    syn_result free_ = variant(a, g, &m, 1, 0),
               tight = variant(a, g, &m, most_chunks, (1u << mo->n) - 1);
    ck_assert(free_.status == SYN_OK && tight.status == SYN_OK);
    double most = peak(&free_, n_devices), least = peak(&tight, n_devices);
    m.cluster = c = devices(a, n_devices);
    for (int k = 0; k < n_capacities; k++) {
        double at = (k + 1.0) / (n_capacities + 1);
        if (last > 1) at *= at;                // between tight ones
        for (int i = 0; i < c->n_classes; i++) // unequal devices have equal shares of it
            c->cls[i].capacity = c->cls[i].memory =
                (int64_t)((least + at * (most - least)) / n_devices * 1.05);
        choice_made best, simple;
        try_all(g, &m, last, &best, &simple);
        choice_made got = planned(a, g, &m, last);
        bool good = isinf(best.sec) || got.sec <= best.sec * 1.01,
             better = best.sec < simple.sec * 0.99;
        t->cases++;
        t->missed += !good;
        t->odd += better;
        t->odd_found += better && good;
        if (n_capacities > 2 || !good)
            printf("%-30s %d devices, %5.1f %%: best %s (of simple ones %s), chose %s%s\n",
                   mo->name, n_devices, at * 100, text_of(a, &best, mo->n).p,
                   text_of(a, &simple, mo->n).p, text_of(a, &got, mo->n).p, good ? "" : "  MISSED");
    }
    hb_arena_free(a);
}

static void judge(const tally *t, const char *simple)
{
    printf("%d cases, %d missed; in %d the best is not %s, found in %d\n", t->cases, t->missed,
           t->odd, simple, t->odd_found);
    ck_assert_int_le(t->missed * 20, t->cases);
    ck_assert_int_ge(t->odd_found, test_cases(0, 1, 1));
}

START_TEST(subsets)
{
    tally t = {0};
    for (int i = N_MODELS - test_cases(1, N_MODELS, N_MODELS); i < N_MODELS; i++)
        for (int n = 1; n <= test_cases(2, 3, 3); n++)
            sweep(&models[i], n, 1, &t);
    judge(&t, "a prefix");
}
END_TEST

START_TEST(micro_batches)
{
    tally t = {0};
    for (int i = 0; i < test_cases(1, N_SMALL, N_SMALL); i++)
        for (int n = 1; n <= test_cases(1, 2, 3); n++)
            sweep(&small_models[i], n, MOST_CHUNKS, &t);
    judge(&t, "in one micro-batch");
}
END_TEST

int main(int argc, char **argv)
{
    n_capacities = argc > 1 ? atoi(argv[1]) : test_cases(1, 1, 4);
    Suite *s = suite_create("recompute_oracle");
    TCase *t = tcase_create("blocks");
    tcase_set_timeout(t, 3000);
    tcase_add_loop_test(t, choice, 0, 20);
    tcase_add_test(t, subsets);
    suite_add_tcase(s, t);
    t = tcase_create("chunks");
    tcase_set_timeout(t, 3000);
    tcase_add_test(t, micro_batches);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
