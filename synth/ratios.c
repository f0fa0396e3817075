// The ratio LP (docs/theory.md section 4).
//
//     minimize   sum_s m_s T_s + sum_q k_q M_q
//     T_s  >= sum_{ops of stage s} (a + b x_{q,c})     for every class c
//     M_q  >= x_{q,c}                                  padded collectives of cut group q
//     sum_c n_c x_{q,c} = 1
//     bytes_c(x) <= capacity_c                         at the class's fullest moment
//     a hair's weight on the largest growth of each group, so that a group without influence stays
//     as it is
//
// A stage is what lies between two collectives that every class really waits for; equal stages
// (repeated blocks) are one, m_s times. Class weights for the next search are the duals of the T
// rows.

#include "synth/ratios.h"

#include <math.h>
#include <string.h>

#include "solver/lp.h"
#include "synth/states.h"

// Share of the step that the largest growth of a share may weigh.
static const double STAY = 1e-6;

typedef struct stage {
    double *coef; // [slot * n_classes + class]
    double base[CL_MAX_CLASSES];
    int times, col, row[CL_MAX_CLASSES];
} stage;

typedef struct ratio_lp {
    hb_arena *arena;
    const syn_program *p;
    const syn_palette *pal;
    const cost_model *m;
    int n_classes, n_slots;
    struct slot {
        int group, cut;
        double x0[CL_MAX_CLASSES],
            padded; // present share of one rank; seconds per unit of the largest share
        int col[CL_MAX_CLASSES], stay;
    } * slot;
    HB_VEC(stage) stages;
    stage open;
    int ranks_in[CL_MAX_CLASSES];
} ratio_lp;

static int slot_of(ratio_lp *l, int group, int cut)
{
    for (int i = 0; i < l->n_slots; i++)
        if (l->slot[i].group == group && l->slot[i].cut == cut) return i;
    struct slot *s = &l->slot[l->n_slots];
    const syn_cut *c = &l->p->mesh->cuts.p[cut];
    *s = (struct slot){.group = group, .cut = cut};
    for (int r = 0; r < l->p->mesh->n_ranks; r++)
        s->x0[l->p->mesh->class_of[r]] += (double)c->table[r] / (double)c->size;
    for (int k = 0; k < l->n_classes; k++)
        s->x0[k] /= l->ranks_in[k];
    return l->n_slots++;
}

static int tensor_slot(ratio_lp *l, const syn_tensor *t)
{
    const syn_axis_state *x = &t->state.ax[0];
    if (t->value < 0 || x->kind != SYN_S) return -1;
    return slot_of(l, l->pal->group_of[l->p->f->dim[t->value][x->dim].cls[x->pos]], x->cut);
}

static int op_slot(ratio_lp *l, const syn_instr *in)
{
    for (int i = 0; i < in->n_out + in->n_in; i++) {
        int s =
            tensor_slot(l, &l->p->tensors.p[i < in->n_out ? in->out[i] : in->in[i - in->n_out]]);
        if (s >= 0) return s;
    }
    return -1;
}

static stage new_stage(ratio_lp *l)
{
    return (stage){.coef = HB_ARRAY(l->arena, double,
                                    l->p->mesh->cuts.n * l->pal->n_groups * l->n_classes + 1),
                   .times = 1};
}

static void add_op(ratio_lp *l, const syn_instr *in)
{
    int s = op_slot(l, in);
    for (int c = 0; c < l->n_classes; c++) {
        double sec = in->sec[c], launch = cost_launch(l->m, l->p->mesh->cluster_class[c]);
        double slope = 0;
        if (s >= 0 && l->slot[s].x0[c] > 0 && sec > launch)
            slope = (sec - launch) / l->slot[s].x0[c];
        else if (s >= 0 && in->kind == SYN_OP)
            slope =
                syn_node_seconds(l->p->g, l->p->f, l->m, l->p->mesh, in->node, -1, -1, c) - launch;
        l->open.base[c] += slope > 0 ? launch : sec;
        if (s >= 0) l->open.coef[s * l->n_classes + c] += slope;
    }
}

static bool close_to(double a, double b)
{
    return fabs(a - b) <= 1e-9 * (fabs(a) + fabs(b)) + 1e-15;
}

static bool same_stage(const ratio_lp *l, const stage *a, const stage *b)
{
    for (int c = 0; c < l->n_classes; c++)
        if (!close_to(a->base[c], b->base[c])) return false;
    for (int i = 0; i < l->n_slots * l->n_classes; i++)
        if (!close_to(a->coef[i], b->coef[i])) return false;
    return true;
}

static void close_stage(ratio_lp *l)
{
    for (int i = 0; i < l->stages.n; i++)
        if (same_stage(l, &l->stages.p[i], &l->open)) {
            l->stages.p[i].times++;
            memset(l->open.coef, 0, sizeof(double) * (size_t)(l->n_slots * l->n_classes));
            memset(l->open.base, 0, sizeof l->open.base);
            return;
        }
    HB_PUSH(l->arena, &l->stages, l->open);
    l->open = new_stage(l);
}

