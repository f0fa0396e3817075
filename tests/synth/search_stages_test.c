// The search for stages (synth/search/search_stages.h).
//
//  draw     small models on unlike machines: no slower than stages that are drawn at random, in the
//           number of micro-batches that is best for them, but for what the table leaves out
//  sizes    the same with more machines, where all groups of a table have one size
//  worth    nothing that is not faster than what is known
//  asked    the plan without stages is asked for as far as it may be faster, and then wins
//  whole    a plan without stages that is of use only below so many seconds
//  monotone no slower with a machine more, more memory, a faster network
//  again    where memory binds, stages that need it compute their blocks again, others do not; it
//           is no slower than if all did, and does not fit if none does
//  parts    a machine of slow-linked devices, two machines of unlike devices: stages on parts of
//           them, no slower than stages that are drawn on any devices that follow each other, and
//           faster than the plan without stages where that is said
//  units    of parts there are as many as said at most; groups of any cluster that its units have
//           room for get devices, each its own: so many of one machine, or whole machines
//  few      one device, or one layer, has no stages

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "ir/variant.h"
#include "synth/passes/arena_plan.h"
#include "synth/price/price_stages.h"
#include "synth/search/search_stages.h"
#include "synth/search/stage_groups.h"
#include "tests/support/cases.h"
#include "tests/support/random_graph.h"
#include "tests/support/small_models.h"

// A table of costs adds layers up, what is drawn is simulated in full. Of the 180 draws at night
// the worst was 3.7 % quicker.
static const double NEAR = 1.05;
enum { ROOMY = 8192 }; // MiB

static cl_cluster *cluster_from(hb_arena *a, hb_str text)
{
    hb_diag *d = hb_diag_new(a);
    hb_source *src = HB_NEW(a, hb_source);
    *src = (hb_source){HB_STR("some.yaml"), text};
    cl_cluster *c = cl_read_source(a, src, "clusters/devices.yaml", d);
    if (!c) hb_diag_print(d, stderr);
    ck_assert(c);
    return c;
}

// Machines of two devices of so many MiB, one of one slower with half of that; MB/s of the network.
static cl_cluster *cluster_of(hb_arena *a, int network, int machines, int mib)
{
    return cluster_from(
        a,
        hb_fmt(
            a,
            "name: some\nmachines:\n"
            "  - name: a\n    count: %d\n    devices:\n"
            "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: %d MiB, memory_bandwidth: 8 GB/s}\n"
            "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: %d MiB, memory_bandwidth: 8 GB/s}\n"
            "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
            "  - name: b\n    devices:\n"
            "      - {name: slow, kind: cpu, f32: 25 GFLOP/s, memory: %d MiB, memory_bandwidth: 6 GB/s}\n"
            "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
            "network: {bandwidth: %d MB/s, latency: 20 us}\nsource: datasheet\n",
            machines, mib, mib, mib / 2, network));
}

// Are its buffers and its seconds those of its programs and orders, whatever was tried meanwhile?
static void check_as_said(hb_arena *a, syn_staged *p)
{
    double sec = p->predicted_sec;
    for (int s = 0; s < p->n; s++) {
        syn_program *x = p->stage[s].program;
        int64_t bytes[CL_MAX_CLASSES];
        memcpy(bytes, x->peak_bytes, sizeof bytes);
        syn_arena(x);
        for (int c = 0; c < x->mesh->n_classes; c++)
            ck_assert_int_eq(x->peak_bytes[c], bytes[c]);
    }
    ck_assert_double_eq(syn_price_orders(syn_stage_prices_new(a, p)), sec);
}

static syn_staged_result asking(hb_arena *a, ir_graph *g, const cl_cluster *c, double worth,
                                const syn_whole_plan *whole)
{
    hb_diag *d = hb_diag_new(a);
    syn_options o = syn_default_options();
    o.log = getenv("HAP_TEST_LOG") ? stderr : NULL;
    const cost_model m = {.cluster = c};
    syn_staged_result r = syn_search_stages(a, g, &m, &o, worth, whole, d);
    syn_finish_stages(a, &r);
    hb_diag_print(d, stderr);
    ck_assert_int_eq(hb_diag_count(d), 0);
    if (r.plan) check_as_said(a, r.plan);
    return r;
}

