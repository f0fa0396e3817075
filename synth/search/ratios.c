// The ratio LP (docs/theory.md section 4).
//
//     minimize   sum_s m_s T_s + sum_q k_q M_q
//     T_s  >= sum_{ops of stage s} (a + b x_{q,c})     for every class c
//     M_q  >= x_{q,c}                                  padded collectives of cut set q
//     sum_c n_c x_{q,c} = 1
//     bytes_c(x) <= capacity_c + over_c                at the class's fullest moment; over_c costs
//                                                      so much that it is 0 where it can be
//     a hair's weight on the largest growth of each set, so that a set without influence stays
//     as it is
//
// On two axes every cut has its own columns, one for each class of coordinates; a time that depends
// on two shares is linear in each, around the present ones. A cut over both axes and the cut of its
// sums by machine are one column set.
//
// A stage is what lies between two collectives that every class really waits for; equal stages
// (repeated blocks) are one, m_s times. Class weights for the next search are the duals of the T
// rows.

#include "synth/search/ratios.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"
#include "synth/plan/liveness.h"
#include "synth/price/moves.h"

typedef struct stage {
    double *coef; // [class][slot][column]
    double base[CL_MAX_CLASSES];
    int times, col, row[CL_MAX_CLASSES];
} stage;

typedef struct ratio_lp {
    hb_arena *arena;
    const syn_program *p;
    const syn_partitions *pal;
    syn_costs *m;
    int n_classes, n_slots, n_cols; // columns of the slot with the most
    struct slot {
        int set, cut, axis, n;  // n columns
        double *x0;             // present share of one coordinate, by column
        double padded;          // seconds per unit of the largest share
        int *col, *count, stay; // LP column and coordinates, by column
    } * slot;
    HB_VEC(stage) stages;
    stage open;
    int rank_of[CL_MAX_CLASSES]; // one rank of every class
    int *joint;                  // by cut: a used one over both axes whose coarse it is, or itself
    bool short_of_memory;        // the program takes more than may fit
} ratio_lp;

// How a share depends on a slot's columns: one coordinate's, or the sum over a machine.
typedef struct use {
    int slot;
    bool sum;
} use;

static int slot_of(ratio_lp *l, int set, int cut)
{
    for (int i = 0; i < l->n_slots; i++)
        if (l->slot[i].set == set && l->slot[i].cut == cut) return i;
    struct slot *s = &l->slot[l->n_slots];
    const syn_mesh *mesh = l->p->mesh;
    const syn_cut *c = &mesh->cuts.p[cut];
    *s = (struct slot){.set = set, .cut = cut, .axis = c->axis};
    s->n = mesh->n_coord_classes[c->axis];
    s->x0 = HB_ARRAY(l->arena, double, s->n);
    s->col = HB_ARRAY(l->arena, int, s->n);
    s->count = HB_ARRAY(l->arena, int, s->n);
    for (int i = 0; i < c->n; i++) {
        int k = mesh->coord_class[c->axis][i];
        s->x0[k] += (double)c->table[i] / (double)c->size;
        s->count[k]++;
    }
    for (int k = 0; k < s->n; k++)
        s->x0[k] /= s->count[k];
    return l->n_slots++;
}

// The shares that a tensor's local part is a product of.
static int tensor_uses(ratio_lp *l, const syn_tensor *t, use u[SYN_MAX_AXES])
{
    const syn_mesh *mesh = l->p->mesh;
    int n = 0;
    if (t->value < 0) return 0;
    bool joint = syn_joint(mesh, &t->state);
    for (int a = joint ? 1 : 0; a < mesh->n_axes; a++) {
        const syn_axis_state *x = &t->state.ax[a];
        if (x->kind != SYN_S) continue;
        int set = l->pal->set_of[l->p->f->dim[t->value][x->dim].cls[x->pos]];
        int cut = l->joint[x->cut];
        u[n++] = (use){slot_of(l, set, cut), cut != x->cut};
    }
    return n;
}

