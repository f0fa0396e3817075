// The checker rejects every single fault that makes a program wrong: seeded mutants of random
// plans.

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

#include "tests/certify/mutate.h"
#include "tests/certify/record_gen.h"
#include "tests/support/cases.h"

static const struct {
    const char *graph;
    gen_options o;
    int seeds; // mutants tried of each kind
} bases[] = {
    {"examples/mlp/graph.json",
     {.n_axes = 1, .size = {3}, .n_classes = 2, .cut_percent = 90, .seed = 11, .keep_grads = true},
     20},
    {"examples/mlp/graph.json",
     {.n_axes = 2,
      .size = {2, 2},
      .n_classes = 2,
      .cut_percent = 90,
      .seed = 12,
      .keep_grads = true},
     20},
    {"examples/gpt2-tiny/graph.json",
     {.n_axes = 1, .size = {4}, .n_classes = 2, .cut_percent = 90, .seed = 13, .keep_grads = true},
     20},
    {"examples/gpt2-tiny/graph.json",
     {.n_axes = 2, .size = {2, 2}, .n_classes = 3, .cut_percent = 90, .seed = 14},
     20},
    {"examples/gpt2-tiny/graph.json",
     {.n_axes = 2, .size = {2, 2}, .n_classes = 2, .cut_percent = 90, .seed = 16},
     20},
    {"examples/bert-tiny/graph.json",
     {.n_axes = 2,
      .size = {2, 3},
      .n_classes = 2,
      .cut_percent = 80,
      .seed = 15,
      .keep_grads = true},
     10},
};
enum { N_BASES = sizeof bases / sizeof *bases };

START_TEST(every_fault_is_rejected)
{
    int made[MUT_N] = {0}, total = 0, accepted = 0;
    for (int b = 0; b < N_BASES; b++) {
        hb_arena *a = hb_arena_new();
        hb_diag *d = hb_diag_new(a);
        ir_graph *g = ir_build(a, bases[b].graph, &(ir_options){0}, d);
        ck_assert_ptr_nonnull(g);
        ir_factors *f = ir_factorize(a, g);
        record *r = gen_record(a, g, f, &bases[b].o, NULL);
        hb_str why;
        bool right = syn_check(a, g, f, r, &why);
        ck_assert_msg(right, "%s: %.*s", bases[b].graph, HB_ARG(why));
        for (int k = 0; k < MUT_N; k++)
            for (int s = 1; s <= test_cases(4, bases[b].seeds, 4 * bases[b].seeds); s++) {
                hb_arena *one = hb_arena_new();
                hb_str what;
                record *w = mutate(one, r, (mut_kind)k, (uint64_t)s, &what);
                if (w) {
                    made[k]++;
                    total++;
                    if (syn_check(one, g, f, w, &why)) {
                        accepted++;
                        fprintf(stderr, "accepted: base %d, %.*s\n", b, HB_ARG(what));
                    } else if (getenv("MUTATE_PRINT")) {
                        fprintf(stderr, "%-40.*s %.*s\n", HB_ARG(what), HB_ARG(why));
                    }
                    ck_assert_uint_gt(why.n + accepted, 0);
                }
                hb_arena_free(one);
            }
        hb_arena_free(a);
    }
    ck_assert_msg(accepted == 0, "%d of %d wrong programs were accepted", accepted, total);
    for (int k = 0; k < MUT_N; k++)
        ck_assert_msg(made[k] >= test_cases(1, 5, 5), "only %d mutants of kind %s", made[k],
                      mutate_names[k]);
    ck_assert_int_ge(total, test_cases(60, 500, 500));
    printf("%d wrong programs of %d kinds rejected\n", total, MUT_N);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("mutate");
    TCase *t = tcase_create("generated");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, every_fault_is_rejected);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