static syn_staged_result searched(hb_arena *a, ir_graph *g, const cl_cluster *c, double worth)
{
    return asking(a, g, c, worth, NULL);
}

static ir_graph *model(hb_arena *a, const char *path)
{
    ir_graph *g = ir_build(a, path, &(ir_options){0}, hb_diag_new(a));
    ck_assert(g);
    ir_blocks(g);
    return g;
}

static ir_graph *tiny(hb_arena *a)
{
    return model(a, "examples/gpt2-tiny/graph.json");
}

// A machine that is not used, or some devices of one that follow each other.
static void draw_devices(const cl_cluster *c, random_source *r, bool part, bool *used, bool *device)
{
    int first = random_below(r, c->n_ranks);
    while (used[first])
        first = (first + 1) % c->n_ranks;
    const cl_machine *m = &c->machine[c->machine_of[first]];
    int end = part ? first + 1 + random_below(r, 2) : m->first_rank + m->n_ranks;
    if (!part) first = m->first_rank;
    for (int i = first; i < end && i < m->first_rank + m->n_ranks && !used[i]; i++)
        used[i] = device[i] = true;
}

// Layers by turns on machines or parts of them, each at most once.
static double drawn(hb_arena *a, ir_graph *g, const cl_cluster *c, random_source *r, bool part)
{
    int layers = ir_layers(a, g, NULL),
        n = 2 + random_below(r, part ? (c->n_ranks + 1) / 2 - 1 : c->n_machines - 1);
    if (n > layers) n = layers;
    syn_stage_wish w[IR_MAX_STAGES];
    cost_model m[IR_MAX_STAGES];
    int *rank[IR_MAX_STAGES], next = 0;
    bool *used = HB_ARRAY(a, bool, c->n_ranks);
    hb_diag *d = hb_diag_new(a);
    for (int s = 0; s < n; s++) {
        bool *device = HB_ARRAY(a, bool, c->n_ranks);
        draw_devices(c, r, part, used, device);
        w[s] = (syn_stage_wish){.first_layer = next};
        next += 1 + random_below(r, layers - next - (n - s - 1));
        rank[s] = HB_ARRAY(a, int, c->n_ranks);
        ck_assert(syn_stage_model(a, &(cost_model){.cluster = c}, device, rank[s], &m[s], d));
    }
    syn_options o = syn_default_options();
    syn_staged_result x = syn_plan_stages(a, g, c, n, w, m, rank, &o, d);
    if (getenv("HAP_TEST_LOG") && x.plan) {
        fprintf(stderr, "stages: drawn %g ms, %d micro-batches:", x.plan->predicted_sec * 1e3,
                x.plan->g->micro_batches);
        for (int s = 0; s < n; s++)
            fprintf(stderr, " %d@%.*s", w[s].first_layer, HB_ARG(m[s].cluster->machine[0].name));
        fputc('\n', stderr);
    }
    return x.plan ? x.plan->predicted_sec : HUGE_VAL;
}

START_TEST(draw)
{
    static const int network[] = {100, 1000};
    int n = test_cases(1, 3, 30);
    for (int k = 0; k < n; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {(uint64_t)k + 1};
        int64_t width[9];
        for (int i = 0; i <= 8; i++)
            width[i] = 32 * (4 + random_below(&r, 3));
        ir_graph *g = k % 3 == 2 ? tiny(a) : small_mlp(a, 64, 8, width);
        if (k % 3 != 2) g->batch = 64;
        const cl_cluster *c = cluster_of(a, network[k % 2], 1 + random_below(&r, 3), ROOMY);
        syn_staged_result x = searched(a, g, c, HUGE_VAL);
        ck_assert_msg(x.plan, "case %d: %.*s", k, HB_ARG(x.why));
        for (int i = 0; i < 6; i++) {
            double sec = drawn(a, g, c, &r, false);
            ck_assert_msg(x.plan->predicted_sec <= NEAR * sec, "case %d: %g ms, drawn %g", k,
                          x.plan->predicted_sec * 1e3, sec * 1e3);
        }
        hb_arena_free(a);
    }
}
END_TEST