static int instr_uses(ratio_lp *l, const syn_instr *in, use u[SYN_MAX_AXES])
{
    int n = 0;
    for (int i = 0; i < in->n_out + in->n_in && n < l->p->mesh->n_axes; i++) {
        use more[SYN_MAX_AXES];
        int k = tensor_uses(l, &l->p->tensors.p[i < in->n_out ? in->out[i] : in->in[i - in->n_out]],
                            more);
        for (int j = 0; j < k && n < l->p->mesh->n_axes; j++) {
            bool known = false;
            for (int q = 0; q < n; q++)
                known |= u[q].slot == more[j].slot;
            if (!known) u[n++] = more[j];
        }
    }
    return n;
}

// How much of each column the share of a class is.
static double weight_in(const ratio_lp *l, const use *u, int cls, int col)
{
    const syn_mesh *mesh = l->p->mesh;
    int axis = l->slot[u->slot].axis, rank = l->rank_of[cls];
    if (!u->sum) return mesh->coord_class[axis][syn_coord(mesh, rank, axis)] == col;
    int n = 0, first = rank / mesh->size[1] * mesh->size[1];
    for (int r = first; r < first + mesh->size[1]; r++)
        n += mesh->class_of[r] == col;
    return n;
}

static double present(const ratio_lp *l, const use *u, int cls)
{
    double x = 0;
    for (int k = 0; k < l->slot[u->slot].n; k++)
        x += weight_in(l, u, cls, k) * l->slot[u->slot].x0[k];
    return x;
}

static int n_coefs(const ratio_lp *l)
{
    return l->n_classes * l->n_slots * l->n_cols;
}

static double *coef_of(const ratio_lp *l, const stage *s, int cls, int slot)
{
    return s->coef + (cls * l->n_slots + slot) * l->n_cols;
}

static stage new_stage(ratio_lp *l)
{
    return (stage){.coef = HB_ARRAY(l->arena, double, n_coefs(l) + 1), .times = 1};
}

// A quantity that is `value` of a class at the present shares, `fixed` of it whatever they are:
// adds its slopes and returns the rest.
static double spread(ratio_lp *l, const use *u, int n, int cls, double value, double fixed,
                     double *coef, int stride)
{
    double rest = value;
    for (int i = 0; i < n; i++) {
        double x = present(l, &u[i], cls);
        if (x <= 0) continue;
        for (int k = 0; k < l->slot[u[i].slot].n; k++)
            coef[u[i].slot * stride + k] += (value - fixed) / x * weight_in(l, &u[i], cls, k);
        rest -= value - fixed;
    }
    return rest;
}

static void add_op(ratio_lp *l, const syn_instr *in)
{
    use u[SYN_MAX_AXES];
    int n = instr_uses(l, in, u);
    double whole[CL_MAX_CLASSES] = {-1};
    for (int c = 0; c < l->n_classes; c++) {
        int node = in->node >= 0 ? in->node : 0; // a conversion may stand before its node
        double launch = ir_node_times(l->p->g, node) / ir_node_slots(l->p->g, node) *
                        syn_instr_slots(l->p, in) *
                        cost_launch(l->m->m, l->p->mesh->cluster_class[c]);
        bool idle = false;
        for (int i = 0; i < n; i++)
            idle |= present(l, &u[i], c) <= 0;
        if (idle && in->kind == SYN_OP && n == 1) { // what a share would cost it
            syn_node_cut none = {{-1, -1}, {-1, -1}};
            if (whole[0] < 0) syn_node_seconds(l->m, in->node, &none, whole);
            for (int k = 0; k < l->slot[u[0].slot].n; k++)
                coef_of(l, &l->open, c, u[0].slot)[k] +=
                    (whole[c] - launch) * weight_in(l, &u[0], c, k);
            l->open.base[c] += launch;
        } else if (in->sec[c] > launch) {
            l->open.base[c] +=
                spread(l, u, n, c, in->sec[c], launch, coef_of(l, &l->open, c, 0), l->n_cols);
        } else {
            l->open.base[c] += in->sec[c];
        }
    }
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= SYN_ROUNDING * (fabs(a) + fabs(b)) + SYN_ROUNDING_LEAST;
}

static bool same_stage(const ratio_lp *l, const stage *a, const stage *b)
{
    for (int c = 0; c < l->n_classes; c++)
        if (!close_to(a->base[c], b->base[c])) return false;
    for (int i = 0; i < n_coefs(l); i++)
        if (!close_to(a->coef[i], b->coef[i])) return false;
    return true;
}

