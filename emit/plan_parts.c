#include "emit/plan_parts.h"

#include <math.h>
#include <stdlib.h>

#include "synth/passes/workspace.h"
#include "synth/price/simulate_plan.h"

emit_plan *emit_stage_plans(hb_arena *a, const syn_staged *p, const emit_plan *about)
{
    emit_plan *e = hb_alloc(a, sizeof *e * (size_t)p->n);
    syn_result *res = hb_alloc(a, sizeof *res * (size_t)p->n);
    for (int s = 0; s < p->n; s++) {
        e[s] = *about;
        e[s].p = p->stage[s].program;
        e[s].res = &res[s];
        res[s].others.one_class = -1;
        res[s].predicted_sec = syn_simulate_in(a, p->stage[s].program, &res[s].timeline, true);
    }
    return e;
}

static void set_firsts(plan_parts *x)
{
    for (int i = 0; i < x->n; i++) {
        plan_part *k = &x->part[i];
        const plan_part *before = i > 0 ? k - 1 : NULL;
        if (before) {
            k->first_class = before->first_class + before->p->mesh->n_classes;
            k->first_cut = before->first_cut + before->p->mesh->cuts.n;
            k->first_tensor = before->first_tensor + before->p->tensors.n;
            k->first_instr = before->first_instr + before->p->instr.n;
        }
        x->n_classes = k->first_class + k->p->mesh->n_classes;
        const step_times *pace = x->part[x->pace].t;
        if (k->t->of[k->t->busiest].compute > pace->of[pace->busiest].compute) x->pace = i;
    }
}

plan_parts *parts_of(hb_arena *a, const emit_plan *e, const emit_lines *where)
{
    plan_parts *x = HB_NEW(a, plan_parts);
    *x = (plan_parts){.n = 1, .part = HB_NEW(a, plan_part)};
    step_times *t = step_times_of(a, e);
    x->part[0] = (plan_part){
        .e = e, .p = e->p, .t = t, .w = wording_of(a, e, t), .where = where, .stage = -1};
    set_firsts(x);
    return x;
}

plan_parts *parts_of_stages(hb_arena *a, const syn_staged *p, const emit_plan *about,
                            const emit_lines *where)
{
    plan_parts *x = HB_NEW(a, plan_parts);
    *x = (plan_parts){.n = p->n, .staged = p};
    emit_plan *e = emit_stage_plans(a, p, about);
    x->part = hb_alloc(a, sizeof *x->part * (size_t)p->n);
    x->n_pieces = HB_ARRAY(a, int, p->n);
    x->pieces = syn_stage_pieces(a, p, x->n_pieces);
    for (int s = 0; s < p->n; s++) {
        step_times *t =
            step_times_of_stage(a, &e[s], x->pieces[s], x->n_pieces[s], p->predicted_sec);
        x->part[s] = (plan_part){.e = &e[s],
                                 .p = e[s].p,
                                 .t = t,
                                 .w = wording_of(a, &e[s], t),
                                 .where = where ? &where[s] : NULL,
                                 .stage = s};
    }
    set_firsts(x);
    return x;
}

hb_str part_class_name(const plan_part *x, int cls)
{
    hb_str name = x->p->cluster->cls[x->p->mesh->cluster_class[cls]].name;
    return x->stage < 0 ? name : hb_fmt(x->w->a, "%.*s, stage %d", HB_ARG(name), x->stage);
}

const char *part_prefix(hb_arena *a, const plan_part *x)
{
    return x->stage < 0 ? "" : hb_fmt(a, "stage %d, ", x->stage).p;
}

void part_fullest(const syn_program *p, double *filled, double *capacity)
{
    *filled = 0;
    *capacity = 1;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        double used = (double)(p->peak_bytes[c] + syn_workspace_bytes(p, c)),
               room = (double)p->cluster->cls[p->mesh->cluster_class[c]].capacity;
        if (c > 0 && used * *capacity <= *filled * room) continue;
        *filled = used;
        *capacity = room;
    }
}

// --- messages ---

static int by_port(const void *x, const void *y)
{
    const part_message *a = x, *b = y;
    if (a->port != b->port) return a->port < b->port ? -1 : 1;
    return (a->begin > b->begin) - (a->begin < b->begin);
}

int parts_messages(hb_arena *a, const plan_parts *x, part_message **out)
{
    int all = 0, n = 0;
    for (int s = 0; s < x->n; s++)
        all += x->n_pieces[s];
    part_message *v = hb_alloc(a, sizeof *v * (size_t)(all + 1));
    double *left = HB_ARRAY(a, double, x->staged->cut->ports.n + 1); // when the last one has
    for (int s = 0; s < x->n; s++)
        for (int i = 0; i < x->n_pieces[s]; i++) {
            const syn_stage_piece *k = &x->pieces[s][i];
            if (k->port < 0 || !k->send) continue;
            double begin = fmax(k->begin + k->work, left[k->port]);
            left[k->port] = begin + x->staged->port_sec[k->port];
            v[n++] = (part_message){k->port, k->m, begin, left[k->port], 0};
        }
    int slots = x->staged->g->micro_batches > 1 ? x->staged->g->micro_batches : 1;
    int *at = HB_ARRAY(a, int, (x->staged->cut->ports.n + 1) * slots);
    qsort(v, (size_t)n, sizeof *v, by_port);
    for (int q = 0; q < n; q++)
        at[v[q].port * slots + v[q].m] = q;
    for (int s = 0; s < x->n; s++)
        for (int i = 0; i < x->n_pieces[s]; i++) {
            const syn_stage_piece *k = &x->pieces[s][i];
            if (k->port < 0 || k->send) continue;
            part_message *q = &v[at[k->port * slots + k->m]];
            double asked = k->begin + k->work; // a card that is shared brings it later
            if (k->end > asked) q->end = fmax(q->end, k->end);
            q->waited = fmax(0, fmin(q->end, k->end) - fmax(q->begin, asked));
        }
    *out = v;
    return n;
}