// A box of four equal devices and one of two unlike pairs; two machines of unlike devices.
static const char *const slow_links[] = {
    "name: box\nmachines:\n"
    "  - name: box\n    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 4}\n"
    "    link: {bandwidth: 60 MB/s, latency: 20 us}\nsource: datasheet\n",
    "name: pairs\nmachines:\n"
    "  - name: box\n    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 2}\n"
    "      - {name: low, kind: cpu, f32: 25 GFLOP/s, memory: 8 GiB, memory_bandwidth: 6 GB/s, count: 2}\n"
    "    link: {bandwidth: 60 MB/s, latency: 20 us}\nsource: datasheet\n",
    "name: garage\nmachines:\n"
    "  - name: one\n    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s, count: 2}\n"
    "      - {name: top, kind: cpu, f32: 60 GFLOP/s, memory: 8 GiB, memory_bandwidth: 9 GB/s}\n"
    "    link: {bandwidth: 100 MB/s, latency: 20 us}\n"
    "  - name: two\n    devices:\n"
    "      - {name: low, kind: cpu, f32: 25 GFLOP/s, memory: 8 GiB, memory_bandwidth: 6 GB/s, count: 2}\n"
    "    link: {bandwidth: 100 MB/s, latency: 20 us}\n"
    "network: {bandwidth: 30 MB/s, latency: 50 us}\nsource: datasheet\n",
};

START_TEST(parts)
{
    int n = test_cases(2, 3, 12), faster = 0;
    for (int k = 0; k < n; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {(uint64_t)k + 1};
        int64_t width[9];
        for (int i = 0; i <= 8; i++)
            width[i] = 32 * (4 + random_below(&r, 3));
        ir_graph *g = small_mlp(a, 64, 8, width);
        g->batch = 64;
        const char *text = slow_links[k % 3];
        const cl_cluster *c = cluster_from(a, (hb_str){text, strlen(text)});
        syn_options o = syn_default_options();
        syn_result whole = syn_plan(a, g, &(cost_model){.cluster = c}, &o);
        syn_staged_result x = searched(a, g, c, HUGE_VAL);
        ck_assert_msg(x.plan, "case %d: %.*s", k, HB_ARG(x.why));
        faster += x.plan->predicted_sec < whole.predicted_sec;
        for (int i = 0; i < 8; i++) {
            double sec = drawn(a, g, c, &r, true);
            ck_assert_msg(x.plan->predicted_sec <= NEAR * sec, "case %d: %g ms, drawn %g", k,
                          x.plan->predicted_sec * 1e3, sec * 1e3);
        }
        hb_arena_free(a);
    }
    ck_assert_int_gt(faster, 0);
}
END_TEST

// --- groups of devices ---

static cl_cluster *random_cluster(hb_arena *a, random_source *r)
{
    hb_buf b = {.arena = a};
    hb_puts(&b, "name: some\nmachines:\n");
    for (int m = 0, n = 1 + random_below(r, 3); m < n; m++) {
        hb_printf(&b, "  - name: m%d\n    count: %d\n    devices:\n", m, 1 + random_below(r, 3));
        for (int k = 0, runs = 1 + random_below(r, 2); k < runs; k++)
            hb_printf(&b,
                      "      - {name: d%d, kind: cpu, f32: %d GFLOP/s, memory: 8 GiB, "
                      "memory_bandwidth: 8 GB/s, count: %d}\n",
                      k, 20 + 10 * k, 1 + random_below(r, 8));
        hb_puts(&b, "    link: {bandwidth: 1 GB/s, latency: 5 us}\n");
    }
    hb_puts(&b, "network: {bandwidth: 1 GB/s, latency: 20 us}\nsource: datasheet\n");
    return cluster_from(a, hb_done(&b));
}

typedef struct drawing {
    hb_arena *a;
    HB_VEC(int) group;
} drawing;

