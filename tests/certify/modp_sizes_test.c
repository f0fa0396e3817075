// That small sizes suffice (docs/theory.md section 6, "Small sizes"): faults that lie where the
// small run does not look, at ranks that it leaves out and sizes above its own, are found all the
// same or are outside the declared patterns; and on small graphs it accepts nothing that the run at
// full size with all ranks (syn_modp_exact) does not.

#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "synth/certify/modp.h"
#include "tests/certify/mutate.h"
#include "tests/certify/record_gen.h"
#include "tests/support/cases.h"
#include "tests/support/graph_text.h"
#include "tests/support/random_graph.h"

enum { MAX_BUFFERS = 8, MAX_CALLS = 8, MAX_TABLE = 8, SEEDS = 20 };
enum { WHOLE = -1 };

typedef struct held { // a buffer of a tensor of the graph: one dim of it cut
    const char *tensor;
    int dim; // WHOLE: none
    int64_t outer, n;
    int axis;
    int64_t table[MAX_TABLE];
} held;

typedef struct made { // a call: a node's name, or "slice", "gather", "sum" (an all-reduce)
    const char *what;
    int in[4], out; // buffers; -1: no further operand
    unsigned axes;
} made;

typedef struct planted {
    const char *what, *graph;
    int mesh[2]; // {4, 0}: one axis
    held buf[MAX_BUFFERS];
    made call[MAX_CALLS];
    int faulty; // this buffer's table becomes `table`; -1: the calls are wrong as they are
    int64_t table[MAX_TABLE]; // n of 0: none
    bool refused;             // right or not, it is no declared pattern
} planted;

#define ALL4                                                                                       \
    {                                                                                              \
        4, 4, 4, 4                                                                                 \
    }
#define OFF4                                                                                       \
    {                                                                                              \
        4, 4, 3, 5                                                                                 \
    }

