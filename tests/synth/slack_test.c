// What time a plan leaves for transfers (synth/search/slack.h), and what searches make of it.
//
//  between   a value's slack is what is computed between the op that makes it and its first reader
//  hidden    plans that hide transfers are found: two more devices make no plan slower, where the
//            additive model alone stays on one device

#include <check.h>
#include <math.h>

#include "clusters/cluster.h"
#include "ir/factors.h"
#include "synth/search/slack.h"
#include "synth/search/synth.h"
#include "tests/support/plan_facts.h"
#include "tests/support/small_models.h"

static double longest(const syn_program *p, int i)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        most = fmax(most, p->instr.p[i].sec[c]);
    return most;
}

static bool has(const syn_program *p, int n, const int *list, int value)
{
    for (int k = 0; k < n; k++)
        if (p->tensors.p[list[k]].value == value) return true;
    return false;
}

// Seconds of ops, slices and partials behind the op that makes a value, up to its first reader; -1:
// it has not both.
static double between(const syn_program *p, int value)
{
    int made = -1;
    double sum = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        bool computes = in->kind != SYN_START && in->kind != SYN_WAIT;
        if (made >= 0 && in->kind == SYN_OP && has(p, in->n_in, in->in, value)) return sum;
        if (made >= 0 && computes) sum += longest(p, i);
        if (made < 0 && in->kind == SYN_OP && has(p, in->n_out, in->out, value)) made = i;
    }
    return -1;
}

START_TEST(is_what_lies_between)
{
    hb_arena *a = hb_arena_new();
    device d[2] = {{4, 100, 30, 5, 1e4}, {4, 100, 30, 5, 1e4}};
    cl_cluster *c = small_cluster(a, 1, 2, d, 0, 0);
    cost_model m = {.cluster = c};
    ir_graph *g = small_mlp(a, 256, 4, (int64_t[]){512, 2048, 512, 2048, 512});
    syn_options o = syn_default_options();
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    const syn_program *p = r.program;
    const syn_kinds *kinds = r.space->kinds;
    const syn_slack *s = syn_slack_of(a, p, kinds, (syn_hiding){.price = 0.5});
    ck_assert(s->price == 0.5);
    int seen = 0;
    for (int t = 0; t < g->tensors.n; t++) {
        ck_assert(s->sec[t] >= 0 && s->sec[t] <= r.predicted_sec);
        if (g->tensors.p[t].kind != IR_VALUE) continue;
        double sum = 0;
        int n = 0;
        for (int u = 0; u < g->tensors.n; u++)
            if (kinds->tensor[u] == kinds->tensor[t]) {
                double one = between(p, u);
                if (one < 0) n = g->tensors.n; // is read by none: until the end
                sum += one;
                n++;
            }
        if (n >= g->tensors.n) continue;
        ck_assert_double_eq_tol(s->sec[t], sum / n, 1e-12);
        seen += sum > 0;
    }
    ck_assert_int_ge(seen, 5);
    hb_arena_free(a);
}
END_TEST

static double planned(const char *graph, const char *cluster)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    ir_graph *g = ir_build(a, graph, &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    hb_diag_print(d, stderr);
    ck_assert(g && c);
    cost_model m = {.cluster = c};
    syn_options o = syn_default_options();
    o.baselines = false;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    double sec = r.status == SYN_OK ? r.predicted_sec : HUGE_VAL;
    hb_arena_free(a);
    return sec;
}

START_TEST(hides_transfers)
{
    static const char *const graphs[] = {"examples/vit-tiny/graph.json",
                                         "examples/bert-moe-tiny/graph.json"};
    for (int i = 0; i < 2; i++) {
        double one = planned(graphs[i], "clusters/laptop1.yaml"),
               two = planned(graphs[i], "clusters/laptop2.yaml"),
               four = planned(graphs[i], "clusters/laptop.yaml"),
               apart = planned(graphs[i], "clusters/laptop2x2.yaml");
        ck_assert_msg(two < one * 0.95, "%s: %g s on one device, %g on two", graphs[i], one, two);
        ck_assert_msg(four <= two * 1.005, "%s: %g s on two, %g on four", graphs[i], two, four);
        ck_assert_msg(apart <= two * 1.005, "%s: %g s on two, %g on 2 x 2", graphs[i], two, apart);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("slack");
    TCase *t = tcase_create("slack");
    tcase_set_timeout(t, 120);
    tcase_add_test(t, is_what_lies_between);
    tcase_add_test(t, hides_transfers);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed > 0;
}