static bool keep_part(void *ctx, int group)
{
    drawing *x = ctx;
    HB_PUSH(x->a, &x->group, group);
    return true;
}

// Devices of a group: of its machines, or of one run of one machine.
static void check_placed(const syn_groups *g, const syn_group *v, const bool *device)
{
    const cl_cluster *c = g->m->cluster;
    int *machines = HB_ARRAY(g->a, int, g->kinds.n), first = -1, n = 0;
    for (int k = 0; k < g->kinds.n; k++)
        for (int i = 0; i < g->kinds.p[k].n; i++) {
            const cl_machine *m = &c->machine[g->kinds.p[k].machine[i]];
            int here = 0;
            for (int d = 0; d < m->n_ranks; d++) {
                if (!device[m->first_rank + d]) continue;
                if (first < 0) first = d;
                here++;
            }
            if (v->take)
                ck_assert(here == 0 || here == m->n_ranks);
            else
                ck_assert(here == 0 || (k == v->kind && here == v->n && n == 0));
            for (int d = first; !v->take && here > 0 && d < first + v->n; d++) {
                ck_assert(device[m->first_rank + d]);
                ck_assert_int_eq(c->class_of[m->first_rank + d],
                                 c->class_of[m->first_rank + v->first]);
            }
            n += here;
            machines[k] += here > 0;
        }
    ck_assert_int_gt(n, 0);
    for (int k = 0; k < g->kinds.n && v->take; k++)
        ck_assert_int_eq(machines[k], v->take[k]);
}

START_TEST(units)
{
    static const int most[] = {64, 256, 2000};
    int n = test_cases(60, 300, 3000), have = 0;
    for (int k = 0; k < n; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {(uint64_t)k + 1};
        const cost_model m = {.cluster = random_cluster(a, &r)};
        const cl_cluster *c = m.cluster;
        syn_groups *g = syn_groups_new(a, &m, hb_diag_new(a));
        syn_units u = syn_units_of_parts(g, most[k % 3]);
        have += u.n > 0;
        ck_assert(syn_unit_sets(&u) <= most[k % 3]);
        if (u.n == 0) u = syn_units_of_machines(g);
        drawing all = {.a = a};
        ck_assert(syn_parts_of(g, &u, keep_part, &all));
        for (int i = 0; i < g->kinds.n; i++) {
            int *take = HB_ARRAY(a, int, g->kinds.n);
            take[i] = 1;
            (void)keep_part(&all, syn_group_of_machines(g, take));
        }
        int left[64], group[64], placed = 0;
        memcpy(left, u.count, sizeof *left * (size_t)u.n);
        for (int tries = 0; tries < 60; tries++) { // as long as units are left
            int one = all.group.p[random_below(&r, all.group.n)], take[64];
            bool room = syn_group_units(g, &u, one, take);
            ck_assert(room);
            for (int i = 0; i < u.n; i++)
                room = room && take[i] <= left[i];
            for (int i = 0; i < u.n && room; i++)
                left[i] -= take[i];
            if (room) group[placed++] = one;
        }
        bool **device = syn_groups_place(a, g, placed, group);
        int *used = HB_ARRAY(a, int, c->n_ranks);
        for (int s = 0; s < placed; s++) {
            check_placed(g, &g->of.p[group[s]], device[s]);
            for (int i = 0; i < c->n_ranks; i++)
                used[i] += device[s][i];
        }
        for (int i = 0; i < c->n_ranks; i++)
            ck_assert_int_le(used[i], 1);
        hb_arena_free(a);
    }
    ck_assert_int_gt(have, n / 2);
}
END_TEST

// Machines of three kinds, of which there are more multisets than SYN_STAGE_SETS.
static const char *const kinds =
    "name: kinds\nmachines:\n"
    "  - name: a\n    count: 4\n    devices:\n"
    "      - {name: fast, kind: cpu, f32: 60 GFLOP/s, memory: 8 GiB, memory_bandwidth: 12 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "  - name: b\n    count: 4\n    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 8 GiB, memory_bandwidth: 8 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "  - name: c\n    count: 3\n    devices:\n"
    "      - {name: slow, kind: cpu, f32: 25 GFLOP/s, memory: 8 GiB, memory_bandwidth: 6 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "network: {bandwidth: 200 MB/s, latency: 20 us}\nsource: datasheet\n";

