#include "price_by_hand.h"

#include <math.h>

enum { MAX_RANKS = 64 };

// --- what a rank holds ---

static int coordinate(const syn_mesh *m, int axis, int rank)
{
    if (axis == SYN_BOTH) return rank;
    return axis == 0 ? rank / m->size[1] : rank % m->size[1];
}

static int64_t entries(const syn_mesh *m, const syn_axis_state *x, int rank)
{
    const syn_cut *k = &m->cuts.p[x->cut];
    return k->table[coordinate(m, k->axis, rank)];
}

static int64_t first_entry(const syn_mesh *m, const syn_axis_state *x, int rank)
{
    const syn_cut *k = &m->cuts.p[x->cut];
    int64_t lo = 0;
    for (int i = 0; i < coordinate(m, k->axis, rank); i++)
        lo += k->table[i];
    return lo;
}

// A factor over both axes stands on both; axis 1 has the ranks' own parts.
static bool counted_on_axis_1(const syn_state *s, int axis)
{
    return axis == 0 && s->ax[0].kind == SYN_S && s->ax[1].kind == SYN_S &&
           s->ax[0].dim == s->ax[1].dim && s->ax[0].pos == s->ax[1].pos;
}

static int64_t whole_bytes(const syn_program *p, const syn_tensor *t)
{
    return ir_elements(&p->g->tensors.p[t->value]) * ir_dtype_bytes(t->dtype);
}

static int64_t local_bytes(const syn_program *p, const syn_tensor *t, int rank)
{
    int64_t n = whole_bytes(p, t);
    for (int a = 0; a < p->mesh->n_axes; a++)
        if (t->state.ax[a].kind == SYN_S && !counted_on_axis_1(&t->state, a))
            n = n / p->mesh->cuts.p[t->state.ax[a].cut].size *
                entries(p->mesh, &t->state.ax[a], rank);
    return n;
}

// --- ops and copies ---

static void add_parts(const syn_program *p, const ir_rule_dim *dims, const syn_tensor *t, int rank,
                      ir_part *part, int *n)
{
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *x = &t->state.ax[a];
        if (x->kind != SYN_S || counted_on_axis_1(&t->state, a)) continue;
        int k = dims[x->dim].f[x->pos];
        bool known = false;
        for (int i = 0; i < *n; i++)
            known = known || part[i].k == k;
        if (!known)
            part[(*n)++] = (ir_part){k, entries(p->mesh, x, rank), first_entry(p->mesh, x, rank)};
    }
}

static double op_seconds(const syn_program *p, const cost_model *m, const syn_instr *in, int rank)
{
    const ir_rule *r = p->f->rule[in->node];
    ir_part part[SYN_MAX_AXES];
    int n = 0;
    double flops = 0, bytes = 0;
    for (int o = 0; o < in->n_out; o++)
        add_parts(p, r->out[o], &p->tensors.p[in->out[o]], rank, part, &n);
    for (int i = 0; i < in->n_in; i++)
        add_parts(p, r->in[i], &p->tensors.p[in->in[i]], rank, part, &n);
    ir_node_work(p->g, p->f, in->node, part, n, &flops, &bytes);
    const int cls = p->cluster->class_of[p->mesh->cluster_rank[rank]];
    const ir_op op = p->g->nodes.p[in->node].op;
    return cost_op(m, cls, op, flops, bytes) +
           cost_op_gathered(m, cls, op, ir_gathered_bytes(p->g, p->f, in->node, part, n));
}

static double copy_seconds(const syn_program *p, const cost_model *m, const syn_tensor *t, int rank)
{
    int c = p->cluster->class_of[p->mesh->cluster_rank[rank]];
    return cost_copy(m, c, (double)local_bytes(p, t, rank));
}

// --- collectives ---

typedef struct group {
    int n, rank[MAX_RANKS];
} group;

// Groups of the ranks that agree in the coordinates of the axes outside the mask.
static int find_fusions(const syn_mesh *m, unsigned axes, group *g)
{
    int n = 0, key[MAX_RANKS];
    for (int r = 0; r < m->n_ranks; r++) {
        int mine = 0, k = 0;
        for (int a = 0; a < m->n_axes; a++)
            if (!(axes >> a & 1)) mine = mine * m->n_ranks + coordinate(m, a, r);
        while (k < n && key[k] != mine)
            k++;
        if (k == n) {
            key[n] = mine;
            g[n++].n = 0;
        }
        g[k].rank[g[k].n++] = r;
    }
    return n;
}

// Of one group, while the others of its kind use the network, too.
static cl_link link_of(const syn_program *p, const group *g, int n_groups, int k)
{
    int ranks[MAX_RANKS], at_once = 0;
    for (int i = 0; i < g[k].n; i++)
        ranks[i] = p->mesh->cluster_rank[g[k].rank[i]];
    for (int i = 0; i < n_groups; i++) {
        bool here = false;
        for (int j = 0; j < g[i].n; j++)
            here = here || p->cluster->machine_of[p->mesh->cluster_rank[g[i].rank[j]]] ==
                               p->cluster->machine_of[ranks[0]];
        at_once += here;
    }
    return cl_group_link(p->cluster, ranks, g[k].n, at_once);
}

static cl_link slowest_link(const syn_program *p, unsigned axes)
{
    group g[MAX_RANKS];
    int n = find_fusions(p->mesh, axes, g);
    cl_link worst = link_of(p, g, n, 0);
    for (int i = 1; i < n; i++) {
        cl_link l = link_of(p, g, n, i);
        worst.bandwidth = fmin(worst.bandwidth, l.bandwidth);
        worst.latency = fmax(worst.latency, l.latency);
        worst.peer = worst.peer && l.peer;
        worst.gpus = worst.gpus && l.gpus;
    }
    return worst;
}

