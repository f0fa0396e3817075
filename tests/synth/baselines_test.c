// No strategy, on any mesh, is simulated faster than `auto`: random small training steps on
// clusters of one and of two machines, alike and unequal.

#include <check.h>
#include <math.h>

#include "tests/support/cases.h"
#include "tests/support/plan_facts.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_models.h"

static double between(random_source *r, double least, double most)
{
    return least * pow(most / least, random_below(r, 1000) / 999.0);
}

static ir_graph *random_model(hb_arena *a, random_source *r)
{
    int64_t w = 128 << random_below(r, 3);
    if (random_below(r, 3))
        return small_mlp(a, 256 << random_below(r, 5), 4, (int64_t[]){w, 8 * w, w, 8 * w, 64});
    return small_attention(a, &(small_transformer){.batch = 8 << random_below(r, 2),
                                                   .tokens = 64,
                                                   .width = 256,
                                                   .heads = 4,
                                                   .hidden = 1024,
                                                   .vocabulary = 64,
                                                   .n_layers = 1,
                                                   .norm = true});
}

static cl_cluster *random_cluster(hb_arena *a, random_source *r)
{
    device d[8];
    int machines = 1 + random_below(r, 2), per = 2 + random_below(r, 3);
    bool alike = random_below(r, 2);
    double link = between(r, 10, 300), latency = between(r, 1, 20), slow = between(r, 1, 4);
    for (int k = 0; k < machines * per; k++) {
        bool fast = alike || k < (machines == 2 ? per : 2);
        d[k] = (device){fast ? 4 : 4 / slow, fast ? 400 : 400 / slow, link, latency, 0};
    }
    return small_cluster(a, machines, per, d, between(r, 1, 25), 20);
}

START_TEST(never_behind)
{
    random_source r = {(uint64_t)_i * 41 + 3};
    hb_arena *a = hb_arena_new();
    ir_graph *g = random_model(a, &r);
    ir_factors *f = ir_factorize(a, g);
    cost_model m = {.cluster = random_cluster(a, &r)};
    syn_options o = syn_default_options();
    o.baselines = true;
    syn_result best = syn_synthesize(a, g, f, &m, &o);
    ck_assert_int_eq(best.status, SYN_OK);
    o.baselines = false;
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        o.strategy = (syn_strategy)s;
        syn_result other = syn_synthesize(a, g, f, &m, &o);
        ck_assert_int_ne(other.status, SYN_FAILED_CHECK);
        ck_assert_msg(other.status == SYN_INFEASIBLE ||
                          best.predicted_sec <= other.predicted_sec * (1 + 1e-9),
                      "%s takes %.6g ms, auto %.6g ms", syn_strategy_name(o.strategy),
                      other.predicted_sec * 1e3, best.predicted_sec * 1e3);
    }
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("baselines");
    TCase *t = tcase_create("auto");
    tcase_set_timeout(t, 120);
    tcase_add_loop_test(t, never_behind, 0, test_cases(12, 60, 600));
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