static ir_graph *twelve_layers(hb_arena *a, random_source *r)
{
    int64_t width[13];
    for (int i = 0; i <= 12; i++)
        width[i] = 32 * (4 + random_below(r, 3));
    ir_graph *g = small_mlp(a, 64, 12, width);
    g->batch = 64;
    return g;
}

START_TEST(sizes)
{
    int n = test_cases(1, 1, 12);
    for (int k = 0; k < n; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {(uint64_t)k + 1};
        ir_graph *g = twelve_layers(a, &r);
        const cl_cluster *c = cluster_from(a, (hb_str){kinds, strlen(kinds)});
        syn_staged_result x = searched(a, g, c, HUGE_VAL);
        ck_assert_msg(x.plan, "case %d: %.*s", k, HB_ARG(x.why));
        for (int i = 0; i < 6; i++) {
            double sec = drawn(a, g, c, &r, false);
            ck_assert_msg(x.plan->predicted_sec <= NEAR * sec, "case %d: %g ms, drawn %g", k,
                          x.plan->predicted_sec * 1e3, sec * 1e3);
        }
        hb_arena_free(a);
    }
}
END_TEST

typedef struct without { // a plan without stages, as it is asked for
    double sec, worth;   // its seconds; up to which it was asked for
    int asked;
} without;

static double ask(void *ctx, double worth)
{
    without *w = ctx;
    ck_assert_double_gt(worth, w->worth);
    w->worth = worth;
    w->asked++;
    return w->sec < worth ? w->sec : HUGE_VAL;
}

START_TEST(asked)
{
    static const double share[] = {0.5, 0.9, 0.999, 1.001, 2};
    bool twice = false;
    for (int k = 0; k < 5; k++) {
        hb_arena *a = hb_arena_new();
        random_source r = {1};
        ir_graph *g = twelve_layers(a, &r);
        const cl_cluster *c = cluster_from(a, (hb_str){kinds, strlen(kinds)});
        double sec = searched(a, g, c, HUGE_VAL).plan->predicted_sec;
        without w = {.sec = share[k] * sec};
        syn_staged_result x = asking(a, g, c, HUGE_VAL, &(syn_whole_plan){ask, &w});
        ck_assert(!x.plan == (share[k] < 1));
        if (x.plan) ck_assert_double_eq(x.plan->predicted_sec, sec);
        ck_assert_int_ge(w.asked, 1);
        ck_assert_int_le(w.asked, 2);
        twice = twice || (w.asked == 2 && !x.plan);
        hb_arena_free(a);
    }
    ck_assert(twice); // tables promised so much that it was asked for too little first
}
END_TEST

START_TEST(worth)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g = tiny(a);
    const cl_cluster *c = cluster_of(a, 1000, 2, ROOMY);
    syn_staged_result x = searched(a, g, c, HUGE_VAL);
    ck_assert_msg(x.plan, "%.*s", HB_ARG(x.why));
    ck_assert_int_ge(x.plan->n, 2);
    ck_assert(!searched(a, g, c, x.plan->predicted_sec).plan);
    hb_arena_free(a);
}
END_TEST

static const cl_cluster *h200s(hb_arena *a)
{
    return cl_read(a, "clusters/h200x4.yaml", "clusters/devices.yaml", hb_diag_new(a));
}

