// The simulator: a program with its cuts becomes events, and the events are simulated (costmodel).

#include "synth/price/simulate_plan.h"

#include <math.h>
#include <string.h>

#include "ir/runtime_limits.h"
#include "synth/price/endings.h"
#include "synth/price/fusion_cost.h"
#include "synth/price/instr_cost.h"
#include "synth/price/moves.h"
#include "synth/price/pair_cost.h"

static ir_role role_of(const syn_program *p, const syn_instr *in)
{
    return in->kind == SYN_OP ? ir_op_of(p->g->nodes.p[in->node].op)->role : IR_ROLE_none;
}

// What writes an operand of an instruction; NULL if the step does not.
static const syn_instr *writer(const syn_program *p, const syn_instr *of, int tensor)
{
    for (const syn_instr *x = of; x-- > p->instr.p;)
        for (int i = 0; i < x->n_out; i++)
            if (x->out[i] == tensor) return x;
    return NULL;
}

// What an op reads of hap_partial is the operand, or zeros that are made once.
static bool small_partial(const syn_program *p, const syn_instr *in)
{
    for (int c = 0; c < p->mesh->n_classes; c++)
        if (p->tensors.p[in->out[0]].bytes[c] > IR_CUDA_SMALL) return false;
    for (const syn_instr *x = in + 1; x < p->instr.p + p->instr.n; x++)
        for (int i = 0; i < x->n_in; i++)
            if (x->in[i] == in->out[0]) return x->kind == SYN_OP;
    return false;
}

// By tensor: whether an op that writes copies updates all of what a device has of it, and whether a
// one-sided put or a pair reads it.
typedef struct copies {
    bool *updated, *live;
    double bytes[CL_MAX_CLASSES]; // of those that stay, so far
} copies;

static copies copies_of(hb_arena *a, const syn_program *p)
{
    copies x = {HB_ARRAY(a, bool, p->tensors.n), HB_ARRAY(a, bool, p->tensors.n), {0}};
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (role_of(p, in) == IR_ROLE_update) x.updated[in->in[0]] = true;
        for (int k = 0; in->kind == SYN_START && cost_is_put(in->form) && k < in->n_in; k++)
            x.live[in->in[k]] = true;
    }
    for (int k = 0; k < p->pairs.n; k++)
        for (int i = p->pairs.p[k].first; i < p->pairs.p[k].first + p->pairs.p[k].len; i++)
            for (int o = 0; o < p->instr.p[i].n_in; o++)
                if (p->instr.p[i].in[o] >= 0) x.live[p->instr.p[i].in[o]] = true;
    return x;
}

// --- conditions of a plan (runtime/hap/joins.def), on class c ---

static bool plan_always(const syn_program *p, copies *x, const syn_instr *in, int c)
{
    (void)p, (void)x, (void)in, (void)c;
    return true;
}

// A split is parts of the matmul before it only where that makes what the split reads, of a whole
// weight: not behind a collective.
static bool plan_splits_matmul(const syn_program *p, copies *known, const syn_instr *split, int c)
{
    (void)known, (void)c;
    const syn_instr *x = writer(p, split, split->in[0]);
    if (!x || x->kind != SYN_OP || x->n_in < 2) return false;
    for (int a = 0; a < p->mesh->n_axes; a++)
        if (p->tensors.p[x->in[1]].state.ax[a].kind == SYN_S) return false;
    return true;
}

// So with sums: of what a collective brings, no kernel adds up the columns while it makes them.
static bool plan_sums_made(const syn_program *p, copies *known, const syn_instr *sum, int c)
{
    (void)known, (void)c;
    const syn_instr *x = writer(p, sum, sum->in[0]);
    while (x && role_of(p, x) == IR_ROLE_copy)
        x = writer(p, x, x->in[0]);
    return x && x->kind == SYN_OP;
}

