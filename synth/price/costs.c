#include "synth/price/costs.h"

#include <math.h>
#include <string.h>

#include "synth/plan/search_limits.h"

static cl_link slowest_link(const syn_costs *c, unsigned axes)
{
    if (axes == 3u || c->mesh->n_axes == 1) return c->all;
    int axis = axes == 2u ? 1 : 0;
    cl_link worst = c->group_link[axis][0];
    for (int i = 1; i < c->mesh->size[1 - axis]; i++) {
        const cl_link *l = &c->group_link[axis][i];
        worst.bandwidth = fmin(worst.bandwidth, l->bandwidth);
        worst.latency = fmax(worst.latency, l->latency);
        worst.peer = worst.peer && l->peer;
        worst.gpus = worst.gpus && l->gpus;
    }
    return worst;
}

// Between machines as cl_group_link sees it: a group has ranks of two.
bool syn_group_crosses(const cl_cluster *cluster, const syn_mesh *m, unsigned axes)
{
    const int *machine = cluster->machine_of, *rank = m->cluster_rank;
    int inner = m->n_axes == 2 ? m->size[1] : m->n_ranks;
    for (int r = 1; r < m->n_ranks; r++) {
        int other = m->n_axes == 1 || axes == 3 ? 0 : axes == 1 ? r % inner : r - r % inner;
        if (machine[rank[r]] != machine[rank[other]]) return true;
    }
    return false;
}

bool syn_group_quiet(const cl_cluster *cluster, const syn_mesh *m, unsigned axes)
{
    for (int c = 0; c < m->n_classes; c++)
        if (!cost_quiet_network(&cluster->cls[m->cluster_class[c]])) return false;
    return syn_group_crosses(cluster, m, axes);
}

// A second of a collective lasts `communication` seconds beside computing, which goes on at 1 /
// `compute` of its speed (costmodel/simulate.c).
static double taken_from_computing(const syn_costs *c, unsigned axes, bool put)
{
    double most = 0;
    if (syn_group_quiet(c->m->cluster, c->mesh, axes)) return 0;
    for (int k = 0; k < c->mesh->n_classes; k++) {
        cost_contentions both = cost_contentions_of(&c->m->cluster->cls[c->mesh->cluster_class[k]]);
        const cost_contention *x = &both.of[put];
        most = fmax(most, x->communication * (1 - 1 / x->compute));
    }
    return fmin(most, 1);
}

syn_costs *syn_costs_new(hb_arena *a, const cost_model *m, const syn_mesh *mesh, const ir_graph *g,
                         const ir_factors *f)
{
    syn_costs *c = HB_NEW(a, syn_costs);
    *c = (syn_costs){.arena = a, .m = m, .mesh = mesh, .g = g, .f = f};
    for (int k = 0; k < mesh->n_classes; k++)
        cost_memory_add(&c->memory, &m->cluster->cls[mesh->cluster_class[k]]);
    c->all = cl_group_link(m->cluster, mesh->cluster_rank, mesh->n_ranks, 1);
    int *ranks = HB_ARRAY(a, int, mesh->n_ranks);
    for (int axis = 0; mesh->n_axes == 2 && axis < 2; axis++) {
        int groups = mesh->size[1 - axis], n = mesh->size[axis];
        c->group_link[axis] = HB_ARRAY(a, cl_link, groups);
        for (int i = 0; i < groups; i++) {
            for (int k = 0; k < n; k++)
                ranks[k] = mesh->cluster_rank[axis == 0 ? k * groups + i : i * n + k];
            c->group_link[axis][i] = cl_group_link(m->cluster, ranks, n, axis == 0 ? groups : 1);
        }
    }
    for (unsigned axes = 1; axes < (mesh->n_axes == 2 ? 4u : 2u); axes++) {
        c->slowest[axes] = slowest_link(c, axes);
        for (int put = 0; put < 2; put++)
            c->taken[axes][put] = taken_from_computing(c, axes, put);
    }
    const int shape[] = {mesh->n_axes, mesh->size[0], mesh->size[1]};
    c->mesh_key = hb_hash_key(shape, sizeof shape) +
                  3 * hb_hash_key(mesh->cluster_rank, sizeof *ranks * (size_t)mesh->n_ranks);
    syn_costs_forget(c);
    return c;
}