static void close_stage(ratio_lp *l)
{
    for (int i = 0; i < l->stages.n; i++)
        if (same_stage(l, &l->stages.p[i], &l->open)) {
            l->stages.p[i].times++;
            memset(l->open.coef, 0, sizeof(double) * (size_t)n_coefs(l));
            memset(l->open.base, 0, sizeof l->open.base);
            return;
        }
    HB_PUSH(l->arena, &l->stages, l->open);
    l->open = new_stage(l);
}

// The exposed seconds of a padded collective follow its largest part.
static void add_padded(ratio_lp *l, const syn_instr *in, int k, double exposed)
{
    const syn_tensor *src = &l->p->tensors.p[in->in[k]], *dst = &l->p->tensors.p[in->out[k]];
    const syn_tensor *cut = in->coll == COST_ALL_GATHER ? src : dst;
    use u[SYN_MAX_AXES];
    int n = tensor_uses(l, cut, u);
    cl_link link = syn_axes_link(l->m, in->axes);
    double bytes =
        ir_tensor_times(l->p->g, src->value) * syn_instr_slots(l->p, in) *
        (double)(ir_elements(&l->p->g->tensors.p[src->value]) * ir_dtype_bytes(src->dtype));
    for (int i = 0; i < n; i++) {
        int axis = l->slot[u[i].slot].axis;
        if (axis != SYN_BOTH && !(in->axes >> axis & 1)) continue; // another axis's cut
        double others = 1;
        for (int j = 0; j < n; j++)
            for (int c = 0; j != i && c < l->slot[u[j].slot].n; c++)
                others = c ? fmax(others, l->slot[u[j].slot].x0[c]) : l->slot[u[j].slot].x0[c];
        l->slot[u[i].slot].padded +=
            exposed * (syn_group_size(l->p->mesh, in->axes) - 1) * bytes * others / link.bandwidth;
    }
}

static void collect(ratio_lp *l, const cost_timeline *t)
{
    const syn_program *p = l->p;
    double exposed = t->comm > 0 ? 1 - t->hidden / t->comm : 0, since = 0;
    double *started = HB_ARRAY(l->arena, double, p->instr.n);
    l->open = new_stage(l);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START) {
            started[i] = since;
            bool padded =
                (in->form == COST_PADDED || in->form == COST_EVEN || cost_is_put(in->form)) &&
                (in->coll == COST_ALL_GATHER || in->coll == COST_REDUCE_SCATTER);
            for (int k = 0; padded && k < in->n_in; k++)
                add_padded(l, in, k, exposed);
        } else if (in->kind == SYN_WAIT) {
            if (since - started[in->start] < p->instr.p[in->start].sec[0]) close_stage(l);
        } else {
            double most = 0;
            add_op(l, in);
            for (int c = 0; c < l->n_classes; c++)
                most = in->sec[c] > most ? in->sec[c] : most;
            since += most;
        }
    }
    close_stage(l);
}

// Buffers live at the fullest moment of every class, as one affine row each.
static void memory_rows(ratio_lp *l, lp *q, const cost_timeline *time)
{
    const syn_program *p = l->p;
    int n = p->instr.n;
    int *birth = HB_ARRAY(l->arena, int, p->tensors.n),
        *death = HB_ARRAY(l->arena, int, p->tensors.n);
    syn_lifetimes(p, birth, death);
    const double *times = syn_held_times(l->arena, p, birth, death);
    for (int c = 0; c < l->n_classes; c++) {
        int64_t *delta = HB_ARRAY(l->arena, int64_t, n + 2), live = 0, most = -1;
        int peak = 0;
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > death[t]) continue;
            int64_t bytes = (int64_t)((double)p->tensors.p[t].bytes[c] * times[t]);
            delta[birth[t]] += bytes;
            delta[death[t] + 1] -= bytes;
        }
        for (int i = 0; i <= n; i++) {
            live += delta[i];
            if (live > most) {
                most = live;
                peak = i;
            }
        }
        double fixed = (double)(p->padded_bytes[c] + p->work_bytes[c]),
               *slope = HB_ARRAY(l->arena, double, l->n_slots * l->n_cols);
        bool any = false;
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > peak || death[t] < peak) continue;
            use u[SYN_MAX_AXES];
            int n_uses = tensor_uses(l, &p->tensors.p[t], u);
            fixed += spread(l, u, n_uses, c, (double)p->tensors.p[t].bytes[c] * times[t], 0, slope,
                            l->n_cols);
            any |= n_uses > 0;
        }
        if (!any) continue;
        // The packing of an arena is not perfect; the arena has the last word.
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        int row = lp_row(q, hb_fmt(l->arena, "memory.%.*s", HB_ARG(k->name)).p, -HUGE_VAL,
                         SYN_LP_MEMORY * (double)k->capacity - fixed);
        // What cannot fit yet comes as near as it can: the next LP goes on from there.
        double over = SYN_LP_OVER * time->total / (double)k->capacity;
        if (l->short_of_memory) lp_term(q, row, lp_col(q, "over", 0, HUGE_VAL, over), -1);
        for (int s = 0; s < l->n_slots; s++)
            for (int i = 0; i < l->slot[s].n; i++)
                if (slope[s * l->n_cols + i] > 0)
                    lp_term(q, row, l->slot[s].col[i], slope[s * l->n_cols + i]);
    }
}