// The statistics of a cut vocabulary are reduced before anybody reads them.
static bool plan_whole_rows(const syn_program *p, copies *x, const syn_instr *in, int c)
{
    (void)x, (void)c;
    for (int a = 0; a < p->mesh->n_axes; a++)
        if (p->tensors.p[in->out[0]].state.ax[a].kind == SYN_P) return false;
    return true;
}

// A copy of a parameter stays if the runtime has memory for it.
static bool plan_copy_stays(const syn_program *p, copies *x, const syn_instr *in, int c)
{
    double bytes = (double)p->tensors.p[in->out[0]].bytes[c];
    if (!x->updated[in->in[0]] || x->live[in->out[0]] || x->bytes[c] + bytes > IR_CUDA_SPARE)
        return false;
    x->bytes[c] += bytes;
    return true;
}

// Whether a GPU of class c does an instruction in a neighbour's kernel; *left: the tensor whose
// bytes it still takes the time of, -1: none.
static bool joined(const syn_program *p, copies *x, const syn_instr *in, int c, int *left)
{
    *left = -1;
    if (in->kind == SYN_PARTIAL) return small_partial(p, in);
    if (in->kind != SYN_OP || !p->f->joined[in->node]) return false;
    const int nothing = -1, operand = in->in[0], result = in->out[0];
    switch ((int)role_of(p, in)) {
#define HAP_JOIN(role, plan, bytes)                                                                \
    case IR_ROLE_##role:                                                                           \
        *left = bytes;                                                                             \
        return plan_##plan(p, x, in, c);
#include "runtime/hap/joins.def"
    default:
        return false;
    }
}

// The members of a fusion take their shares of its time; what a neighbour's kernel does takes none.
static void fuse_events(const syn_program *p, cost_event *e)
{
    hb_arena *scratch = hb_arena_new();
    copies known = copies_of(scratch, p);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *cls = &p->cluster->cls[p->mesh->cluster_class[c]];
        if (cls->kind != CL_GPU) continue;
        for (int i = 0; i < p->instr.n; i++) {
            const syn_instr *in = &p->instr.p[i];
            int moved;
            if (!joined(p, &known, in, c, &moved)) continue;
            double sec = moved < 0 ? 0
                                   : ir_node_times(p->g, in->node) *
                                         cost_stream(cls, (double)p->tensors.p[moved].bytes[c]);
            e[i].sec[c] = fmin(e[i].sec[c], sec);
        }
    }
    const syn_endings endings = syn_endings_of(scratch, p);
    for (int k = 0; k < p->fusions.n; k++) {
        const syn_fusion *g = &p->fusions.p[k];
        double sec[CL_MAX_CLASSES];
        syn_fusion_seconds(p, g, sec);
        syn_ending_seconds(p, &endings, g, sec);
        for (int c = 0; c < p->mesh->n_classes; c++) {
            double alone = 0;
            for (int m = 0; m < g->len; m++)
                alone += p->instr.p[g->first + m].sec[c];
            for (int m = 0; m < g->len && alone > 0; m++)
                e[g->first + m].sec[c] *= sec[c] / alone;
        }
    }
    hb_arena_free(scratch);
}

// A pair is one event at its start, as long as those of all layers that it stands for; at the wait
// of a consumer nothing is waited for.
static cost_pair_event *pair_events(hb_arena *a, const syn_program *p, cost_event *e)
{
    cost_pair_event *all = HB_ARRAY(a, cost_pair_event, p->pairs.n + 1);
    for (int k = 0; k < p->pairs.n; k++) {
        const syn_pair *x = &p->pairs.p[k];
        int start = syn_pair_start(p, x);
        const syn_instr *in = &p->instr.p[start];
        double times = syn_instr_times(p, in) / syn_instr_slots(p, in);
        all[k] = (cost_pair_event){.consumer = syn_is_consumer(p, x),
                                   .transfer = times * x->transfer,
                                   .total = times * x->total,
                                   .shown = start == x->first ? x->first + 2 : x->first};
        for (int i = x->first; i < x->first + x->len; i++) {
            e[i].kind = i == start ? COST_PAIR : COST_MEMBER;
            memset(e[i].sec, 0, sizeof e[i].sec);
        }
        for (int c = 0; c < p->mesh->n_classes; c++) {
            all[k].busy[c] = times * x->busy[c];
            all[k].own[c] = times * x->own[c];
            e[start].sec[c] = times * x->end[c];
        }
        e[start].pair = &all[k];
    }
    return all;
}

