#include "plan_facts.h"

#include "graph_text.h"

cl_cluster *small_cluster(hb_arena *a, int n_machines, int n_devices, const device *d,
                          double net_gbps, double net_us)
{
    int n = n_machines * n_devices;
    cl_cluster *c = HB_NEW(a, cl_cluster);
    *c = (cl_cluster){.n_ranks = n, .n_machines = n_machines};
    c->class_of = HB_ARRAY(a, int, n);
    c->machine_of = HB_ARRAY(a, int, n);
    c->cls = hb_alloc(a, sizeof *c->cls * (size_t)n);
    c->machine = hb_alloc(a, sizeof *c->machine * (size_t)n_machines);
    c->network_bandwidth = net_gbps * 1e9;
    c->network_latency = net_us * 1e-6;
    for (int m = 0; m < n_machines; m++)
        c->machine[m] = (cl_machine){.first_rank = m * n_devices, .n_ranks = n_devices};
    for (int r = 0; r < n; r++) {
        int k = 0;
        while (k < r && (d[k].tflops != d[r].tflops || d[k].gbps != d[r].gbps ||
                         d[k].link_gbps != d[r].link_gbps || d[k].mib != d[r].mib))
            k++;
        c->machine_of[r] = r / n_devices;
        c->class_of[r] = k < r ? c->class_of[k] : c->n_classes;
        cl_class *x = &c->cls[c->class_of[r]];
        x->n_ranks++;
        if (k < r) continue;
        x->name = hb_fmt(a, "c%d", c->n_classes++);
        x->kind = CL_GPU;
        x->f32 = d[r].tflops * 1e12;
        x->memory_bandwidth = d[r].gbps * 1e9;
        x->link_bandwidth = d[r].link_gbps * 1e9;
        x->link_latency = d[r].link_us * 1e-6;
        x->launch = 5e-6;
        x->compute_contention = x->communication_contention = 1; // transfers disturb nothing
        x->memory = x->capacity = (int64_t)((d[r].mib > 0 ? d[r].mib : 1e6) * 1048576);
    }
    return c;
}

int fact_value(const syn_program *p, const char *name)
{
    return graph_tensor(p->g, name);
}

int fact_grad(const syn_program *p, const char *param)
{
    int t = fact_value(p, param);
    for (int k = 0; k < p->g->grads.n; k += 2)
        if (p->g->grads.p[k] == t) return p->g->grads.p[k + 1];
    hb_assert(false && "a parameter with a gradient");
    return -1;
}

static const syn_instr *op_of(const syn_program *p, int node)
{
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_OP && p->instr.p[i].node == node) return &p->instr.p[i];
    hb_assert(false && "an op of the node");
    return NULL;
}

const syn_state *fact_state(const syn_program *p, const char *value)
{
    int t = fact_value(p, value);
    const ir_tensor *v = &p->g->tensors.p[t];
    int b = v->producer < 0 ? p->home[t] : op_of(p, v->producer)->out[v->out];
    hb_assert(b >= 0);
    return &p->tensors.p[b].state;
}

const syn_state *fact_reads(const syn_program *p, const char *node, int operand)
{
    return &p->tensors.p[op_of(p, graph_node(p->g, node))->in[operand]].state;
}

bool fact_cut(const syn_state *s, int axis, int dim)
{
    for (int a = 0; a < SYN_MAX_AXES; a++)
        if ((axis < 0 || axis == a) && s->ax[a].kind == SYN_S && s->ax[a].dim == dim) return true;
    return false;
}

bool fact_whole(const syn_state *s)
{
    return s->ax[0].kind == SYN_R && s->ax[1].kind == SYN_R;
}

bool fact_batch_cut(const syn_program *p, int value, const syn_state *s, int axis)
{
    for (int a = 0; a < p->mesh->n_axes; a++) {
        const syn_axis_state *x = &s->ax[a];
        if ((axis < 0 || axis == a) && x->kind == SYN_S &&
            p->f->cls[p->f->dim[value][x->dim].cls[x->pos]].batch)
            return true;
    }
    return false;
}

const syn_instr *fact_update(const syn_program *p, const char *param)
{
    int t = fact_value(p, param);
    for (int n = 0; n < p->g->nodes.n; n++)
        if (p->g->nodes.p[n].phase == IR_UPDATE && p->g->nodes.p[n].in[0] == t &&
            (ir_op_of(p->g->nodes.p[n].op)->flags & IR_IN_PLACE))
            return op_of(p, n);
    hb_assert(false && "an op that updates the parameter");
    return NULL;
}

const syn_instr *fact_move(const syn_program *p, cost_coll kind, int value)
{
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; in->kind == SYN_START && in->coll == kind && k < in->n_in; k++)
            if (p->tensors.p[in->in[k]].value == value) return in;
    }
    return NULL;
}

int fact_moves(const syn_program *p, cost_coll kind, int value, unsigned axes)
{
    int n = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind != SYN_START || in->coll != kind || (axes && in->axes != axes)) continue;
        for (int k = 0; k < in->n_in; k++)
            n += value < 0 || p->tensors.p[in->in[k]].value == value;
    }
    return n;
}

int64_t fact_part(const syn_program *p, const syn_state *s, int axis, int rank)
{
    const syn_cut *c = &p->mesh->cuts.p[s->ax[axis].cut];
    return c->table[syn_coord(p->mesh, rank, c->axis)];
}
