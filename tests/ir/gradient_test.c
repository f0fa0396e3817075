// Gradients of whole random graphs: the backward pass that ir_autodiff builds, run on the CPU
// kernels, against the slope of the loss along a random direction in parameter space. Single rows
// are op_values_test's; here sums of gradients, broadcasts, views and dead branches meet.

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "tests/support/interp.h"
#include "tests/support/random_graph.h"

static double uniform(random_source *r)
{
    return random_below(r, 20001) / 10000.0 - 1;
}

// Small inputs keep products of many factors near 1; ids stay inside the smallest table.
static void fill_inputs(interp *x, random_source *r)
{
    for (int i = 0; i < x->g->tensors.n; i++) {
        const ir_tensor *t = &x->g->tensors.p[i];
        if (t->kind != IR_INPUT) continue;
        for (int64_t k = 0; k < x->t[i].elements; k++) {
            if (t->dtype == IR_I64)
                ((int64_t *)x->t[i].data)[k] = random_below(r, 4);
            else
                ((float *)x->t[i].data)[k] = (float)uniform(r);
        }
    }
}

// theta + h v, from kept values (by tensor; NULL: not a parameter).
static void move(interp *x, float **kept, float **v, double h)
{
    for (int i = 0; i < x->g->tensors.n; i++)
        for (int64_t k = 0; kept[i] && k < x->t[i].elements; k++)
            ((float *)x->t[i].data)[k] = kept[i][k] + (float)h * v[i][k];
}

// The gradient of a parameter, NULL if the graph has none: then it must not matter to the loss.
static const float *gradient_of(const interp *x, int param)
{
    for (int i = 0; i < x->g->grads.n; i += 2)
        if (x->g->grads.p[i] == param) return x->t[x->g->grads.p[i + 1]].data;
    return NULL;
}

static double loss_at(interp *x, float **kept, float **v, double h)
{
    move(x, kept, v, h);
    const char *why = interp_run_until(x, IR_FORWARD);
    ck_assert_msg(!why, "%s", why);
    return (double)interp_loss(x);
}

// True if some step size brings the extrapolated central difference within tolerance. Losses are
// f32, so the slope carries about eps |loss| / h; kinks of relu inside the stencil spoil a large h
// only.
static bool agrees(uint64_t seed, random_graph_options o, double *slope, double *want)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = random_graph(a, seed, o);
    interp *x = interp_new(a, g, seed);
    random_source r = {seed ^ 0x5555};
    fill_inputs(x, &r);
    const char *why = interp_run_until(x, IR_BACKWARD);
    ck_assert_msg(!why, "seed %d: %s", (int)seed, why);
    int n = g->tensors.n;
    float **kept = HB_ARRAY(a, float *, n), **v = HB_ARRAY(a, float *, n);
    double size = 0, loss = fabs((double)interp_loss(x));
    *want = 0;
    for (int i = 0; i < n; i++) {
        if (g->tensors.p[i].kind != IR_PARAM) continue;
        const float *dp = gradient_of(x, i);
        kept[i] = hb_copy(a, x->t[i].data, (size_t)x->t[i].bytes);
        v[i] = HB_ARRAY(a, float, x->t[i].elements);
        for (int64_t k = 0; k < x->t[i].elements; k++) {
            v[i][k] = (float)uniform(&r);
            double part = dp ? (double)v[i][k] * (double)dp[k] : 0;
            *want += part;
            size += fabs(part);
        }
    }
    bool good = false;
    for (double h = 0x1p-4; h > 0x1p-11 && !good; h /= 2) {
        double d1 = (loss_at(x, kept, v, h) - loss_at(x, kept, v, -h)) / (2 * h);
        double d2 = (loss_at(x, kept, v, h / 2) - loss_at(x, kept, v, -h / 2)) / h;
        *slope = (4 * d2 - d1) / 3;
        good = fabs(*slope - *want) <= 2e-3 * size + 4e-7 * loss / h;
    }
    hb_arena_free(a);
    return good;
}

START_TEST(random_graphs)
{
    int wrong = 0;
    for (uint64_t seed = 0; seed < 250; seed++) {
        double slope, want;
        random_graph_options o = {
            .n_ops = 2 + (int)(seed % 9), .train = true, .linear = seed % 3 == 0};
        if (!agrees(seed, o, &slope, &want)) {
            printf("seed %d: slope %.6g, gradient gives %.6g\n", (int)seed, slope, want);
            wrong++;
        }
    }
    ck_assert_int_eq(wrong, 0);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("gradient");
    TCase *t = tcase_create("gradient");
    tcase_set_timeout(t, 100);
    tcase_add_test(t, random_graphs);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed;
}