bool syn_crosses(const syn_program *p, unsigned axes)
{
    return syn_group_crosses(p->cluster, p->mesh, axes);
}

// A part of the cluster whose seconds are scaled.
typedef struct scaling {
    int cls, axis;
    double by;
} scaling;

// What of a pair is hidden stays the same share of the shorter of its sides.
static void scale_pair(const syn_program *p, const scaling *s, cost_event *e, cost_pair_event *x)
{
    double before = 0, after = 0, now = x->transfer * (e->stream == s->axis ? s->by : 1);
    for (int c = 0; c < p->mesh->n_classes; c++) {
        before = fmax(before, x->busy[c]);
        if (p->mesh->cluster_class[c] == s->cls) {
            x->busy[c] *= s->by;
            x->own[c] *= s->by;
        }
        after = fmax(after, x->busy[c]);
    }
    double shorter = fmin(before, x->transfer);
    double share = shorter > 0 ? (before + x->transfer - x->total) / shorter : 0;
    double total = after + now - share * fmin(after, now);
    for (int c = 0; c < p->mesh->n_classes; c++)
        e->sec[c] = x->consumer ? fmax(e->sec[c] + total - x->total, x->busy[c])
                                : e->sec[c] * (p->mesh->cluster_class[c] == s->cls ? s->by : 1);
    x->transfer = now;
    x->total = total;
}

static void scale_events(const syn_program *p, const scaling *s, cost_event *e,
                         cost_pair_event *pairs)
{
    for (int k = 0; k < p->pairs.n; k++)
        scale_pair(p, s, &e[syn_pair_start(p, &p->pairs.p[k])], &pairs[k]);
    for (int i = 0; i < p->instr.n; i++) {
        if (e[i].kind == COST_START && e[i].stream == s->axis) e[i].sec[0] *= s->by;
        for (int c = 0; e[i].kind == COST_COMPUTE && c < p->mesh->n_classes; c++)
            if (p->mesh->cluster_class[c] == s->cls) e[i].sec[c] *= s->by;
    }
}

static double simulate(hb_arena *a, const syn_program *p, const scaling *s, cost_timeline *t,
                       bool keep_times)
{
    hb_arena *scratch = hb_arena_new();
    cost_event *e = hb_room(scratch, sizeof *e, p->instr.n);
    bool quiet[4];
    for (unsigned axes = 1; axes < 4; axes++)
        quiet[axes] = syn_group_quiet(p->cluster, p->mesh, axes);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        e[i].kind = in->kind == SYN_START  ? COST_START
                    : in->kind == SYN_WAIT ? COST_WAIT
                                           : COST_COMPUTE;
        e[i].of = in->start;
        e[i].pair = NULL;
        e[i].round = in->turn == IR_BEFORE  ? COST_FIRST_ROUND
                     : in->turn == IR_AFTER ? COST_LAST_ROUND
                                            : COST_EACH_ROUND;
        e[i].put = in->kind == SYN_START && cost_is_put(in->form);
        e[i].quiet = in->kind == SYN_START && quiet[in->axes];
        e[i].stream = in->axes == 2 ? 1 : 0; // the axis inside machines has links of its own
        memcpy(e[i].sec, in->sec, sizeof e[i].sec[0] * (size_t)p->mesh->n_classes);
    }
    fuse_events(p, e);
    const syn_slot slot = syn_slot_of(p);
    for (int i = slot.first; i < slot.end; i++)
        for (int c = 0; c < p->mesh->n_classes && !syn_once(p, &slot, i); c++)
            e[i].sec[c] /= slot.times; // one micro-batch
    cost_pair_event *pairs = pair_events(scratch, p, e);
    if (s) scale_events(p, s, e, pairs);
    cost_contentions beside[CL_MAX_CLASSES];
    bool contended = false;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        beside[c] = cost_contentions_of(&p->cluster->cls[p->mesh->cluster_class[c]]);
        for (int put = 0; put < 2; put++)
            contended =
                contended || beside[c].of[put].compute > 1 || beside[c].of[put].communication > 1;
    }
    cost_simulate(a, p->mesh->n_classes, contended ? beside : NULL, e, p->instr.n,
                  slot.times > 1 ? &(cost_again){slot.first, slot.end, slot.times} : NULL,
                  keep_times, t);
    hb_arena_free(scratch);
    return t->total;
}

