// Plans by measured curves: bounds stay bounds and no baseline beats the plan, whatever the curves;
// what has no curve is named.
//
// Curves are drawn: families of any slope, seconds that may fall as sizes grow, collectives of any
// order of forms, contention. Mesh and graph are samples of the repository.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ir/base/plain.h"
#include "synth/price/simulate_plan.h"
#include "synth/search/synth.h"

static uint64_t state;

static double draw(void) // in [0, 1)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}

static void put_points(hb_buf *b, double first, double last, double sec_per)
{
    hb_putc(b, '[');
    int n = 0;
    for (double x = first; x < last; x *= 4 + 60 * draw())
        hb_printf(b, "%s[%.6g,%.6g]", n++ ? "," : "", x, 1e-7 + x * sec_per * pow(4, draw() - 0.5));
    hb_putc(b, ']');
}

static void put_families(hb_buf *b, double sec_per)
{
    hb_putc(b, '[');
    int n = 0;
    double first = 1e3;
    for (int f = 0; f < 3; f++, first *= 3) {
        double thin = 0.5 * pow(8, f);
        for (double x = first; x < 1e12; x *= 10 + 60 * draw(), thin *= 1.1)
            hb_printf(b, "%s[%.6g,%.6g,%.6g]", n++ ? "," : "", thin, x,
                      1e-7 + x * sec_per * pow(4, draw() - 0.5) / (f + 1));
    }
    hb_putc(b, ']');
}

static hb_str random_curves(hb_arena *a, const cl_cluster *c, bool all)
{
    static const char *const dense[] = {"linear",   "linear_dw", "matmul",  "sdpa",
                                        "sdpa_bwd", "dispatch",  "combine", "dispatch_dw"};
    hb_buf b = {.arena = a};
    hb_puts(&b, "{\"format\":\"hap.curves\",\"version\":1,\"classes\":{");
    for (int i = 0; i < c->n_classes; i++) {
        hb_puts(&b, i ? "," : "");
        hb_put_json(&b, c->cls[i].name);
        hb_puts(&b, ":{");
        for (int k = 0; k < (all ? 8 : 1); k++) {
            hb_printf(&b, "\"%s\":{\"f32\":", dense[k]);
            if (draw() < 0.5)
                put_families(&b, 1e-10 * (1 + 3 * draw()));
            else
                put_points(&b, 100, 1e12, 1e-10 * (1 + 3 * draw()));
            hb_puts(&b, "},");
        }
        hb_puts(&b, "\"gelu\":{\"f32\":");
        put_points(&b, 100, 1e9, 1e-9 * (1 + 3 * draw()));
        hb_puts(&b, "},\"other\":{\"f32\":");
        put_points(&b, 100, 1e9, 1e-9 * (1 + 3 * draw()));
        hb_puts(&b, "},\"copy\":{\"f32\":");
        put_points(&b, 100, 1e9, 1e-9 * draw());
        hb_puts(&b, "}}");
    }
    hb_puts(&b, "},\"collectives\":[");
    bool any = false;
    for (int k = 0; k <= COST_RESHARD && all; k++)
        for (int i = 0; i < COST_PUTS + 3; i++)
            for (int crosses = 0; crosses < 2; crosses++)
                for (int n = 2; n <= 4; n += 2) {
                    // Of one-sided puts between four not those with two copies in flight.
                    cost_form f = i < COST_PUTS ? (cost_form)i : COST_PUT(i - COST_PUTS + 1);
                    if (!cost_form_exists((cost_coll)k, f)) continue;
                    if (i >= COST_PUTS && (f == COST_PUT(2) || cost_copies(f) >= n)) continue;
                    hb_printf(&b,
                              "%s{\"kind\":\"%s\",\"form\":\"%s\",\"n\":%d,\"axis_kind\":\"%s\","
                              "\"points\":",
                              any ? "," : "", cost_coll_name((cost_coll)k), cost_form_name(f).s, n,
                              crosses ? "between" : "inside");
                    put_points(&b, 100, 1e9, 1e-9 * draw());
                    hb_putc(&b, '}');
                    any = true;
                }
    hb_puts(&b, "],\"contention\":[");
    for (int i = 0; i < c->n_classes; i++) {
        hb_puts(&b, i ? ",{\"class\":" : "{\"class\":");
        hb_put_json(&b, c->cls[i].name);
        hb_printf(&b, ",\"compute\":%.4g,\"communication\":%.4g}", 1 + draw(), 1 + 2 * draw());
    }
    hb_puts(&b, "]}");
    return hb_done(&b);
}

static void plan(const char *graph, const char *cluster, uint64_t seed, bool all)
{
    hb_arena *a = hb_arena_new();
    hb_diag *d = hb_diag_new(a);
    char path[] = "/tmp/hap-curves-XXXXXX";
    ir_graph *g = ir_build(a, graph, &(ir_options){0}, d);
    cl_cluster *c = cl_read(a, cluster, "clusters/devices.yaml", d);
    int fd = mkstemp(path);
    ck_assert(g && c && fd >= 0);
    close(fd);
    state = seed;
    ck_assert(hb_write_file(path, random_curves(a, c, all)));
    cost_model m = {.cluster = c, .curves = cost_curves_read(a, path, d)};
    unlink(path);
    hb_diag_print(d, stderr);
    ck_assert_ptr_nonnull(m.curves);
    cost_apply_curves(m.curves, c);
    ck_assert_double_ge(c->cls[0].compute_contention, 1);
    syn_options o = syn_default_options();
    o.baselines = true;
    syn_result r = syn_synthesize(a, g, ir_factorize(a, g), &m, &o);
    ck_assert_int_eq(r.status, SYN_OK);
    ck_assert_double_le(r.lower_bound_sec, r.predicted_sec);
    ck_assert_double_le(r.additive_bound_sec, r.additive_sec);
    for (int s = 0; s < syn_n_strategies; s++) {
        if (r.baseline_sec[s] < 0) continue;
        ck_assert_double_le(r.predicted_sec, r.baseline_sec[s]);
        ck_assert_double_le(r.lower_bound_sec, r.baseline_sec[s]);
    }
    hb_str missing = syn_unmeasured(a, r.program, &m);
    if (all)
        ck_assert_msg(missing.n == 0, "%s", missing.p);
    else
        ck_assert_ptr_nonnull(strstr(missing.p, "linear_dw"));
    hb_arena_free(a);
}

START_TEST(bounds_hold)
{
    static const char *const clusters[] = {"clusters/laptop.yaml", "clusters/laptop2x2.yaml",
                                           "clusters/a100x2-v100x2.yaml"};
    static const char *const graphs[] = {"examples/mlp/graph.json",
                                         "examples/gpt2-tiny/graph.json"};
    for (uint64_t seed = 1; seed <= 6; seed++)
        plan(graphs[seed % 2], clusters[_i], seed * 97 + (uint64_t)_i, seed != 6);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("measured plans");
    TCase *c = tcase_create("measured plans");
    tcase_set_timeout(c, 300);
    tcase_add_loop_test(c, bounds_hold, 0, 3);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