// Without stages, for less than so many seconds alone: what is found without that limit, or none.
START_TEST(whole)
{
    static const char *const path[] = {"examples/gpt2-tiny/graph.json",
                                       "examples/gpt2-xl/graph.json"}; // searched among few layers
    int n = test_cases(1, 2, 2);
    for (int k = 0; k < n; k++) {
        hb_arena *a = hb_arena_new();
        ir_graph *g = model(a, path[k]);
        const cost_model m = {.cluster = k == 0 ? cluster_of(a, 1000, 2, ROOMY) : h200s(a)};
        syn_options o = syn_default_options();
        ck_assert(k == 0 || g->nodes.n > SYN_LARGE);
        syn_result r = syn_plan(a, g, &m, &o);
        ck_assert_int_eq(r.status, SYN_OK);
        o.worth = 1.05 * r.predicted_sec;
        syn_result near = syn_plan(a, g, &m, &o);
        ck_assert_int_eq(near.status, SYN_OK);
        ck_assert_double_lt(near.predicted_sec, o.worth);
        o.worth = 0.9 * r.predicted_sec;
        syn_result none = syn_plan(a, g, &m, &o);
        ck_assert(none.status == SYN_INFEASIBLE || none.predicted_sec < o.worth);
        o.worth = 1e-3 * r.predicted_sec;
        ck_assert_int_eq(syn_plan(a, g, &m, &o).status, SYN_INFEASIBLE);
        hb_arena_free(a);
    }
}
END_TEST

// Seconds of the fastest plan, with stages or without; HUGE_VAL: none fits.
static double fastest(hb_arena *a, ir_graph *g, const cl_cluster *c)
{
    syn_options o = syn_default_options();
    syn_result r = syn_plan(a, g, &(cost_model){.cluster = c}, &o);
    double sec = r.status == SYN_OK ? r.predicted_sec : HUGE_VAL;
    syn_staged_result x = searched(a, g, c, sec);
    return x.plan ? x.plan->predicted_sec : sec;
}

// Pair k: is it slower with more? Not by more than `near` says.
static bool slower_with_more(int k, double near)
{
    hb_arena *a = hb_arena_new();
    random_source r = {(uint64_t)k + 1000};
    int64_t width[9];
    for (int i = 0; i <= 8; i++)
        width[i] = 64 * (4 + random_below(&r, 3));
    ir_graph *g = k % 2 == 1 ? tiny(a) : small_mlp(a, 64, 8, width);
    if (k % 2 == 0) g->batch = 64;
    int network = 50 << random_below(&r, 5), machines = 1 + random_below(&r, 3),
        mib = (k % 2 == 1 ? 4 : 12) + random_below(&r, 24);
    double less = fastest(a, g, cluster_of(a, network, machines, mib)), more;
    if (k % 3 == 0) machines++;
    if (k % 3 == 1) mib += mib / 2;
    if (k % 3 == 2) network *= 2;
    more = fastest(a, g, cluster_of(a, network, machines, mib));
    if (more > less) printf("pair %d: %g ms, with more %g\n", k, less * 1e3, more * 1e3);
    ck_assert_msg(isinf(less) || more <= near * less, "pair %d: %g ms, with more %g", k, less * 1e3,
                  more * 1e3);
    hb_arena_free(a);
    return more > less;
}

// Kept: with another machine a table had one pipeline alone, or two, on that, too; in full an other
// one is quicker. They were 9.5 and 0.56 % slower.
START_TEST(monotone)
{
    static const int kept[] = {72, 63};
    const char *first = getenv("HAP_TEST_SEED");
    int n = test_cases(1, 3, 100), from = first ? atoi(first) : 0, slower = 0;
    for (int k = from; k < from + n; k++)
        slower += slower_with_more(k, NEAR);
    for (size_t i = 0; !first && i < sizeof kept / sizeof *kept; i++)
        (void)slower_with_more(kept[i], 1.005);
    printf("monotone: %d of %d pairs slower\n", slower, n);
}
END_TEST

// Two machines that the layers hardly fit on, and a slow one with room.
static const char *const tight =
    "name: tight\nmachines:\n"
    "  - name: a\n    count: 2\n    devices:\n"
    "      - {name: mid, kind: cpu, f32: 40 GFLOP/s, memory: 560 MiB, memory_bandwidth: 8 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "  - name: b\n    devices:\n"
    "      - {name: slow, kind: cpu, f32: 30 GFLOP/s, memory: 330 MiB, memory_bandwidth: 6 GB/s}\n"
    "    link: {bandwidth: 4 GB/s, latency: 5 us}\n"
    "network: {bandwidth: 20 MB/s, latency: 20 us}\nsource: datasheet\n";