// Is what the slot cuts only kept, and not computed with? Bytes are linear in its shares, however
// far they move.
static bool only_kept(const ratio_lp *l, const struct slot *x)
{
    for (int s = 0; s < l->stages.n; s++)
        for (int c = 0; c < l->n_classes; c++)
            for (int k = 0; k < x->n; k++)
                if (coef_of(l, &l->stages.p[s], c, (int)(x - l->slot))[k] > 0) return false;
    return true;
}

static void share_columns(ratio_lp *l, lp *q, struct slot *x, const cost_timeline *t, double trust)
{
    if (l->short_of_memory && only_kept(l, x)) trust = HUGE_VAL;
    hb_arena *a = l->arena;
    const syn_mesh *mesh = l->p->mesh;
    hb_str cut = mesh->cuts.p[x->cut].name;
    int axis = x->axis;
    int sum = lp_row(q, hb_fmt(a, "whole.g%d.a%d.%.*s", x->set, axis, HB_ARG(cut)).p, 1, 1);
    int most = x->padded > 0
                   ? lp_col(q, hb_fmt(a, "most.g%d.a%d.%.*s", x->set, axis, HB_ARG(cut)).p, 0, 1,
                            x->padded)
                   : -1;
    // Where nothing is gained, shares stay as they are: a hair's weight on the largest growth.
    x->stay = lp_col(q, hb_fmt(a, "stay.g%d.a%d.%.*s", x->set, axis, HB_ARG(cut)).p, 0, HUGE_VAL,
                     SYN_STAY * t->total);
    for (int k = 0; k < x->n; k++) {
        double even = 1.0 / syn_extent(mesh, axis),
               room =
                   trust * (x->x0[k] > SYN_TRUST_FLOOR * even ? x->x0[k] : SYN_TRUST_FLOOR * even);
        double lo = x->x0[k] - room, hi = x->x0[k] + room;
        x->col[k] = lp_col(q, hb_fmt(a, "x.g%d.a%d.%.*s.c%d", x->set, axis, HB_ARG(cut), k).p,
                           lo > 0 ? lo : 0, hi < 1 ? hi : 1, 0);
        lp_term(q, sum, x->col[k], x->count[k]);
        if (most >= 0) {
            int row = lp_row(q, hb_fmt(a, "pad.g%d.c%d", x->set, k).p, 0, HUGE_VAL);
            lp_term(q, row, most, 1);
            lp_term(q, row, x->col[k], -1);
        }
        int row = lp_row(q, hb_fmt(a, "stay.g%d.c%d", x->set, k).p, 0, HUGE_VAL);
        lp_term(q, row, x->stay, 1);
        lp_term(q, row, x->col[k], x->x0[k] > 0 ? -1 / x->x0[k] : -1 / even);
    }
}

static void stage_rows(ratio_lp *l, lp *q)
{
    for (int s = 0; s < l->stages.n; s++) {
        stage *st = &l->stages.p[s];
        st->col = lp_col(q, hb_fmt(l->arena, "stage%d", s).p, 0, HUGE_VAL, st->times);
        for (int c = 0; c < l->n_classes; c++) {
            st->row[c] = lp_row(q, hb_fmt(l->arena, "stage%d.c%d", s, c).p, st->base[c], HUGE_VAL);
            lp_term(q, st->row[c], st->col, 1);
            for (int k = 0; k < l->n_slots; k++)
                for (int i = 0; i < l->slot[k].n; i++) {
                    double slope = coef_of(l, st, c, k)[i];
                    if (slope > 0) lp_term(q, st->row[c], l->slot[k].col[i], -slope);
                }
        }
    }
}