void syn_costs_forget(syn_costs *c)
{
    if (c->near) memset(c->near, 0, sizeof *c->near * SYN_NEAR_CUTS * SYN_NEAR_CUTS);
    c->sizes = hb_map_new(c->arena);
    c->all_sizes.n = 0;
    c->moves = hb_map_new(c->arena);
    c->all_moves.n = 0;
    c->seconds = hb_map_new(c->arena);
    c->all_seconds.n = 0;
    c->pairs = hb_map_new(c->arena);
    c->all_pairs.n = 0;
    c->cut_key.n = 0;
}

static void add_size(syn_costs *c, syn_sizes *p, int *cap, const syn_size *x)
{
    for (int i = 0; i < p->n; i++)
        if (p->v[i].cls == x->cls && p->v[i].n[0] == x->n[0] && p->v[i].n[1] == x->n[1]) return;
    if (p->n == *cap) p->v = hb_grow(c->arena, p->v, cap, sizeof *p->v);
    p->v[p->n++] = *x;
}

// First entries of every coordinate of a cut.
static int64_t *starts(hb_arena *a, const syn_cut *cut)
{
    int64_t *lo = HB_ARRAY(a, int64_t, cut->n + 1);
    for (int i = 0; i < cut->n; i++)
        lo[i + 1] = lo[i] + cut->table[i];
    return lo;
}

static bool syn_cut_is_joint(const syn_mesh *m, const int cut[SYN_MAX_AXES])
{
    return cut[1] >= 0 && m->cuts.p[cut[1]].axis == SYN_BOTH;
}

static syn_sizes *make_sizes(syn_costs *c, const int cut[SYN_MAX_AXES])
{
    const syn_mesh *mesh = c->mesh;
    syn_sizes *p = HB_NEW(c->arena, syn_sizes);
    int cap = 0;
    const int64_t *lo[SYN_MAX_AXES] = {NULL};
    bool joint = syn_cut_is_joint(mesh, cut);
    for (int a = 0; a < mesh->n_axes; a++)
        if (cut[a] >= 0 && !(a == 0 && joint)) lo[a] = starts(c->arena, &mesh->cuts.p[cut[a]]);
    syn_size last = {.cls = -1};
    for (int r = 0; r < mesh->n_ranks; r++) {
        syn_size x = {.cls = mesh->class_of[r]};
        double share = 1;
        for (int a = 0; a < mesh->n_axes; a++) {
            if (!lo[a]) continue;
            const syn_cut *k = &mesh->cuts.p[cut[a]];
            int at = syn_coord(mesh, r, k->axis);
            x.n[a] = k->table[at];
            x.lo[a] = lo[a][at];
            share *= (double)x.n[a] / (double)k->size;
        }
        if (share > p->share[x.cls]) p->share[x.cls] = share;
        if (x.cls == last.cls && x.n[0] == last.n[0] && x.n[1] == last.n[1]) continue;
        add_size(c, p, &cap, &x);
        last = x;
    }
    return p;
}

static const syn_sizes *syn_sizes_of(syn_costs *c, const int cut[SYN_MAX_AXES])
{
    int a = cut[0] + 1, b = cut[1] + 1;
    if (a < SYN_NEAR_CUTS && b < SYN_NEAR_CUTS) { // the common case, without hashing
        if (!c->near) c->near = hb_alloc(c->arena, sizeof *c->near * SYN_NEAR_CUTS * SYN_NEAR_CUTS);
        syn_sizes **slot = &c->near[a * SYN_NEAR_CUTS + b];
        if (!*slot) *slot = make_sizes(c, cut);
        return *slot;
    }
    hb_str key = {(const char *)cut, sizeof(int) * SYN_MAX_AXES};
    int at = hb_map_get(c->sizes, key);
    if (at < 0) {
        at = c->all_sizes.n;
        HB_PUSH(c->arena, &c->all_sizes, make_sizes(c, cut));
        hb_map_put(c->sizes, hb_str_n(c->arena, key.p, key.n), at);
    }
    return c->all_sizes.p[at];
}