// Of a group whose other coordinate holds `share` of what axis `other` cuts (NULL: nothing).
static double runs(const syn_program *p, const syn_tensor *t, const syn_axis_state *x,
                   const syn_axis_state *other, double share)
{
    const ir_tensor *v = &p->g->tensors.p[t->value];
    int64_t before = 1;
    for (int d = 0; d < x->dim; d++)
        before *= v->dim[d];
    for (int i = 0; i < x->pos; i++)
        before *= p->f->cls[p->f->dim[t->value][x->dim].cls[i]].size;
    bool within = other && (other->dim < x->dim || (other->dim == x->dim && other->pos < x->pos));
    return before > 1 && within ? fmax(2, (double)before * share) : (double)before;
}

double hand_collective(const syn_program *p, const cost_model *m, const syn_instr *in,
                       cost_form form)
{
    const syn_mesh *mesh = p->mesh;
    const syn_tensor *from = &p->tensors.p[in->in[0]], *to = &p->tensors.p[in->out[0]];
    int axis = in->axes == 1 ? 0 : 1, n_groups;
    group g[MAX_RANKS];
    double worst = 0;
    cost_memory memory = {0};
    hb_assert(in->n_in == 1);
    for (int r = 0; r < mesh->n_ranks; r++)
        cost_memory_add(&memory, &p->cluster->cls[p->cluster->class_of[mesh->cluster_rank[r]]]);
    n_groups = find_fusions(mesh, in->axes, g);
    for (int i = 0; i < n_groups; i++) {
        int64_t of_from[MAX_RANKS], of_to[MAX_RANKS];
        const syn_axis_state *x = &from->state.ax[axis], *y = &to->state.ax[axis], *other = NULL;
        double share = 1;
        cost_shards s = {.n = g[i].n,
                         .bytes = (double)whole_bytes(p, from),
                         .item = ir_dtype_bytes(from->dtype)};
        for (int a = 0; a < mesh->n_axes; a++)
            if (!(in->axes >> a & 1) && from->state.ax[a].kind == SYN_S) {
                other = &from->state.ax[a];
                share = (double)entries(mesh, other, g[i].rank[0]) /
                        (double)mesh->cuts.p[other->cut].size;
                s.bytes *= share;
            }
        for (int k = 0; k < g[i].n; k++) {
            if (x->kind == SYN_S) of_from[k] = entries(mesh, x, g[i].rank[k]);
            if (y->kind == SYN_S) of_to[k] = entries(mesh, y, g[i].rank[k]);
        }
        bool cut_before = x->kind == SYN_S, cut_after = y->kind == SYN_S;
        if (cut_before || cut_after) {
            s.table = cut_before ? of_from : of_to;
            s.apart = runs(p, from, cut_before ? x : y, other, share);
        }
        if (cut_before && cut_after) {
            s.table2 = of_to;
            s.apart2 = runs(p, from, y, other, share);
        }
        if (in->coll == COST_ALL_REDUCE && in->axes == 3) {
            s.n_inner = mesh->size[1];
            s.inner = slowest_link(p, 2);
            s.between = slowest_link(p, 1);
        }
        worst = fmax(worst,
                     cost_form_seconds(m, in->coll, form, &s, link_of(p, g, n_groups, i), &memory));
    }
    return worst;
}

double hand_cheapest(const syn_program *p, const cost_model *m, const syn_instr *in)
{
    double best = HUGE_VAL, put = HUGE_VAL;
    group g[MAX_RANKS];
    find_fusions(p->mesh, in->axes, g);
    int n = g[0].n;
    for (cost_form f = COST_EVEN; f < COST_PUTS; f++)
        if (cost_form_exists(in->coll, f)) best = fmin(best, hand_collective(p, m, in, f));
    // One copy in flight, two, four, and so on, and one to every other member.
    for (int k = 1; k < n && in->coll != COST_RESHARD && !in->reduce_max; k++)
        if ((k & (k - 1)) == 0 || k == n - 1)
            put = fmin(put, hand_collective(p, m, in, COST_PUT(k)));
    // On two axes a one-sided put of an all-reduce must gain a latency at least.
    bool gains = in->coll != COST_ALL_REDUCE || p->mesh->n_axes == 1 ||
                 put + slowest_link(p, in->axes).latency <= hand_collective(p, m, in, COST_FLAT);
    return gains ? fmin(best, put) : best;
}

static void hand_seconds(const syn_program *p, const cost_model *m, const syn_instr *in,
                         double sec[CL_MAX_CLASSES])
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        sec[c] = 0;
    if (in->kind == SYN_WAIT) return;
    if (in->kind == SYN_START) {
        sec[0] = hand_collective(p, m, in, in->form);
        return;
    }
    for (int r = 0; r < p->mesh->n_ranks; r++) {
        int c = p->mesh->class_of[r];
        double mine = in->kind == SYN_OP ? op_seconds(p, m, in, r)
                                         : copy_seconds(p, m, &p->tensors.p[in->out[0]], r);
        sec[c] = fmax(sec[c], mine);
    }
}

double hand_additive(const syn_program *p, const cost_model *m, const double *w, double w_comm)
{
    double sum = 0, sec[CL_MAX_CLASSES];
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        hand_seconds(p, m, in, sec);
        if (in->kind == SYN_START)
            sum += w_comm * sec[0];
        else
            for (int c = 0; c < p->mesh->n_classes; c++)
                sum += w[c] * sec[c];
    }
    return sum;
}