static void read_weights(const ratio_lp *l, lp *q, syn_ratios *out)
{
    double all = 0;
    for (int s = 0; s < l->stages.n; s++)
        for (int c = 0; c < l->n_classes; c++)
            out->weight[c] +=
                lp_value(q, l->stages.p[s].col) * fmax(0, lp_dual(q, l->stages.p[s].row[c]));
    for (int c = 0; c < l->n_classes; c++)
        all += out->weight[c];
    for (int c = 0; c < l->n_classes; c++)
        out->weight[c] = all > 0 ? out->weight[c] / all : 1.0 / l->n_classes;
}

static int *joint_cuts(hb_arena *a, const syn_program *p)
{
    const syn_mesh *m = p->mesh;
    int *joint = HB_ARRAY(a, int, m->cuts.n + 1);
    for (int k = 0; k < m->cuts.n; k++)
        joint[k] = k;
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        if (t->value < 0 || !syn_joint(m, &t->state)) continue;
        int cut = t->state.ax[1].cut, coarse = m->cuts.p[cut].coarse;
        if (joint[coarse] == coarse || joint[coarse] < cut) joint[coarse] = cut;
    }
    return joint;
}

static bool solve_ratios(hb_arena *keep, hb_arena *a, const syn_program *p,
                         const syn_partitions *pal, syn_costs *m, const cost_timeline *t,
                         double trust, bool memory_first, syn_ratios *out)
{
    const syn_mesh *mesh = p->mesh;
    ratio_lp l = {.arena = a, .p = p, .pal = pal, .m = m, .n_classes = mesh->n_classes};
    l.slot = hb_alloc(a, sizeof *l.slot * (size_t)(mesh->cuts.n * pal->n_sets + 1));
    l.joint = joint_cuts(a, p);
    l.short_of_memory = memory_first && syn_live_share(p, false) > SYN_ROOMY;
    for (int r = mesh->n_ranks - 1; r >= 0; r--)
        l.rank_of[mesh->class_of[r]] = r;
    for (int axis = 0; axis <= SYN_BOTH; axis++)
        if (mesh->n_coord_classes[axis] > l.n_cols) l.n_cols = mesh->n_coord_classes[axis];
    for (int i = 0; i < p->tensors.n; i++) {
        use u[SYN_MAX_AXES];
        (void)tensor_uses(&l, &p->tensors.p[i], u);
    }
    *out = (syn_ratios){0};
    if (l.n_slots == 0) return false;
    collect(&l, t);
    lp *q = lp_new(a);
    for (int s = 0; s < l.n_slots; s++)
        share_columns(&l, q, &l.slot[s], t, trust);
    stage_rows(&l, q);
    memory_rows(&l, q, t);
    if (lp_solve(q) != LP_OPTIMAL) return false;
    read_weights(&l, q, out);
    out->objective = lp_objective(q);
    for (int s = 0; s < l.n_slots; s++)
        out->objective -= SYN_STAY * t->total * lp_value(q, l.slot[s].stay);
    out->n = l.n_slots;
    out->v = HB_ARRAY(keep, syn_ratio, l.n_slots);
    for (int s = 0; s < l.n_slots; s++) {
        const struct slot *x = &l.slot[s];
        int n = syn_extent(mesh, x->axis);
        out->v[s] = (syn_ratio){x->set, x->cut, x->axis, HB_ARRAY(keep, double, n)};
        for (int i = 0; i < n; i++)
            out->v[s].share[i] = fmax(0, lp_value(q, x->col[mesh->coord_class[x->axis][i]]));
    }
    return true;
}

bool syn_ratio_lp(hb_arena *a, const syn_program *p, const syn_partitions *pal, syn_costs *m,
                  const cost_timeline *t, double trust, bool memory_first, syn_ratios *out)
{
    hb_arena *scratch = hb_arena_new();
    bool ok = solve_ratios(a, scratch, p, pal, m, t, trust, memory_first, out);
    hb_arena_free(scratch);
    return ok;
}