static const planted cases[] = {
    {"the last parts of a pointwise op, off by one",
     "x: input f32 16 6\n y = relu(x)\n",
     {4, 0},
     {{"x", 0, 1, 16, 0, ALL4}, {"y", 0, 1, 16, 0, ALL4}},
     {{"y", {0, -1}, 1, 0}},
     1,
     OFF4,
     false},
    {"a contraction whose operands are cut off by one",
     "x: input f32 8 16\n w: const f32 16 6\n y = linear(x, w)\n",
     {4, 0},
     {{"x", 1, 1, 16, 0, ALL4}, {"w", 0, 1, 16, 0, ALL4}, {"y", WHOLE, 0, 0, 0, {0}}},
     {{"y", {0, 1, -1}, 2, 0}},
     1,
     OFF4,
     false},
    {"query heads cut off by one from their keys",
     "q: input f32 2 32 6 8\n k: input f32 2 16 6 8\n v: input f32 2 16 6 8\n"
     "y = sdpa(q, k, v)\n",
     {4, 0},
     {{"q", 1, 1, 16, 0, ALL4},
      {"k", 1, 1, 16, 0, ALL4},
      {"v", 1, 1, 16, 0, ALL4},
      {"y", 1, 1, 16, 0, ALL4},
      {"y.1", 1, 1, 16, 0, ALL4}},
     {{"y", {0, 1, 2, -1}, 3, 0}},
     0,
     OFF4,
     false},
    {"a slice of an aligned piece",
     "x: input f32 32\n y = slice(x) dim=0 start=16 stop=32\n",
     {4, 0},
     {{"x", 0, 2, 16, 0, ALL4}, {"y", 0, 1, 16, 0, ALL4}},
     {{"y", {0, -1}, 1, 0}},
     1,
     OFF4,
     false},
    {"a slice across the boundaries of a cut",
     "x: input f32 32\n y = slice(x) dim=0 start=8 stop=24\n",
     {4, 0},
     {{"x", 0, 1, 32, 0, {8, 8, 8, 8}}, {"y", 0, 1, 16, 0, {0, 8, 8, 0}}},
     {{"y", {0, -1}, 1, 0}},
     -1,
     {0},
     true},
    {"padding of an aligned piece",
     "x: input f32 16\n y = pad(x) dim=0 before=16 after=0\n",
     {4, 0},
     {{"x", 0, 1, 16, 0, ALL4}, {"y", 0, 2, 16, 0, ALL4}},
     {{"y", {0, -1}, 1, 0}},
     0,
     OFF4,
     false},
    {"a reshape",
     "x: input f32 16 6\n y = reshape(x) shape=96\n",
     {4, 0},
     {{"x", 0, 1, 16, 0, ALL4}, {"y", 0, 1, 16, 0, ALL4}},
     {{"y", {0, -1}, 1, 0}},
     1,
     OFF4,
     false},
    {"parts over both axes, by the sums of machines",
     "x: input f32 16\n y = relu(x)\n",
     {2, 2},
     {{"x", 0, 1, 16, 0, {9, 7}},
      {"x", 0, 1, 16, SYN_BOTH, {5, 4, 4, 3}},
      {"y", 0, 1, 16, SYN_BOTH, {5, 4, 4, 3}}},
     {{"slice", {0, -1}, 1, 0}, {"y", {1, -1}, 2, 0}},
     0,
     {8, 8},
     false},
    {"parts over both axes, gathered along axis 0 to sums of columns",
     "x: input f32 16\n y = relu(x)\n",
     {2, 2},
     {{"x", 0, 1, 16, SYN_BOTH, {9, 0, 0, 7}},
      {"x", 0, 1, 16, 1, {9, 7}},
      {"y", 0, 1, 16, 1, {9, 7}}},
     {{"gather", {0, -1}, 1, 1}, {"y", {1, -1}, 2, 0}},
     -1,
     {0},
     true},
    {"the maximum of parts of sums",
     "x: input f32 2 16\n w: const f32 16 2\n p = linear(x, w)\n y = row_max(p)\n",
     {4, 0},
     {{"x", 1, 1, 16, 0, ALL4},
      {"w", 0, 1, 16, 0, ALL4},
      {"p", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"p", {0, 1, -1}, 2, 0}, {"y", {2, -1}, 3, 0}},
     -1,
     {0},
     false},
    {"a comparison of parts of sums",
     "x: input f32 2 16\n w: const f32 16 1\n b: const f32 1\n p = linear(x, w)\n y = lt(p, b)\n",
     {4, 0},
     {{"x", 1, 1, 16, 0, ALL4},
      {"w", 0, 1, 16, 0, ALL4},
      {"b", WHOLE, 0, 0, 0, {0}},
      {"p", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"p", {0, 1, -1}, 3, 0}, {"y", {3, 2, -1}, 4, 0}},
     -1,
     {0},
     false},
    {"a choice between parts of a sum and a whole",
     "x: input f32 2 16\n w: const f32 16 1\n b: const f32 1\n c: input bool 1\n"
     "p = linear(x, w)\n y = where(c, p, b)\n",
     {4, 0},
     {{"x", 1, 1, 16, 0, ALL4},
      {"w", 0, 1, 16, 0, ALL4},
      {"b", WHOLE, 0, 0, 0, {0}},
      {"c", WHOLE, 0, 0, 0, {0}},
      {"p", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"p", {0, 1, -1}, 4, 0}, {"y", {3, 4, 2, -1}, 5, 0}},
     -1,
     {0},
     false},
    {"a count that is 0 at small sizes, not summed",
     "x: input i64 16\n k: const i64 1\n e = eq(x, k)\n f = cast(e) dtype=f32\n"
     "s = sum(f) dims=0\n y = exp(s)\n",
     {4, 0},
     {{"x", 0, 1, 16, 0, ALL4},
      {"k", WHOLE, 0, 0, 0, {0}},
      {"e", 0, 1, 16, 0, ALL4},
      {"f", 0, 1, 16, 0, ALL4},
      {"s", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"e", {0, 1, -1}, 2, 0}, {"f", {2, -1}, 3, 0}, {"s", {3, -1}, 4, 0}, {"y", {4, -1}, 5, 0}},
     -1,
     {0},
     false},
    {"labels that are all ignored at small sizes, not summed",
     "x: input i64 16\n s = count(x) ignore=0\n y = exp(s)\n",
     {4, 0},
     {{"x", 0, 1, 16, 0, ALL4}, {"s", WHOLE, 0, 0, 0, {0}}, {"y", WHOLE, 0, 0, 0, {0}}},
     {{"s", {0, -1}, 1, 0}, {"y", {1, -1}, 2, 0}},
     -1,
     {0},
     false},
    {"slots of experts by parts of sums",
     "x: input f32 1 2 16\n w: const f32 16 2\n p = linear(x, w)\n y = expert_slots(p) capacity=2\n",
     {4, 0},
     {{"x", 2, 1, 16, 0, ALL4},
      {"w", 0, 1, 16, 0, ALL4},
      {"p", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"p", {0, 1, -1}, 2, 0}, {"y", {2, -1}, 3, 0}},
     -1,
     {0},
     false},
    {"a sum over parts that are reduced, then whole",
     "x: input f32 8 16\n s = row_sum(x)\n y = exp(s)\n",
     {4, 0},
     {{"x", 1, 1, 16, 0, ALL4},
      {"s", WHOLE, 0, 0, 0, {0}},
      {"s", WHOLE, 0, 0, 0, {0}},
      {"y", WHOLE, 0, 0, 0, {0}}},
     {{"s", {0, -1}, 1, 0}, {"sum", {1, -1}, 2, 1}, {"y", {2, -1}, 3, 0}},
     0,
     {0},
     false},
};
enum { N_CASES = sizeof cases / sizeof *cases };

