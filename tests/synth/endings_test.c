// Fusions that end a matmul (HAP_ENDING of runtime/hap/joins.def): which they are, case by case as
// runtime/cuda/fuse/cuda_fuse_gated.c has them, and what is left of their time.
// tests/cuda/gated_plans_test.c compares with that file's own look at the ops.

#include <check.h>
#include <math.h>

#include "synth/price/endings.h"
#include "synth/price/fusion_cost.h"
#include "synth/price/simulate_plan.h"
#include "tests/support/gated_models.h"
#include "tests/support/graph_text.h"

// What is planned for one device.
typedef struct planned {
    hb_arena *a;
    cost_model *m;
    syn_program *p;
    cl_class *cls;
} planned;

static planned plan(const gated_model *g, int arch)
{
    planned x = {.a = hb_arena_new()};
    x.m = gated_device(x.a, arch);
    x.p = gated_plan(x.a, g, x.m);
    x.cls = &x.m->cluster->cls[0];
    return x;
}

static int count(const planned *x)
{
    int n = 0;
    syn_endings e = syn_endings_of(x->a, x->p);
    for (int k = 0; k < x->p->fusions.n; k++)
        n += syn_ends_matmul(x->p, &e, &x->p->fusions.p[k], 0);
    return n;
}

START_TEST(as_the_runtime_joins)
{
    const gated_model *g = &gated_models[_i];
    planned x = plan(g, 90);
    ck_assert_msg(count(&x) == g->endings, "%s: %d endings, %d expected", g->what, count(&x),
                  g->endings);
    hb_arena_free(x.a);
}
END_TEST

// Of what a fusion writes, the bytes are left: the matmul's operands and what its ending reads come
// while it multiplies. On other devices, a kernel is.
START_TEST(what_is_left)
{
    planned x = plan(&gated_models[0], 90);
    cost_timeline t;
    double less = 0;
    ck_assert_int_eq(x.p->fusions.n > 1, true);
    for (int k = 0; k < x.p->fusions.n; k++) {
        const syn_fusion *g = &x.p->fusions.p[k];
        const int results = g->len == 2 ? 1 : g->len == 4 ? 2 : 0;
        double sec[CL_MAX_CLASSES];
        syn_fusion_seconds(x.p, g, sec);
        if (gated_ops(x.p, g)) less += sec[0] - cost_stream(x.cls, results * gated_bytes);
    }
    double now = syn_simulate(x.p, &t, false);
    x.cls->arch = 80;
    double before = syn_simulate(x.p, &t, false);
    ck_assert(less > 0);
    ck_assert_msg(fabs(before - now - less) < 1e-9, "%.9g s less, by hand %.9g", before - now,
                  less);
    hb_arena_free(x.a);
}
END_TEST

// The matmul of an overlapped pair is a call with its collective. Forward the other one may end
// with the product, the gate's past up's.
START_TEST(pairs_keep_their_matmul)
{
    planned x = plan(&gated_models[0], 90);
    const int made[] = {graph_node(x.p->g, "u"), graph_node(x.p->g, "g"),
                        graph_node(x.p->g, "d'dx")};
    static const int left[] = {2, 1, 0};
    for (int k = 0; k < 3; k++) {
        int at = 0;
        while (x.p->instr.p[at].node != made[k])
            at++;
        HB_PUSH(x.a, &x.p->pairs, (syn_pair){.first = at, .len = 1});
        ck_assert_int_eq(count(&x), left[k]);
    }
    hb_arena_free(x.a);
}
END_TEST

START_TEST(other_devices_have_kernels)
{
    static const int arch[] = {0, 70, 80, 89, 100};
    for (size_t i = 0; i < sizeof arch / sizeof *arch; i++) {
        planned x = plan(&gated_models[0], arch[i]);
        ck_assert_int_eq(count(&x), 0);
        hb_arena_free(x.a);
    }
    planned cpu = plan(&gated_models[0], 90);
    cpu.cls->kind = CL_CPU;
    ck_assert_int_eq(count(&cpu), 0);
    hb_arena_free(cpu.a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("endings");
    TCase *t = tcase_create("endings");
    tcase_set_timeout(t, 60);
    tcase_add_loop_test(t, as_the_runtime_joins, 0, n_gated_models);
    tcase_add_test(t, what_is_left);
    tcase_add_test(t, pairs_keep_their_matmul);
    tcase_add_test(t, other_devices_have_kernels);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
