#include "synth/space/partitions.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"

const char *syn_starting_ratio_name(syn_starting_ratio r)
{
    static const char *const names[SYN_N_STARTING_RATIOS] = {"even", "compute", "memory",
                                                             "bandwidth"};
    return names[r];
}

void syn_starting_ratio_weights(const cost_model *m, const syn_mesh *mesh,
                                syn_starting_ratio starting, double *per_rank)
{
    for (int r = 0; r < mesh->n_ranks; r++) {
        const cl_class *c = &m->cluster->cls[mesh->cluster_class[mesh->class_of[r]]];
        double w = 1;
        if (starting == SYN_STARTING_COMPUTE)
            w = m->math == COST_BF16 && c->bf16 > 0   ? c->bf16
                : m->math == COST_TF32 && c->tf32 > 0 ? c->tf32
                                                      : c->f32;
        else if (starting == SYN_STARTING_MEMORY)
            w = (double)c->capacity;
        else if (starting == SYN_STARTING_BANDWIDTH)
            w = c->memory_bandwidth;
        per_rank[r] = w;
    }
}

// Two classes are in one set if nothing tells them apart but the block they stand in: same size
// and grain, and the same multiset of (op, operand or output, dim position) places.
static uint64_t class_signature(const ir_graph *g, const ir_factors *f, int cls,
                                const uint64_t *places)
{
    (void)g;
    uint64_t key[4] = {(uint64_t)f->cls[cls].size, (uint64_t)f->cls[cls].grain, f->cls[cls].batch,
                       places[cls]};
    return hb_hash_key(key, sizeof key);
}

syn_partitions *syn_partitions_new(hb_arena *a, const ir_graph *g, const ir_factors *f)
{
    syn_partitions *p = HB_NEW(a, syn_partitions);
    p->set_of = HB_ARRAY(a, int, f->n_classes);
    p->set = hb_alloc(a, sizeof *p->set * (size_t)(f->n_classes + 1));
    uint64_t *places = HB_ARRAY(a, uint64_t, f->n_classes);
    struct kinds_of_places { // whether there is such a place, however often
        uint64_t bit[4];
    } *kinds = HB_ARRAY(a, struct kinds_of_places, f->n_classes + 1);
    for (int n = 0; n < g->nodes.n; n++) {
        const ir_rule *r = &f->rule[n];
        for (int k = 0; k < r->n_factors; k++) {
            int key[2] = {(int)g->nodes.p[n].op, k};
            uint64_t h = hb_hash_key(key, sizeof key);
            places[r->factor[k].cls] += h; // a sum: order does not matter
            kinds[r->factor[k].cls].bit[h >> 6 & 3] |= (uint64_t)1 << (h & 63);
        }
    }
    uint64_t *sig = HB_ARRAY(a, uint64_t, f->n_classes + 1);
    for (int c = 0; c < f->n_classes; c++) {
        uint64_t s = class_signature(g, f, c, places);
        int k = 0;
        while (k < p->n_sets && sig[k] != s)
            k++;
        if (k == p->n_sets) {
            sig[k] = s;
            p->set[k].size = f->cls[c].size;
            p->set[k].grain = f->cls[c].grain > 0 ? f->cls[c].grain : 1;
            p->set[k].batch = f->cls[c].batch;
            p->set[k].like = hb_hash_key(&kinds[c], sizeof kinds[c]);
            p->n_sets++;
        }
        p->set_of[c] = k;
    }
    return p;
}

syn_partitions *syn_partitions_copy(hb_arena *a, const syn_partitions *p)
{
    syn_partitions *q = hb_copy(a, p, sizeof *p);
    q->set = hb_copy(a, p->set, sizeof *p->set * (size_t)p->n_sets);
    return q;
}

void syn_partitions_clear(syn_partitions *p)
{
    for (int k = 0; k < p->n_sets; k++)
        memset(p->set[k].n, 0, sizeof p->set[k].n);
}

static void add_cut(struct syn_partition_set *q, int axis, int id)
{
    for (int i = 0; i < q->n[axis]; i++)
        if (q->cut[axis][i] == id) return;
    if (q->n[axis] < SYN_MAX_PARTITIONS) q->cut[axis][q->n[axis]++] = id;
}

void syn_partitions_add(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set, int axis,
                        const double *weight, hb_str name)
{
    int n = syn_extent(mesh, axis);
    if (mesh->n_ranks == 1) return; // nothing is cut
    int64_t *table = HB_ARRAY(a, int64_t, n);
    for (int k = 0; k < p->n_sets; k++) {
        struct syn_partition_set *q = &p->set[k];
        if ((set >= 0 && k != set) || q->n[axis] == SYN_MAX_PARTITIONS || q->size < 2) continue;
        if (axis == SYN_BOTH && q->n[0] == SYN_MAX_PARTITIONS) continue;
        if (!q->batch && 2 * (q->size / q->grain) <= n) continue;
        lp_round(q->size, q->grain, n, weight, table);
        int id = syn_cut_intern(a, mesh, axis, q->size, table, name);
        if (axis == SYN_BOTH) add_cut(q, 0, mesh->cuts.p[id].coarse);
        add_cut(q, axis, id);
    }
}

void syn_partitions_add_ranks(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set,
                              const double *per_rank, hb_str name)
{
    if (mesh->n_axes == 1) {
        syn_partitions_add(a, p, mesh, set, 0, per_rank, name);
        return;
    }
    syn_partitions_add(a, p, mesh, set, SYN_BOTH, per_rank, name);
    for (int axis = 0; axis < mesh->n_axes; axis++) {
        double *sum = HB_ARRAY(a, double, mesh->size[axis]);
        for (int r = 0; r < mesh->n_ranks; r++)
            sum[syn_coord(mesh, r, axis)] += per_rank[r];
        for (int k = 0; k < p->n_sets; k++) // sums of a cut over both axes serve axis 0
            if ((set < 0 || k == set) && p->set[k].n[axis] == 0)
                syn_partitions_add(a, p, mesh, k, axis, sum, name);
    }
}

bool syn_partitions_same(const syn_partitions *a, const syn_partitions *b)
{
    for (int k = 0; k < a->n_sets; k++)
        for (int axis = 0; axis <= SYN_BOTH; axis++) {
            const struct syn_partition_set *x = &a->set[k], *y = &b->set[k];
            if (x->n[axis] != y->n[axis] ||
                memcmp(x->cut[axis], y->cut[axis], sizeof *x->cut[axis] * (size_t)x->n[axis]) != 0)
                return false;
        }
    return true;
}
