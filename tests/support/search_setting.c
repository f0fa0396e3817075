#include "search_setting.h"
#include "synth/plan/mesh.h"
#include "synth/space/pins.h"
#include "synth/space/space_build.h"
#include "synth/space/space_solve.h"

static double some(random_source *r, double unit, int n)
{
    return unit * (1 + random_below(r, n));
}

// From 1 to 256 MB/s, and often none of the latency, so that plans without communication and plans
// full of it are both found.
static void random_link(random_source *r, double *bandwidth, double *latency)
{
    *bandwidth = 1e6 * (1 << random_below(r, 9));
    *latency = 1e-6 * (random_below(r, 2) ? random_below(r, 30) : 0);
}

static void random_cluster(setting *s, random_source *r, int n_axes)
{
    static const int shapes[3][2] = {{2, 2}, {2, 3}, {3, 2}};
    const int *shape = shapes[random_below(r, 3)];
    int machines = n_axes == 2 ? shape[0] : 1,
        per = n_axes == 2 ? shape[1] : 2 + random_below(r, 3);
    int n = machines * per, classes = 1 + random_below(r, n);
    cl_class *cls = hb_alloc(s->a, sizeof *cls * (size_t)classes);
    cl_machine *machine = hb_alloc(s->a, sizeof *machine * (size_t)machines);
    int *class_of = HB_ARRAY(s->a, int, n), *machine_of = HB_ARRAY(s->a, int, n);
    for (int i = 0; i < classes; i++) {
        cls[i] =
            (cl_class){.name = HB_STR("c"), .kind = CL_CPU, .memory = 1 << 30, .capacity = 1 << 30};
        cls[i].f32 = some(r, 1e6, 8);
        cls[i].memory_bandwidth = some(r, 1e6, 8);
        random_link(r, &cls[i].link_bandwidth, &cls[i].link_latency);
    }
    for (int i = 0; i < n; i++) {
        class_of[i] = random_below(r, classes);
        machine_of[i] = i / per;
        cls[class_of[i]].n_ranks++;
    }
    for (int i = 0; i < machines; i++)
        machine[i] =
            (cl_machine){.first_rank = i * per, .n_ranks = per, .peer = random_below(r, 2) > 0};
    s->cluster = (cl_cluster){.n_ranks = n,
                              .n_machines = machines,
                              .n_classes = classes,
                              .class_of = class_of,
                              .machine_of = machine_of,
                              .machine = machine,
                              .cls = cls};
    if (machines > 1) random_link(r, &s->cluster.network_bandwidth, &s->cluster.network_latency);
    s->m = (cost_model){.cluster = &s->cluster, .math = COST_F32};
}

static void random_weights(random_source *r, double *w, int n, bool even)
{
    for (int i = 0; i < n; i++)
        w[i] = even ? 1 : random_below(r, 5);
    w[random_below(r, n)] += 1;
}

static void random_partitions(setting *s, random_source *r, const setting_options *o)
{
    double w[CL_MAX_CLASSES];
    s->partitions = syn_partitions_new(s->a, s->g, s->f);
    if (o->n_axes == 1) {
        int cuts = o->one_cut ? 1 : 1 + random_below(r, 3);
        for (int c = 0; c < cuts; c++) {
            random_weights(r, w, s->mesh->n_ranks, c == 0 && random_below(r, 2));
            syn_partitions_add(s->a, s->partitions, s->mesh, -1, 0, w, hb_fmt(s->a, "c%d", c));
        }
        return;
    }
    // As a starting ratio adds them (one over both axes, its sums, one of the devices), or axis by
    // axis.
    if (!o->one_cut && random_below(r, 2)) {
        random_weights(r, w, s->mesh->n_ranks, random_below(r, 3) == 0);
        syn_partitions_add_ranks(s->a, s->partitions, s->mesh, -1, w, HB_STR("starting ratio"));
    }
    for (int axis = 0; axis <= SYN_BOTH; axis++) {
        int cuts = axis == SYN_BOTH ? random_below(r, 2) : o->one_cut ? 1 : 1 + random_below(r, 2);
        for (int c = 0; c < cuts; c++) {
            random_weights(r, w, syn_extent(s->mesh, axis), c == 0 && random_below(r, 2));
            syn_partitions_add(s->a, s->partitions, s->mesh, -1, axis, w, hb_fmt(s->a, "c%d", c));
        }
    }
}

// One or two values of the graph in states drawn, so that plans must communicate where they would
// not; none if no plan is left.
static void random_pins(setting *s, random_source *r)
{
    hb_str text[2];
    int n = 1 + random_below(r, 2);
    for (int i = 0; i < n; i++) {
        const ir_tensor *t = &s->g->tensors.p[random_below(r, s->g->tensors.n)];
        int kind = random_below(r, 2 + t->rank);
        text[i] = kind < 2 ? hb_fmt(s->a, "%.*s=%c", HB_ARG(t->name), "RP"[kind])
                           : hb_fmt(s->a, "%.*s=S(%d)", HB_ARG(t->name), kind - 2);
    }
    s->opt.pins = syn_pins_read(s->a, s->g, s->f, text, n, hb_diag_new(s->a));
    hb_str why = {0};
    syn_choice c;
    syn_space *sp =
        syn_space_build(s->a, syn_costs_new(s->a, &s->m, s->mesh, s->g, s->f), s->partitions,
                        SYN_AUTO, &s->opt, s->weight, s->weight_comm, NULL, &why);
    if (!sp || syn_space_solve(s->a, sp, &c) != MS_OPTIMAL) s->opt.pins = NULL;
}

bool setting_make(setting *s, uint64_t seed, const setting_options *o)
{
    random_source r = {seed * 77 + 5};
    *s = (setting){.a = hb_arena_new()};
    s->g = random_graph(s->a, seed, (random_graph_options){.n_ops = o->n_ops, .train = o->train});
    if (s->g->nodes.n > o->max_nodes) {
        hb_arena_free(s->a);
        return false;
    }
    s->f = ir_factorize(s->a, s->g);
    random_cluster(s, &r, o->n_axes);
    s->mesh = o->n_axes == 2 ? syn_mesh_machines(s->a, &s->cluster, NULL)
                             : syn_mesh_flat(s->a, &s->cluster, NULL);
    hb_assert(s->mesh);
    s->costs = syn_costs_new(s->a, &s->m, s->mesh, s->g, s->f);
    random_partitions(s, &r, o);
    s->opt = syn_default_options();
    s->opt.small_param = random_below(&r, 2) ? 0 : 16;
    s->opt.copy_bytes = random_below(&r, 2) ? 0 : 64;
    double sum = 0;
    for (int c = 0; c < s->mesh->n_classes; c++)
        sum += s->weight[c] = 1 + random_below(&r, 4);
    for (int c = 0; c < s->mesh->n_classes; c++)
        s->weight[c] /= sum;
    s->weight_comm = random_below(&r, 3) ? 1 : 0.4;
    if (random_below(&r, 2)) random_pins(s, &r);
    return true;
}

void setting_free(setting *s)
{
    hb_arena_free(s->a);
}

syn_space *setting_space(setting *s)
{
    hb_str why = {0};
    syn_space *sp = syn_space_build(s->a, s->costs, s->partitions, SYN_AUTO, &s->opt, s->weight,
                                    s->weight_comm, NULL, &why);
    hb_assert(sp);
    return sp;
}