// --- from a case to a record

static int *ids(hb_arena *a, const int *v, int n)
{
    return hb_copy(a, v, sizeof *v * (size_t)n);
}

static int ranks_of(const planted *p)
{
    return p->mesh[0] * (p->mesh[1] ? p->mesh[1] : 1);
}

static void add_buffer(hb_arena *a, record *r, const ir_graph *g, const planted *p, const held *h,
                       const int64_t *table)
{
    const ir_tensor *t = &g->tensors.p[graph_tensor(g, h->tensor)];
    rec_tensor b = {.id = r->tensors.n, .seg = 1, .dtype = t->dtype, .rank = t->rank};
    b.off[0] = 4096 * b.id;
    for (int d = 0; d < t->rank; d++)
        b.dim[d] = (rec_dim){.n = t->dim[d], .outer = 1, .inner = 1, .axis = -1};
    if (h->dim >= 0) {
        int n = h->axis == SYN_BOTH ? ranks_of(p) : p->mesh[h->axis];
        b.dim[h->dim] = (rec_dim){.n = h->n,
                                  .outer = h->outer,
                                  .inner = t->dim[h->dim] / h->n / h->outer,
                                  .axis = h->axis,
                                  .n_table = n,
                                  .table = hb_copy(a, table, sizeof *table * (size_t)n)};
    }
    HB_PUSH(a, &r->tensors, b);
}

static void add_call(hb_arena *a, record *r, const ir_graph *g, const made *c)
{
    rec_call k = {.scratch = -1, .n_out = 1, .axes = c->axes, .event = r->calls.n};
    while (k.n_in < 4 && c->in[k.n_in] >= 0)
        k.n_in++;
    k.in = ids(a, c->in, k.n_in);
    k.out = ids(a, &c->out, 1);
    if (strcmp(c->what, "slice") == 0) {
        k.kind = REC_SLICE;
    } else if (strcmp(c->what, "gather") == 0 || strcmp(c->what, "sum") == 0) {
        k.kind = REC_START;
        k.coll = c->what[0] == 'g' ? COST_ALL_GATHER : COST_ALL_REDUCE;
        HB_PUSH(a, &r->calls, k);
        k = (rec_call){.kind = REC_WAIT, .event = k.event, .scratch = -1};
    } else {
        const ir_node *n = &g->nodes.p[g->tensors.p[graph_tensor(g, c->what)].producer];
        int out[IR_MAX_OUT];
        for (int i = 0; i < n->n_out; i++)
            out[i] = c->out + i;
        k.kind = REC_OP;
        k.op = (int)n->op;
        k.attr = n->attr;
        k.n_out = n->n_out;
        k.out = ids(a, out, n->n_out);
    }
    HB_PUSH(a, &r->calls, k);
}

static record *record_of(hb_arena *a, const ir_graph *g, const planted *p, bool faulty)
{
    record *r = HB_NEW(a, record);
    *r = (record){.n_ranks = ranks_of(p), .n_axes = p->mesh[1] ? 2 : 1, .n_classes = 1};
    memcpy(r->size, p->mesh, sizeof r->size);
    r->class_of = HB_ARRAY(a, int, r->n_ranks);
    for (int i = 0; i < MAX_BUFFERS && p->buf[i].tensor; i++)
        add_buffer(a, r, g, p, &p->buf[i], faulty && p->faulty == i ? p->table : p->buf[i].table);
    for (int i = 0, n = r->tensors.n; i < n; i++) {
        const ir_tensor *t = &g->tensors.p[graph_tensor(g, p->buf[i].tensor)];
        bool first = t->producer < 0;
        for (int k = 0; k < i; k++)
            first = first && strcmp(p->buf[k].tensor, p->buf[i].tensor) != 0;
        rec_call k = {
            .kind = t->kind == IR_INPUT ? REC_INPUT : REC_CONST, .name = t->name, .n_in = 1};
        k.in = ids(a, &i, 1);
        if (first) HB_PUSH(a, &r->calls, k);
    }
    for (int i = 0; i < MAX_CALLS && p->call[i].what; i++)
        add_call(a, r, g, &p->call[i]);
    return r;
}

