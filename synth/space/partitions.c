#include "synth/space/partitions.h"

#include <math.h>
#include <string.h>

#include "ir/runtime_limits.h"
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

// The class of an attention's queries, if they are one and the mask is causal; else -1.
static int causal_queries(const ir_graph *g, const ir_factors *f, int node)
{
    const ir_node *n = &g->nodes.p[node];
    if (ir_op_of(n->op)->flops_kind != IR_FLOPS_SDPA) return -1;
    if (!n->attr[ir_attr_index(n->op, "causal")].i) return -1;
    const ir_rule *r = f->rule[node];
    const ir_rule_dim *q = &r->in[n->op == IR_OP_sdpa ? 0 : 1][2];
    return q->n == 1 && q->f[0] >= 0 ? r->factor[q->f[0]].cls : -1;
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
        const ir_rule *r = f->rule[n];
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
    for (int n = 0; n < g->nodes.n; n++) {
        int c = causal_queries(g, f, n);
        if (c >= 0) p->set[p->set_of[c]].causal = true;
    }
    return p;
}

void syn_partitions_align(syn_partitions *p, const cost_model *m, const syn_mesh *mesh)
{
    enum { FEWEST = IR_CUDA_VECTOR / 2 }; // entries of a row whose length kernels take as it is
    for (int c = 0; c < mesh->n_classes; c++)
        if (m->cluster->cls[mesh->cluster_class[c]].kind != CL_GPU) return;
    for (int k = 0; k < p->n_sets; k++) {
        struct syn_partition_set *q = &p->set[k];
        int64_t grain = IR_CUDA_HEAD_KEYS;
        while (grain > 1 && grain * SYN_PART_GRAINS * mesh->n_ranks > q->size)
            grain /= 2;
        if (!q->batch && q->grain == 1 && grain >= FEWEST) q->grain = grain;
    }
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

static void add_table(hb_arena *a, struct syn_partition_set *q, syn_mesh *mesh, int axis,
                      int64_t *table, hb_str name)
{
    if (q->n[axis] == SYN_MAX_PARTITIONS) return;
    if (axis == SYN_BOTH && q->n[0] == SYN_MAX_PARTITIONS) return;
    int id = syn_cut_intern(a, mesh, axis, q->size, table, name);
    syn_cut *c = &mesh->cuts.p[id];
    c->grain = c->grain && c->grain < q->grain ? c->grain : q->grain;
    if (axis == SYN_BOTH) add_cut(q, 0, c->coarse);
    add_cut(q, axis, id);
}

// The largest part per weight.
static double most_of(int n, const double *weight, const int64_t *part)
{
    double most = 0;
    for (int i = 0; i < n; i++)
        if (part[i] > 0) most = fmax(most, (double)part[i] / weight[i]);
    return most;
}

// Parts by weights: the largest remainders, or, of `level`, the least largest part per weight where
// that is worth it.
static void round_by(bool level, int64_t size, int64_t grain, int n, const double *weight,
                     int64_t *part)
{
    lp_round(size, grain, n, weight, part);
    if (!level) return;
    double most = most_of(n, weight, part);
    lp_round_least_most(size, grain, n, weight, part);
    if (most_of(n, weight, part) > SYN_LEVEL_GAIN * most) lp_round(size, grain, n, weight, part);
}

// Few rows over both axes, rounded by rank, may all lie in the first machines: their sums by
// machine are then no cut of axis 0 that is any use. Rounded by machine first, every machine has
// its share, and its devices divide that.
static void add_by_machine(hb_arena *a, struct syn_partition_set *q, syn_mesh *mesh, bool level,
                           const double *weight, int64_t grain, hb_str name)
{
    int machines = mesh->size[0], devices = mesh->size[1];
    double *sum = HB_ARRAY(a, double, machines);
    int64_t *rows = HB_ARRAY(a, int64_t, machines), *table = HB_ARRAY(a, int64_t, mesh->n_ranks);
    for (int r = 0; r < mesh->n_ranks; r++)
        sum[r / devices] += weight[r];
    round_by(level, q->size, grain, machines, sum, rows);
    for (int i = 0; i < machines; i++)
        if (rows[i] > 0)
            round_by(level, rows[i], grain, devices, weight + i * devices, table + i * devices);
    add_table(a, q, mesh, SYN_BOTH, table, hb_fmt(a, "%.*s by machine", HB_ARG(name)));
}

static void add_rounded(hb_arena *a, const syn_partitions *p, int set, syn_mesh *mesh, int axis,
                        const double *weight, int64_t grain, hb_str name)
{
    struct syn_partition_set *q = &p->set[set];
    bool level = p->level && q->batch;
    int n = syn_extent(mesh, axis);
    int64_t granules = q->size / q->grain;
    if (mesh->n_ranks == 1) return; // nothing is cut
    if (q->size < 2 || (!q->batch && 2 * granules <= n)) return;
    int64_t *table = HB_ARRAY(a, int64_t, n);
    round_by(level, q->size, grain, n, weight, table);
    add_table(a, q, mesh, axis, table, name);
    if (axis == SYN_BOTH && q->batch && granules < 2 * n)
        add_by_machine(a, q, mesh, level, weight, grain, name);
}

void syn_partitions_add(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set, int axis,
                        const double *weight, hb_str name)
{
    for (int k = 0; k < p->n_sets; k++)
        if (set < 0 || k == set) add_rounded(a, p, k, mesh, axis, weight, p->set[k].grain, name);
}

// Parts of queries cover areas of a causal mask by weights: the area in front of a boundary goes
// with its square. Boundaries lie between tiles of attention's kernels if every part has one.
static void add_by_area(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set, int axis,
                        const double *weight, hb_str name)
{
    int n = syn_extent(mesh, axis);
    double all = 0, before = 0, least = 1, *width = HB_ARRAY(a, double, n);
    for (int k = 0; k < p->n_sets; k++)
        if (p->set[k].batch && p->set[k].size > p->set[k].grain) return;
    for (int i = 0; i < n; i++)
        all += weight[i];
    for (int i = 0; i < n; before += weight[i++]) {
        width[i] = sqrt((before + weight[i]) / all) - sqrt(before / all);
        least = fmin(least, width[i]);
    }
    for (int k = 0; k < p->n_sets; k++) {
        struct syn_partition_set *q = &p->set[k];
        if (!q->causal || (set >= 0 && k != set)) continue;
        bool tiles =
            IR_CUDA_HEAD_KEYS % q->grain == 0 && least * (double)q->size >= IR_CUDA_HEAD_KEYS;
        add_rounded(a, p, k, mesh, axis, width, tiles ? IR_CUDA_HEAD_KEYS : q->grain,
                    hb_fmt(a, "%.*s area", HB_ARG(name)));
    }
}

void syn_partitions_add_ranks(hb_arena *a, syn_partitions *p, syn_mesh *mesh, int set,
                              const double *per_rank, hb_str name)
{
    if (mesh->n_axes == 1) {
        syn_partitions_add(a, p, mesh, set, 0, per_rank, name);
        add_by_area(a, p, mesh, set, 0, per_rank, name);
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
        if (axis == 1) add_by_area(a, p, mesh, set, axis, sum, name);
    }
    add_by_area(a, p, mesh, set, SYN_BOTH, per_rank, name);
}

uint64_t syn_partitions_key(const syn_partitions *p)
{
    uint64_t h = 0;
    for (int k = 0; k < p->n_sets; k++)
        for (int axis = 0; axis <= SYN_BOTH; axis++) {
            const struct syn_partition_set *q = &p->set[k];
            int key[3 + SYN_MAX_PARTITIONS] = {k, axis, q->n[axis]};
            memcpy(key + 3, q->cut[axis], sizeof *key * (size_t)q->n[axis]);
            h += hb_hash_key(key, sizeof *key * (size_t)(3 + q->n[axis]));
        }
    return h;
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