static void state_cuts(const syn_mesh *mesh, const syn_state *s, int cut[SYN_MAX_AXES])
{
    for (int a = 0; a < SYN_MAX_AXES; a++)
        cut[a] = a < mesh->n_axes && s->ax[a].kind == SYN_S ? s->ax[a].cut : -1;
}

void syn_local_bytes(syn_costs *c, int tensor, const syn_state *s, int64_t *bytes)
{
    const ir_tensor *t = &c->g->tensors.p[tensor];
    int cut[SYN_MAX_AXES];
    state_cuts(c->mesh, s, cut);
    const syn_sizes *p = syn_sizes_of(c, cut);
    bool joint = syn_cut_is_joint(c->mesh, cut);
    memset(bytes, 0, sizeof *bytes * (size_t)c->mesh->n_classes);
    int64_t rest = ir_elements(t) * ir_dtype_bytes(t->dtype);
    for (int a = 0; a < c->mesh->n_axes; a++)
        if (cut[a] >= 0 && !(a == 0 && joint)) rest /= c->mesh->cuts.p[cut[a]].size;
    for (int i = 0; i < p->n; i++) {
        int64_t n = rest;
        for (int a = 0; a < c->mesh->n_axes; a++)
            if (cut[a] >= 0 && !(a == 0 && joint)) n *= p->v[i].n[a];
        if (n > bytes[p->v[i].cls]) bytes[p->v[i].cls] = n;
    }
}

const double *syn_state_shares(syn_costs *c, const syn_state *s)
{
    int cut[SYN_MAX_AXES];
    state_cuts(c->mesh, s, cut);
    return syn_sizes_of(c, cut)->share;
}

// A node that is priced at many sizes of its parts.
typedef struct parts_of {
    const syn_costs *c;
    int node, factor[SYN_MAX_AXES]; // -1: not cut there
    ir_op op;
    bool comes;  // over the machines' links
    bool narrow; // a convolution of few channels a group
    bool simple;
    ir_work_form form;
} parts_of;

static parts_of parts_of_node(const syn_costs *c, int node, const syn_node_cut *cut, bool joint)
{
    ir_op op = c->g->nodes.p[node].op;
    bool comes = ir_op_of(op)->flags & IR_RECV && c->m->port_bandwidth > 0;
    parts_of x = {.c = c, .node = node, .factor = {-1, -1}, .op = op, .comes = comes};
    x.narrow = ir_channels_of_group(c->g, node) < COST_NARROW_CHANNELS;
    for (int a = 0; a < c->mesh->n_axes; a++)
        if (!(a == 0 && joint)) x.factor[a] = cut->factor[a];
    x.simple = ir_work_form_of(c->g, c->f, node, x.factor, &x.form);
    return x;
}

static double part_seconds(const parts_of *x, int cls, const int64_t n[SYN_MAX_AXES],
                           const int64_t lo[SYN_MAX_AXES])
{
    const syn_costs *c = x->c;
    double flops = 0, bytes = 0, gathered = 0;
    if (x->simple) {
        ir_form_work(&x->form, n, &flops, &bytes);
    } else {
        ir_part part[SYN_MAX_AXES];
        int k = 0;
        for (int a = 0; a < SYN_MAX_AXES; a++)
            if (x->factor[a] >= 0) part[k++] = (ir_part){x->factor[a], n[a], lo[a]};
        ir_node_work(c->g, c->f, x->node, part, k, &flops, &bytes);
        gathered = ir_gathered_bytes(c->g, c->f, x->node, part, k);
    }
    int device = c->mesh->cluster_class[cls];
    double sec = cost_op(c->m, device, x->op, flops, bytes);
    sec += cost_op_gathered(c->m, device, x->op, gathered);
    if (x->narrow) sec = fmax(sec, cost_op_narrow(c->m, device, x->op, flops));
    return (x->comes ? bytes / c->m->port_bandwidth : 0) + sec;
}

