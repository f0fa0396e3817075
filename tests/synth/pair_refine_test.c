// Which chunks a planned pair gets does not hang on those that it had: of the whole family they are
// the best by what cost_pair_search chooses by, not by the price alone.

#include <check.h>
#include <stdlib.h>

#include "ir/graph.h"
#include "synth/price/moves.h"
#include "synth/price/pair_cost.h"
#include "synth/search/synth.h"

typedef struct planned {
    hb_arena *a;
    ir_graph *g;
    ir_factors *f;
    cost_model m;
    syn_program *p;
} planned;

// bf16, on four GPUs that write into each other's memory.
static void plan(planned *x, int64_t batch)
{
    x->a = hb_arena_new();
    hb_diag *d = hb_diag_new(x->a);
    ir_options o = {.batch = batch, .precision = IR_PRECISION_BF16};
    syn_options s = syn_default_options();
    x->g = ir_build(x->a, "examples/gpt2-8k/graph.json", &o, d);
    ck_assert_ptr_nonnull(x->g);
    x->f = ir_factorize(x->a, x->g);
    x->m = (cost_model){.math = COST_BF16};
    x->m.cluster = cl_read(x->a, "clusters/h200x4.yaml", NULL, d);
    ck_assert_ptr_nonnull(x->m.cluster);
    x->m.cluster->cls[0].pair_gap = 10e-6; // as an H200's profile says, so that chunks are joined
    x->m.cluster->cls[0].pair_flag = 3e-6;
    syn_result r = syn_synthesize(x->a, x->g, x->f, &x->m, &s);
    ck_assert_int_eq(r.status, SYN_OK);
    x->p = r.program;
}

// Chunks of the whole family for a pair that has one of each other member; bit i: the one at i + 1
// is joined to the one before it.
static const syn_pair *refined(planned *x, int k, unsigned joined)
{
    syn_pair *pair = &x->p->pairs.p[k];
    int n = syn_group_size(x->p->mesh, x->p->instr.p[syn_pair_start(x->p, pair)].axes);
    pair->n_chunks = n;
    pair->chunk = hb_alloc(x->a, sizeof *pair->chunk * (size_t)n);
    for (int i = 0; i < n; i++) {
        pair->chunk[i][0] = (i + 1) % n;
        pair->chunk[i][1] = i > 0 && i < n - 1 && joined >> (i - 1) & 1 ? -1 : 1;
        pair->chunk[i][2] = 0;
    }
    syn_costs *c = syn_costs_new(x->a, &x->m, x->p->mesh, x->g, x->f);
    syn_price_pairs(x->p, c);
    syn_refine_pairs(x->p, c);
    return hb_copy(x->a, pair, sizeof *pair);
}

static void same_groups(const syn_pair *x, const syn_pair *y)
{
    ck_assert_int_eq(x->n_chunks, y->n_chunks);
    for (int i = 0; i < x->n_chunks; i++)
        for (int j = 0; j < 3; j++)
            ck_assert_int_eq(x->chunk[i][j], y->chunk[i][j]);
}

START_TEST(groups_do_not_hang_on_those_before)
{
    int producers = 0, apart = 0;
    for (int64_t batch = 1; batch <= 8; batch++) {
        planned x;
        plan(&x, batch);
        for (int k = 0; k < x.p->pairs.n; k++) {
            if (syn_is_consumer(x.p, &x.p->pairs.p[k])) continue;
            const syn_pair *first = refined(&x, k, 0);
            for (unsigned joined = 1; joined < 4; joined++)
                same_groups(first, refined(&x, k, joined));
            producers++;
            apart += first->chunk[1][1] > 0;
        }
        hb_arena_free(x.a);
    }
    ck_assert_int_gt(producers, 10);
    ck_assert_int_gt(apart, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("pair_refine");
    TCase *t = tcase_create("chunks");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, groups_do_not_hang_on_those_before);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
