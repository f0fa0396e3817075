// The checker accepts programs that are right: random plans of the sample graphs (record_gen), on
// one and two axes, even and uneven tables, with empty shards.

#include <check.h>
#include <stdio.h>

#include "tests/certify/record_gen.h"
#include "tests/support/random_graph.h"

static const char *const graphs[] = {"examples/mlp/graph.json", "examples/gpt2-tiny/graph.json",
                                     "examples/bert-tiny/graph.json",
                                     "examples/bert-moe-tiny/graph.json"};
static const gen_options meshes[] = {
    {.n_axes = 1, .size = {1}, .n_classes = 1, .cut_percent = 50},
    {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 80, .keep_grads = true},
    {.n_axes = 1, .size = {4}, .n_classes = 2, .cut_percent = 95},
    {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 80},
    {.n_axes = 2, .size = {2, 3}, .n_classes = 3, .cut_percent = 95, .keep_grads = true},
    {.n_axes = 2, .size = {3, 2}, .n_classes = 2, .cut_percent = 90},
};
enum {
    N_GRAPHS = sizeof graphs / sizeof *graphs,
    N_MESHES = sizeof meshes / sizeof *meshes,
    N_SEEDS = 6
};

static bool joint(const rec_tensor *t)
{
    for (int d = 0; d < t->rank; d++)
        if (t->dim[d].axis == SYN_BOTH) return true;
    return false;
}

START_TEST(random_plans)
{
    int over_both[COST_RESHARD + 1] = {0}, within[COST_RESHARD + 1] = {0}; // of cuts over both axes
    int seen[REC_WAIT + 1] = {0}, coll[COST_RESHARD + 1] = {0};
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graphs[_i], &(ir_options){0}, d);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(g);
    ir_factors *f = ir_factorize(a, g);
    for (int m = 0; m < N_MESHES; m++)
        for (uint64_t seed = 1; seed <= N_SEEDS; seed++) {
            hb_arena *one = hb_arena_new();
            gen_options o = meshes[m];
            o.seed = seed * 1000 + (uint64_t)m;
            record *r = gen_record(one, g, f, &o, NULL);
            hb_str why;
            bool ok = syn_check(one, g, f, r, &why);
            ck_assert_msg(ok, "%s mesh %d seed %llu: %.*s", graphs[_i], m, (unsigned long long)seed,
                          HB_ARG(why));
            for (int i = 0; i < r->calls.n; i++) {
                seen[r->calls.p[i].kind]++;
                const rec_call *k = &r->calls.p[i];
                if (k->kind != REC_START) continue;
                coll[k->coll]++;
                if (k->axes == 3u) over_both[k->coll]++;
                if (k->axes == 2u &&
                    (joint(&r->tensors.p[k->in[0]]) || joint(&r->tensors.p[k->out[0]])))
                    within[k->coll]++;
            }
            hb_arena_free(one);
        }
    for (int k = 0; k <= COST_RESHARD; k++) // the plans do use everything
        ck_assert_msg(coll[k] > 0, "%s: no %s in any plan", graphs[_i],
                      cost_coll_name((cost_coll)k));
    for (int k = 0; k <= COST_RESHARD; k++) {
        ck_assert_msg(over_both[k] > 0, "%s: no %s over both axes", graphs[_i],
                      cost_coll_name((cost_coll)k));
        bool none = k == COST_ALL_REDUCE || k == COST_RESHARD;
        ck_assert_msg(none || within[k] > 0, "%s: no %s of a joint cut over axis 1", graphs[_i],
                      cost_coll_name((cost_coll)k));
    }
    ck_assert_int_gt(seen[REC_SLICE], 0);
    ck_assert_int_gt(seen[REC_PARTIAL], 0);
    ck_assert_int_eq(seen[REC_START], seen[REC_WAIT]);
    hb_arena_free(a);
}
END_TEST

// Steps of random graphs: rows, views and broadcasts that the samples do not have.
START_TEST(random_graphs)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = random_graph(a, (uint64_t)_i, (random_graph_options){.n_ops = 12, .train = true});
    ir_factors *f = ir_factorize(a, g);
    for (int m = 0; m < N_MESHES; m++) {
        gen_options o = meshes[m];
        o.seed = (uint64_t)(_i * N_MESHES + m);
        record *r = gen_record(a, g, f, &o, NULL);
        hb_str why;
        ck_assert_msg(syn_check(a, g, f, r, &why), "graph %d mesh %d: %.*s", _i, m, HB_ARG(why));
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("check_accept");
    TCase *t = tcase_create("generated");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, random_plans, 0, N_GRAPHS);
    tcase_add_loop_test(t, random_graphs, 0, 100);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
