// The judge: a program with its cuts becomes events, and the events are simulated (costmodel).

#include <math.h>
#include <string.h>

#include "synth/states.h"

// The local factor and cut an OP instruction runs with on the axis: read off any operand or output
// that is cut. -1 if none is.
static int op_factor(const syn_program *p, const syn_instr *in, int *cut)
{
    const ir_rule *r = &p->f->rule[in->node];
    for (int pass = 0; pass < 2; pass++)
        for (int i = 0; i < (pass ? in->n_in : in->n_out); i++) {
            const syn_axis_state *x = &p->tensors.p[pass ? in->in[i] : in->out[i]].state.ax[0];
            if (x->kind != SYN_S) continue;
            const ir_rule_dim *dims = pass ? r->in[i] : r->out[i];
            *cut = x->cut;
            return dims[x->dim].f[x->pos];
        }
    *cut = -1;
    return -1;
}

static bool leads(const syn_program *p, const syn_tensor *t)
{
    const syn_axis_state *x = &t->state.ax[0];
    const ir_tensor *v = &p->g->tensors.p[t->value];
    int64_t before = 1;
    for (int d = 0; d < x->dim; d++)
        before *= v->dim[d];
    for (int i = 0; i < x->pos; i++)
        before *= p->f->cls[p->f->dim[t->value][x->dim].cls[i]].size;
    return before == 1;
}

cost_shards syn_shards(const syn_program *p, const syn_instr *in, int i)
{
    const syn_mesh *mesh = p->mesh;
    const syn_tensor *src = &p->tensors.p[in->in[i]], *dst = &p->tensors.p[in->out[i]];
    const syn_axis_state *a = &src->state.ax[0], *b = &dst->state.ax[0];
    cost_shards sh = {
        .n = mesh->n_ranks,
        .bytes = (double)(ir_elements(&p->g->tensors.p[src->value]) * ir_dtype_bytes(src->dtype))};
    const syn_tensor *first = a->kind == SYN_S ? src : dst;
    if (first->state.ax[0].kind == SYN_S) {
        sh.table = mesh->cuts.p[first->state.ax[0].cut].table;
        sh.leading = leads(p, first);
    }
    if (a->kind == SYN_S && b->kind == SYN_S) {
        sh.table2 = mesh->cuts.p[b->cut].table;
        sh.leading2 = leads(p, dst);
    }
    return sh;
}

// All-reduces of one bucket travel as one message; other collectives of a list follow each other.
static double collective_seconds(const syn_program *p, const cost_model *m, const syn_instr *in)
{
    const syn_mesh *mesh = p->mesh;
    cl_link link = cl_group_link(m->cluster, mesh->cluster_rank, mesh->n_ranks, 1);
    double pack = 0, sec = 0, memory = HUGE_VAL;
    for (int c = 0; c < mesh->n_classes; c++) {
        double b = m->cluster->cls[mesh->cluster_class[c]].memory_bandwidth;
        memory = b < memory ? b : memory;
    }
    cost_shards sum = {.n = mesh->n_ranks};
    for (int i = 0; i < in->n_in; i++) {
        cost_shards sh = syn_shards(p, in, i);
        sum.bytes += sh.bytes;
        if (in->coll == COST_ALL_REDUCE) continue;
        pack += cost_pack_bytes(in->coll, in->form, &sh);
        sec += cost_collective(in->coll, in->form, &sh, link);
    }
    if (in->coll == COST_ALL_REDUCE) {
        pack = cost_pack_bytes(in->coll, in->form, &sum);
        sec = cost_collective(in->coll, in->form, &sum, link);
    }
    return sec + pack / memory;
}

void syn_price_one(syn_program *p, const cost_model *m, syn_instr *in)
{
    const syn_mesh *mesh = p->mesh;
    int cut = -1, k = -1;
    switch (in->kind) {
    case SYN_OP:
        k = op_factor(p, in, &cut);
        for (int c = 0; c < mesh->n_classes; c++)
            in->sec[c] = syn_node_seconds(p->g, p->f, m, mesh, in->node, k, cut, c);
        break;
    case SYN_SLICE:
    case SYN_PARTIAL:
        for (int c = 0; c < mesh->n_classes; c++)
            in->sec[c] =
                syn_local_copy_seconds(m, mesh, c, (double)p->tensors.p[in->out[0]].bytes[c]);
        break;
    case SYN_START:
        in->sec[0] = collective_seconds(p, m, in);
        break;
    case SYN_WAIT:
        break;
    }
}

void syn_price(syn_program *p, const cost_model *m)
{
    for (int i = 0; i < p->instr.n; i++)
        syn_price_one(p, m, &p->instr.p[i]);
}

void syn_price_moves(syn_program *p, const cost_model *m)
{
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind != SYN_OP) syn_price_one(p, m, &p->instr.p[i]);
}

double syn_simulate(const syn_program *p, cost_timeline *t, bool keep_times)
{
    hb_arena *scratch = hb_arena_new();
    cost_event *e = HB_ARRAY(scratch, cost_event, p->instr.n);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        e[i].kind = in->kind == SYN_START  ? COST_START
                    : in->kind == SYN_WAIT ? COST_WAIT
                                           : COST_COMPUTE;
        e[i].of = in->start;
        memcpy(e[i].sec, in->sec, sizeof e[i].sec);
    }
    cost_simulate(p->arena, p->mesh->n_classes, e, p->instr.n, keep_times, t);
    hb_arena_free(scratch);
    return t->total;
}

double syn_judge(syn_program *p, const cost_model *m, cost_timeline *t)
{
    syn_price(p, m);
    return syn_simulate(p, t, true);
}

double syn_additive(const syn_space *s, const syn_program *p)
{
    double sum = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START)
            sum += s->weight_comm * in->sec[0];
        else
            for (int c = 0; c < p->mesh->n_classes; c++)
                sum += s->weight[c] * in->sec[c];
    }
    return sum;
}

double syn_peak_seconds(const syn_program *p)
{
    double flops = 0, peak = 0;
    for (int n = 0; n < p->g->nodes.n; n++) {
        ir_flops_kind kind = ir_row(p->g->nodes.p[n].op)->flops_kind;
        double f = 0, bytes = 0;
        if (kind == IR_FLOPS_DENSE || kind == IR_FLOPS_SDPA)
            ir_node_work(p->g, p->f, n, NULL, 0, &f, &bytes);
        flops += f;
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