double syn_simulate(const syn_program *p, cost_timeline *t, bool keep_times)
{
    return simulate(p->arena, p, NULL, t, keep_times);
}

double syn_simulate_in(hb_arena *a, const syn_program *p, cost_timeline *t, bool keep_times)
{
    return simulate(a, p, NULL, t, keep_times);
}

double syn_simulate_if(const syn_program *p, int cls, int axis, double scale)
{
    cost_timeline t;
    return simulate(p->arena, p, &(scaling){cls, axis, scale}, &t, false);
}

double syn_simulate_plan(syn_program *p, const cost_model *m, cost_timeline *t)
{
    hb_arena *a = hb_arena_new();
    syn_costs *c = syn_costs_new(a, m, p->mesh, p->g, p->f);
    syn_price(p, c);
    syn_price_pairs(p, c);
    hb_arena_free(a);
    return syn_simulate(p, t, true);
}

hb_str syn_unmeasured(hb_arena *a, const syn_program *p, const cost_model *m)
{
    hb_map *said = hb_map_new(a);
    hb_buf list = {.arena = a};
    for (int i = 0; m->curves && i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        hb_str name = {0};
        if (in->kind == SYN_OP) {
            ir_op op = p->g->nodes.p[in->node].op;
            bool known = true;
            for (int c = 0; c < p->mesh->n_classes && !(ir_op_of(op)->flags & IR_ZERO_COPY); c++)
                known = known && cost_op_measured(m, p->mesh->cluster_class[c], op);
            if (!known) name = hb_str_c(a, ir_op_of(op)->name);
        } else if (in->kind == SYN_START && in->form != COST_TWO_LEVEL &&
                   !cost_coll_measured(m, in->coll, in->form, syn_group_size(p->mesh, in->axes),
                                       syn_crosses(p, in->axes))) {
            name = hb_fmt(a, "%s %s", cost_coll_name(in->coll), cost_form_name(in->form).s);
        }
        if (!name.n || hb_map_get(said, name) >= 0) continue;
        hb_map_put(said, name, 0);
        hb_printf(&list, "%s%.*s", list.n ? ", " : "", HB_ARG(name));
    }
    return hb_done(&list);
}

double syn_peak_seconds(const syn_program *p)
{
    double flops = 0, peak = 0;
    for (int n = 0; n < p->g->nodes.n; n++) {
        double f = 0, bytes = 0;
        if (p->g->nodes.p[n].again) continue; // by convention the step's own arithmetic
        if (ir_is_dense(p->g->nodes.p[n].op)) ir_node_work(p->g, p->f, n, NULL, 0, &f, &bytes);
        flops += f * ir_node_times(p->g, n);
    }
    for (int r = 0; r < p->mesh->n_ranks; r++) {
        const cl_class *c = &p->cluster->cls[p->mesh->cluster_class[p->mesh->class_of[r]]];
        double fast = p->g->precision == IR_PRECISION_BF16   ? c->bf16
                      : p->g->precision == IR_PRECISION_TF32 ? c->tf32
                                                             : c->f32;
        peak += fast > 0 ? fast : c->f32;
    }
    return peak > 0 ? flops / peak : 0;
}
