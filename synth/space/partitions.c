#include "synth/space/partitions.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"

const char *syn_ray_name(syn_ray r)
{
    static const char *const names[SYN_N_RAYS] = {"even", "compute", "memory", "bandwidth"};
    return names[r];
}

void syn_ray_weights(const cost_model *m, const syn_mesh *mesh, syn_ray ray, double *per_rank)
{
    for (int r = 0; r < mesh->n_ranks; r++) {
        const cl_class *c = &m->cluster->cls[mesh->cluster_class[mesh->class_of[r]]];
        double w = 1;
        if (ray == SYN_RAY_COMPUTE)
            w = m->math == COST_BF16 && c->bf16 > 0   ? c->bf16
                : m->math == COST_TF32 && c->tf32 > 0 ? c->tf32
                                                      : c->f32;
        else if (ray == SYN_RAY_MEMORY)
            w = (double)c->capacity;
        else if (ray == SYN_RAY_BANDWIDTH)
            w = c->memory_bandwidth;
        per_rank[r] = w;
    }
}

// Two classes are in one group if nothing tells them apart but the block they stand in: same size
// and grain, and the same multiset of (op, operand or output, dim position) places.
static uint64_t class_signature(const ir_graph *g, const ir_factors *f, int cls,
                                const uint64_t *places)
{
    (void)g;
    uint64_t key[4] = {(uint64_t)f->cls[cls].size, (uint64_t)f->cls[cls].grain, f->cls[cls].batch,
                       places[cls]};
    return hb_hash_key(key, sizeof key);
}

syn_palette *syn_palette_new(hb_arena *a, const ir_graph *g, const ir_factors *f)
{
    syn_palette *p = HB_NEW(a, syn_palette);
    p->group_of = HB_ARRAY(a, int, f->n_classes);
    p->group = hb_alloc(a, sizeof *p->group * (size_t)(f->n_classes + 1));
    uint64_t *places = HB_ARRAY(a, uint64_t, f->n_classes);
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_rule *r = &f->rule[n];
        for (int k = 0; k < r->n_factors; k++) {
            int key[2] = {(int)g->nodes.p[n].op, k};
            places[r->factor[k].cls] +=
                hb_hash_key(key, sizeof key); // a sum: order does not matter
        }
    }
    uint64_t *sig = HB_ARRAY(a, uint64_t, f->n_classes + 1);
    for (int c = 0; c < f->n_classes; c++) {
        uint64_t s = class_signature(g, f, c, places);
        int k = 0;
        while (k < p->n_groups && sig[k] != s)
            k++;
        if (k == p->n_groups) {
            sig[k] = s;
            p->group[k].size = f->cls[c].size;
            p->group[k].grain = f->cls[c].grain > 0 ? f->cls[c].grain : 1;
            p->group[k].batch = f->cls[c].batch;
            p->n_groups++;
        }
        p->group_of[c] = k;
    }
    return p;
}

syn_palette *syn_palette_copy(hb_arena *a, const syn_palette *p)
{
    syn_palette *q = hb_copy(a, p, sizeof *p);
    q->group = hb_copy(a, p->group, sizeof *p->group * (size_t)p->n_groups);
    return q;
}

void syn_palette_clear(syn_palette *p)
{
    for (int k = 0; k < p->n_groups; k++)
        memset(p->group[k].n, 0, sizeof p->group[k].n);
}

static void add_cut(struct syn_palette_group *q, int axis, int id)
{
    for (int i = 0; i < q->n[axis]; i++)
        if (q->cut[axis][i] == id) return;
    if (q->n[axis] < SYN_MAX_PALETTE) q->cut[axis][q->n[axis]++] = id;
}

void syn_palette_add(hb_arena *a, syn_palette *p, syn_mesh *mesh, int group, int axis,
                     const double *weight, hb_str name)
{
    int n = syn_extent(mesh, axis);
    if (mesh->n_ranks == 1) return; // nothing is cut
    int64_t *table = HB_ARRAY(a, int64_t, n);
    for (int k = 0; k < p->n_groups; k++) {
        struct syn_palette_group *q = &p->group[k];
        if ((group >= 0 && k != group) || q->n[axis] == SYN_MAX_PALETTE || q->size < 2) continue;
        if (axis == SYN_BOTH && q->n[0] == SYN_MAX_PALETTE) continue;
        if (!q->batch && 2 * (q->size / q->grain) <= n) continue;
        lp_round(q->size, q->grain, n, weight, table);
        int id = syn_cut_intern(a, mesh, axis, q->size, table, name);
        if (axis == SYN_BOTH) add_cut(q, 0, mesh->cuts.p[id].coarse);
        add_cut(q, axis, id);
    }
}

void syn_palette_add_ranks(hb_arena *a, syn_palette *p, syn_mesh *mesh, int group,
                           const double *per_rank, hb_str name)
{
    if (mesh->n_axes == 1) {
        syn_palette_add(a, p, mesh, group, 0, per_rank, name);
        return;
    }
    syn_palette_add(a, p, mesh, group, SYN_BOTH, per_rank, name);
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        double *sum = HB_ARRAY(a, double, mesh->size[axis]);
        for (int r = 0; r < mesh->n_ranks; r++)
            sum[syn_coord(mesh, r, axis)] += per_rank[r];
        for (int k = 0; k < p->n_groups; k++) // sums of a cut over both axes serve axis 0
            if ((group < 0 || k == group) && p->group[k].n[axis] == 0)
                syn_palette_add(a, p, mesh, k, axis, sum, name);
    }
}

bool syn_palette_same(const syn_palette *a, const syn_palette *b)
{
    for (int k = 0; k < a->n_groups; k++)
        for (int axis = 0; axis <= SYN_BOTH; axis++) {
            const struct syn_palette_group *x = &a->group[k], *y = &b->group[k];
            if (x->n[axis] != y->n[axis] ||
                memcmp(x->cut[axis], y->cut[axis], sizeof *x->cut[axis] * (size_t)x->n[axis]) != 0)
                return false;
        }
    return true;
}