// Does the work depend on where a part begins? A causal attention's does, if its queries are cut.
static bool by_place(const syn_costs *c, int node, const syn_node_cut *cut)
{
    if (ir_op_of(c->g->nodes.p[node].op)->flops_kind != IR_FLOPS_SDPA) return false;
    for (int a = 0; a < c->mesh->n_axes; a++) {
        if (cut->factor[a] < 0) continue;
        double first, last, bytes;
        ir_part part = {cut->factor[a], 1, 0};
        ir_node_work(c->g, c->f, node, &part, 1, &first, &bytes);
        part.lo = c->f->rule[node]->factor[cut->factor[a]].size - 1;
        ir_node_work(c->g, c->f, node, &part, 1, &last, &bytes);
        if (first != last) return true;
    }
    return false;
}

static void seconds_of_one(syn_costs *c, int node, const syn_node_cut *cut, double *sec)
{
    const syn_mesh *mesh = c->mesh;
    bool joint = syn_cut_is_joint(mesh, cut->cut);
    const syn_sizes *p = syn_sizes_of(c, cut->cut);
    const parts_of parts = parts_of_node(c, node, cut, joint);
    memset(sec, 0, sizeof *sec * (size_t)mesh->n_classes);
    if (!by_place(c, node, cut)) {
        for (int i = 0; i < p->n; i++) {
            const syn_size *x = &p->v[i];
            sec[x->cls] = fmax(sec[x->cls], part_seconds(&parts, x->cls, x->n, x->lo));
        }
        return;
    }
    const int64_t *lo[SYN_MAX_AXES] = {NULL};
    for (int a = 0; a < mesh->n_axes; a++)
        if (cut->cut[a] >= 0 && !(a == 0 && joint))
            lo[a] = starts(c->arena, &mesh->cuts.p[cut->cut[a]]);
    syn_size last = {.cls = -1};
    for (int r = 0; r < mesh->n_ranks; r++) {
        syn_size x = {.cls = mesh->class_of[r]};
        for (int a = 0; a < mesh->n_axes; a++) {
            if (!lo[a]) continue;
            const syn_cut *k = &mesh->cuts.p[cut->cut[a]];
            int at = syn_coord(mesh, r, k->axis);
            x.n[a] = k->table[at];
            x.lo[a] = lo[a][at];
        }
        if (memcmp(&x, &last, sizeof x) == 0) continue;
        sec[x.cls] = fmax(sec[x.cls], part_seconds(&parts, x.cls, x.n, x.lo));
        last = x;
    }
}

static void compute_seconds(syn_costs *c, int node, const syn_node_cut *cut, double *sec)
{
    seconds_of_one(c, node, cut, sec);
    for (int k = 0; k < c->mesh->n_classes; k++)
        sec[k] *= ir_node_times(c->g, node);
}

void syn_node_seconds(syn_costs *c, int node, const syn_node_cut *cut, double *sec)
{
    size_t bytes = sizeof *sec * (size_t)c->mesh->n_classes;
    if (!c->like) {
        compute_seconds(c, node, cut, sec);
        return;
    }
    node = c->like[node];
    const int key[] = {node, cut->factor[0], cut->factor[1], cut->cut[0], cut->cut[1], 0};
    int at = hb_map_get(c->seconds, (hb_str){(const char *)key, sizeof key});
    if (at >= 0) {
        memcpy(sec, c->all_seconds.p[at], bytes);
        return;
    }
    compute_seconds(c, node, cut, sec);
    char *known = hb_room(c->arena, 1, (int)(sizeof key + bytes)); // the key, behind the seconds
    memcpy(known, sec, bytes);
    memcpy(known + bytes, key, sizeof key);
    hb_map_put(c->seconds, (hb_str){known + bytes, sizeof key}, c->all_seconds.n);
    HB_PUSH(c->arena, &c->all_seconds, (const double *)(const void *)known);
}

double syn_copy_seconds(const syn_costs *c, int cls, double bytes)
{
    return cost_copy(c->m, c->mesh->cluster_class[cls], bytes);
}