START_TEST(faults_just_above_the_small_sizes)
{
    const planted *p = &cases[_i];
    hb_arena *a = hb_arena_new();
    ir_graph *g = graph_text(a, p->graph);
    ir_factors *f = ir_factorize(a, g);
    bool fault = p->faulty >= 0 && p->table[0] > 0;
    record *right = record_of(a, g, p, false), *wrong = fault ? record_of(a, g, p, true) : NULL;
    bool all_wrong = p->faulty < 0;
    hb_str why;
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        bool ok = syn_modp(a, g, f, right, seed, &why);
        ck_assert_msg(ok == !all_wrong, "%s, seed %d: %.*s", p->what, (int)seed,
                      ok ? 8 : (int)why.n, ok ? "accepted" : why.p);
        ck_assert_msg(!wrong || !syn_modp(a, g, f, wrong, seed, &why), "%s, seed %d: accepted",
                      p->what, (int)seed);
    }
    ck_assert_msg(syn_modp_exact(a, g, f, right, 1, &why) == (!all_wrong || p->refused), "%s: %.*s",
                  p->what, HB_ARG(why));
    ck_assert(!wrong || !syn_modp_exact(a, g, f, wrong, 1, &why));
    hb_arena_free(a);
}
END_TEST

// --- against the run at full size

// One boundary of one buffer's cut moves by one entry; the cut stays one of its factor.
static record *off_by_one(hb_arena *a, const record *r, uint64_t seed)
{
    record *w = hb_copy(a, r, sizeof *r);
    w->tensors.p = hb_copy(a, r->tensors.p, sizeof *r->tensors.p * (size_t)r->tensors.n);
    for (int try = 0; try < 64; try++) {
        rec_tensor *t = &w->tensors.p[gen_random(&seed) % (uint64_t)w->tensors.n];
        for (int d = 0; d < t->rank; d++) {
            rec_dim *v = &t->dim[d];
            if (v->axis < 0 || v->n_table < 2) continue;
            int at = (int)(gen_random(&seed) % (uint64_t)(v->n_table - 1)), to = at + 1;
            if (v->table[at] == 0) { // the boundary moves the other way
                at++;
                to--;
            }
            if (v->table[at] == 0) continue;
            v->table = hb_copy(a, v->table, sizeof *v->table * (size_t)v->n_table);
            v->table[at]--;
            v->table[to]++;
            return w;
        }
    }
    return NULL;
}

static const gen_options meshes[] = {
    {.n_axes = 1, .size = {4}, .n_classes = 1, .cut_percent = 90, .keep_grads = true},
    {.n_axes = 2, .size = {2, 3}, .n_classes = 2, .cut_percent = 90, .keep_grads = true},
};

START_TEST(nothing_is_accepted_that_full_sizes_reject)
{
    int cases_seen = 0, wrong = 0, both = 0;
    for (int seed = 1; seed <= test_cases(3, 30, 400); seed++) {
        hb_arena *a = hb_arena_new();
        ir_graph *g = random_graph(a, 7000 + (uint64_t)seed,
                                   (random_graph_options){.n_ops = 8, .train = seed % 2 == 0});
        ir_factors *f = ir_factorize(a, g);
        gen_options o = meshes[seed / 2 % 2];
        o.seed = (uint64_t)seed;
        record *r = gen_record(a, g, f, &o, NULL);
        for (int k = -1; k < MUT_N + 16; k++) {
            hb_arena *one = hb_arena_new();
            hb_str what = {0}, why;
            record *w = k < 0        ? r
                        : k >= MUT_N ? off_by_one(one, r, (uint64_t)(seed * 64 + k))
                                     : mutate(one, r, (mut_kind)k, (uint64_t)seed, &what);
            if (w) {
                bool small = syn_modp(one, g, f, w, 1, &why),
                     full = syn_modp_exact(one, g, f, w, 2, &why);
                ck_assert_msg(k >= 0 || (small && full), "graph %d: %.*s", seed, HB_ARG(why));
                ck_assert_msg(!small || full, "graph %d, fault %d: accepted, at full size %.*s",
                              seed, k, HB_ARG(why));
                cases_seen++;
                wrong += !full;
                both += !full && !small;
            }
            hb_arena_free(one);
        }
        hb_arena_free(a);
    }
    printf("%d programs, %d wrong at full size, %d found at small sizes\n", cases_seen, wrong,
           both);
    ck_assert_int_eq(both, wrong);
    ck_assert_int_gt(wrong, cases_seen / 4);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("modp_sizes");
    TCase *t = tcase_create("sizes");
    tcase_set_timeout(t, 300);
    tcase_add_loop_test(t, faults_just_above_the_small_sizes, 0, N_CASES);
    tcase_add_test(t, nothing_is_accepted_that_full_sizes_reject);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