static void collect(ratio_lp *l, const cost_timeline *t)
{
    const syn_program *p = l->p;
    double exposed = t->comm > 0 ? 1 - t->hidden / t->comm : 0, since = 0;
    double *started = HB_ARRAY(l->arena, double, p->instr.n);
    cl_link link = cl_group_link(l->m->cluster, p->mesh->cluster_rank, p->mesh->n_ranks, 1);
    l->open = new_stage(l);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START) {
            started[i] = since;
            bool padded = in->form == COST_PADDED || in->form == COST_EVEN;
            for (int k = 0; padded && k < in->n_in; k++) {
                const syn_tensor *src = &p->tensors.p[in->in[k]];
                int s =
                    tensor_slot(l, in->coll == COST_ALL_GATHER ? src : &p->tensors.p[in->out[k]]);
                if (s >= 0 && (in->coll == COST_ALL_GATHER || in->coll == COST_REDUCE_SCATTER))
                    l->slot[s].padded += exposed * (p->mesh->n_ranks - 1) *
                                         (double)(ir_elements(&p->g->tensors.p[src->value]) *
                                                  ir_dtype_bytes(src->dtype)) /
                                         link.bandwidth;
            }
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

void syn_lifetimes(const syn_program *p, int *birth, int *death)
{
    int n = p->instr.n;
    for (int t = 0; t < p->tensors.n; t++) {
        bool always =
            p->tensors.p[t].role == SYN_ROLE_HOME || p->tensors.p[t].role == SYN_ROLE_CONST;
        birth[t] = always || p->tensors.p[t].role == SYN_ROLE_INPUT ? 0 : n;
        death[t] = always ? n : 0;
    }
    for (int i = 0; i < n; i++) {
        const syn_instr *in = &p->instr.p[i];
        const syn_instr *what = in->kind == SYN_WAIT ? &p->instr.p[in->start] : in;
        for (int k = 0; k < what->n_in + what->n_out + (what->scratch >= 0); k++) {
            int t = k < what->n_in                 ? what->in[k]
                    : k < what->n_in + what->n_out ? what->out[k - what->n_in]
                                                   : what->scratch;
            if (t < 0) continue;
            birth[t] = i < birth[t] ? i : birth[t];
            death[t] = i > death[t] ? i : death[t];
        }
    }
}

// Buffers live at the fullest moment of every class, as one affine row each.
static void memory_rows(ratio_lp *l, lp *q)
{
    const syn_program *p = l->p;
    int n = p->instr.n;
    int *birth = HB_ARRAY(l->arena, int, p->tensors.n),
        *death = HB_ARRAY(l->arena, int, p->tensors.n);
    syn_lifetimes(p, birth, death);
    for (int c = 0; c < l->n_classes; c++) {
        int64_t *delta = HB_ARRAY(l->arena, int64_t, n + 2), live = 0, most = -1;
        int peak = 0;
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > death[t]) continue;
            delta[birth[t]] += p->tensors.p[t].bytes[c];
            delta[death[t] + 1] -= p->tensors.p[t].bytes[c];
        }
        for (int i = 0; i <= n; i++) {
            live += delta[i];
            if (live > most) {
                most = live;
                peak = i;
            }
        }
        double fixed = 0, *slope = HB_ARRAY(l->arena, double, l->n_slots);
        bool any = false;
        for (int t = 0; t < p->tensors.n; t++) {
            if (birth[t] > peak || death[t] < peak) continue;
            int s = tensor_slot(l, &p->tensors.p[t]);
            double bytes = (double)p->tensors.p[t].bytes[c];
            if (s >= 0 && l->slot[s].x0[c] > 0)
                slope[s] += bytes / l->slot[s].x0[c];
            else
                fixed += bytes;
            any |= s >= 0;
        }
        if (!any) continue;
        // The packing of an arena is not perfect; the arena has the last word.
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        int row = lp_row(q, hb_fmt(l->arena, "memory.%.*s", HB_ARG(k->name)).p, -HUGE_VAL,
                         0.98 * (double)k->capacity - fixed);
        for (int s = 0; s < l->n_slots; s++)
            if (slope[s] > 0) lp_term(q, row, l->slot[s].col[c], slope[s]);
    }
}