// The stages of a plan, planned with these blocks computed again.
static double planned_again(hb_arena *a, ir_graph *g, const cl_cluster *c, const syn_staged *p,
                            bool all)
{
    syn_stage_wish w[IR_MAX_STAGES];
    cost_model m[IR_MAX_STAGES];
    int *rank[IR_MAX_STAGES];
    hb_diag *d = hb_diag_new(a);
    bool *again = HB_ARRAY(a, bool, g->n_blocks + 1);
    for (int b = 0; b < g->n_blocks; b++)
        again[b] = all;
    for (int s = 0; s < p->n; s++) {
        bool *device = HB_ARRAY(a, bool, c->n_ranks);
        for (int r = 0; r < p->stage[s].cluster->n_ranks; r++)
            device[p->stage[s].cluster_rank[r]] = true;
        w[s] = (syn_stage_wish){.first_layer = p->stage[s].first_layer};
        rank[s] = HB_ARRAY(a, int, c->n_ranks);
        ck_assert(syn_stage_model(a, &(cost_model){.cluster = c}, device, rank[s], &m[s], d));
    }
    syn_options o = syn_default_options();
    o.micro_batches = p->g->micro_batches;
    o.again = again;
    syn_staged_result x = syn_plan_stages(a, g, c, p->n, w, m, rank, &o, d);
    return x.plan ? x.plan->predicted_sec : HUGE_VAL;
}

START_TEST(again)
{
    hb_arena *a = hb_arena_new();
    ir_graph *g =
        ir_build(a, "examples/vit/graph.json", &(ir_options){.batch = 32}, hb_diag_new(a));
    ck_assert(g);
    ir_blocks(g);
    const cl_cluster *c = cluster_from(a, (hb_str){tight, strlen(tight)});
    syn_staged_result x = searched(a, g, c, HUGE_VAL);
    ck_assert_msg(x.plan, "%.*s", HB_ARG(x.why));
    const ir_graph *v = x.plan->g;
    ck_assert(v->recomputed.n > 0 && v->recomputed.n < g->n_blocks);
    for (int s = 0; s < x.plan->n; s++) {
        int first = x.plan->stage[s].first_layer, n = 0;
        for (int i = 0; i < v->recomputed.n; i++)
            n += v->recomputed.p[i] >= first &&
                 v->recomputed.p[i] < first + x.plan->stage[s].n_layers;
        ck_assert(n == 0 || n == x.plan->stage[s].n_layers);
    }
    ck_assert_double_le(x.plan->predicted_sec, planned_again(a, g, c, x.plan, true));
    ck_assert(isinf(planned_again(a, g, c, x.plan, false)));
    hb_arena_free(a);
}
END_TEST

START_TEST(few)
{
    hb_arena *a = hb_arena_new();
    const cl_cluster *c = cluster_of(a, 1000, 2, ROOMY);
    bool device[8] = {true};
    int rank[8];
    syn_staged_result x = searched(a, tiny(a), cl_part(a, c, device, rank), HUGE_VAL);
    ck_assert(!x.plan);
    ck_assert(hb_str_is(x.why, "stages want two devices or more"));
    x = searched(a, small_mlp(a, 16, 1, (const int64_t[]){8, 8}), c, HUGE_VAL);
    ck_assert(!x.plan);
    ck_assert(hb_str_is(x.why, "stages want two layers or more"));
    hb_arena_free(a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("search_stages");
    TCase *c = tcase_create("search_stages");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, draw);
    tcase_add_test(c, sizes);
    tcase_add_test(c, parts);
    tcase_add_test(c, units);
    tcase_add_test(c, worth);
    tcase_add_test(c, asked);
    tcase_add_test(c, whole);
    tcase_add_test(c, again);
    tcase_add_test(c, few);
    suite_add_tcase(s, c);
    c = tcase_create("monotone");
    tcase_set_timeout(c, 600);
    tcase_add_test(c, monotone);
    suite_add_tcase(s, c);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
