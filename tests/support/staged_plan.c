#include "tests/support/staged_plan.h"

#include <check.h>
#include <stdio.h>
#include <string.h>

#include "synth/search/prove_stages.h"

const char *const staged_three =
    "name: three\n"
    "machines:\n"
    "  - name: a\n"
    "    devices:\n"
    "      - {name: fast, kind: cpu, f32: 80 GFLOP/s, memory: 16 GiB, memory_bandwidth: 16 GB/s}\n"
    "      - {name: slow, kind: cpu, f32: 20 GFLOP/s, memory: 4 GiB, memory_bandwidth: 4 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "  - name: b\n"
    "    count: 3\n"
    "    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}\n"
    "      - {name: slow, kind: cpu, f32: 20 GFLOP/s, memory: 4 GiB, memory_bandwidth: 4 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "network: {bandwidth: 1 GB/s, latency: 20 us}\n"
    "source: datasheet\n";

cl_cluster *staged_cluster(hb_arena *a, const char *text)
{
    hb_diag *d = hb_diag_new(a);
    hb_source *src = HB_NEW(a, hb_source);
    *src = (hb_source){HB_STR("some.yaml"), {text, strlen(text)}};
    cl_cluster *c = cl_read_source(a, src, "clusters/devices.yaml", d);
    if (!c) hb_diag_print(d, stderr);
    ck_assert(c);
    return c;
}

syn_staged_result staged_try(hb_arena *a, const cl_cluster *c, ir_graph *g, const staged_wish *w)
{
    cost_model *m = hb_alloc(a, sizeof *m * (size_t)w->n);
    syn_stage_wish *wish = hb_alloc(a, sizeof *wish * (size_t)w->n);
    int **rank = HB_ARRAY(a, int *, w->n);
    syn_options o = syn_default_options();
    hb_diag *d = hb_diag_new(a);
    o.micro_batches = w->micro;
    o.weights = w->weights;
    (void)syn_strategy_parse((hb_str){w->strategy, strlen(w->strategy)}, &o.strategy);
    for (int s = 0; s < w->n; s++) {
        bool *own = HB_ARRAY(a, bool, c->n_ranks);
        int end = w->device ? w->device[s + 1] : 2 * s + 2;
        for (int r = w->device ? w->device[s] : 2 * s; r < end; r++)
            own[r] = true;
        rank[s] = HB_ARRAY(a, int, c->n_ranks);
        wish[s] = (syn_stage_wish){
            .first_layer = w->first[s], .mesh = w->mesh, .under_way = w->limit ? w->limit[s] : 0};
        m[s] = (cost_model){.cluster = cl_part(a, c, own, rank[s])};
    }
    syn_staged_result r = syn_plan_stages(a, g, c, w->n, wish, m, rank, &o, d);
    hb_diag_print(d, stderr);
    ck_assert_int_eq(hb_diag_count(d), 0);
    return r;
}

syn_staged *staged_plan(hb_arena *a, const cl_cluster *c, ir_graph *g, const staged_wish *w)
{
    syn_staged_result r = staged_try(a, c, g, w);
    ck_assert_msg(r.plan, "%.*s", HB_ARG(r.why));
    return r.plan;
}

bool staged_proved(syn_staged *p)
{
    hb_arena *a = hb_arena_new();
    hb_str why = {0};
    bool ok = syn_prove_stages(a, p, &why);
    ck_assert(ok || why.n > 0);
    hb_arena_free(a);
    return ok;
}