static bool solve_ratios(hb_arena *keep, hb_arena *a, const syn_program *p, const syn_palette *pal,
                         const cost_model *m, const cost_timeline *t, double trust,
                         const char *dump, syn_ratios *out)
{
    ratio_lp l = {.arena = a, .p = p, .pal = pal, .m = m, .n_classes = p->mesh->n_classes};
    l.slot = hb_alloc(a, sizeof *l.slot * (size_t)(p->mesh->cuts.n * pal->n_groups + 1));
    for (int r = 0; r < p->mesh->n_ranks; r++)
        l.ranks_in[p->mesh->class_of[r]]++;
    for (int i = 0; i < p->tensors.n; i++)
        (void)tensor_slot(&l, &p->tensors.p[i]);
    *out = (syn_ratios){0};
    if (l.n_slots == 0) return false;
    collect(&l, t);
    lp *q = lp_new(a);
    for (int s = 0; s < l.n_slots; s++) {
        struct slot *x = &l.slot[s];
        hb_str cut = p->mesh->cuts.p[x->cut].name;
        int sum = lp_row(q, hb_fmt(a, "whole.g%d.%.*s", x->group, HB_ARG(cut)).p, 1, 1);
        int most = x->padded > 0 ? lp_col(q, hb_fmt(a, "most.g%d.%.*s", x->group, HB_ARG(cut)).p, 0,
                                          1, x->padded)
                                 : -1;
        // Where nothing is gained, shares stay as they are: a hair's weight on the largest growth.
        x->stay = lp_col(q, hb_fmt(a, "stay.g%d.%.*s", x->group, HB_ARG(cut)).p, 0, HUGE_VAL,
                         STAY * t->total);
        for (int c = 0; c < l.n_classes; c++) {
            double even = 1.0 / p->mesh->n_ranks,
                   room = trust * (x->x0[c] > 0.1 * even ? x->x0[c] : 0.1 * even);
            double lo = x->x0[c] - room, hi = x->x0[c] + room;
            x->col[c] = lp_col(q, hb_fmt(a, "x.g%d.%.*s.c%d", x->group, HB_ARG(cut), c).p,
                               lo > 0 ? lo : 0, hi < 1 ? hi : 1, 0);
            lp_term(q, sum, x->col[c], l.ranks_in[c]);
            if (most >= 0) {
                int row = lp_row(q, hb_fmt(a, "pad.g%d.c%d", x->group, c).p, 0, HUGE_VAL);
                lp_term(q, row, most, 1);
                lp_term(q, row, x->col[c], -1);
            }
            int row = lp_row(q, hb_fmt(a, "stay.g%d.c%d", x->group, c).p, 0, HUGE_VAL);
            lp_term(q, row, x->stay, 1);
            lp_term(q, row, x->col[c], x->x0[c] > 0 ? -1 / x->x0[c] : -1 / even);
        }
    }
    for (int s = 0; s < l.stages.n; s++) {
        stage *st = &l.stages.p[s];
        st->col = lp_col(q, hb_fmt(a, "stage%d", s).p, 0, HUGE_VAL, st->times);
        for (int c = 0; c < l.n_classes; c++) {
            st->row[c] = lp_row(q, hb_fmt(a, "stage%d.c%d", s, c).p, st->base[c], HUGE_VAL);
            lp_term(q, st->row[c], st->col, 1);
            for (int k = 0; k < l.n_slots; k++)
                if (st->coef[k * l.n_classes + c] > 0)
                    lp_term(q, st->row[c], l.slot[k].col[c], -st->coef[k * l.n_classes + c]);
        }
    }
    memory_rows(&l, q);
    if (dump) (void)lp_write(q, dump);
    if (lp_solve(q) != LP_OPTIMAL) return false;
    double all = 0;
    for (int s = 0; s < l.stages.n; s++)
        for (int c = 0; c < l.n_classes; c++)
            out->weight[c] +=
                lp_value(q, l.stages.p[s].col) * fmax(0, lp_dual(q, l.stages.p[s].row[c]));
    for (int c = 0; c < l.n_classes; c++)
        all += out->weight[c];
    for (int c = 0; c < l.n_classes; c++)
        out->weight[c] = all > 0 ? out->weight[c] / all : 1.0 / l.n_classes;
    out->objective = lp_objective(q);
    for (int s = 0; s < l.n_slots; s++)
        out->objective -= STAY * t->total * lp_value(q, l.slot[s].stay);
    out->n = l.n_slots;
    out->v = HB_ARRAY(keep, syn_ratio, l.n_slots);
    for (int s = 0; s < l.n_slots; s++) {
        out->v[s] = (syn_ratio){.group = l.slot[s].group,
                                .cut = l.slot[s].cut,
                                .per_rank = HB_ARRAY(keep, double, p->mesh->n_ranks)};
        for (int r = 0; r < p->mesh->n_ranks; r++)
            out->v[s].per_rank[r] = fmax(0, lp_value(q, l.slot[s].col[p->mesh->class_of[r]]));
    }
    return true;
}

bool syn_ratio_lp(hb_arena *a, const syn_program *p, const syn_palette *pal, const cost_model *m,
                  const cost_timeline *t, double trust, const char *dump, syn_ratios *out)
{
    hb_arena *scratch = hb_arena_new();
    bool ok = solve_ratios(a, scratch, p, pal, m, t, trust, dump, out);
    hb_arena_free(scratch);
    return ok;
}
