#include "synth/price/price_stages.h"

#include <math.h>

#include "costmodel/slots.h"
#include "synth/price/simulate_plan.h"

// --- ports ---

// Bytes of a buffer on each machine of a stage's cluster; their sum.
static double bytes_by_machine(const syn_stage *s, int buffer, double *of)
{
    const syn_program *p = s->program;
    double all = 0;
    for (int m = 0; m < s->cluster->n_machines; m++)
        of[m] = 0;
    for (int r = 0; r < p->mesh->n_ranks; r++) {
        const syn_tensor *t = &p->tensors.p[buffer];
        double bytes = (double)(syn_local_elements(p->mesh, p->g, p->f, t->value, &t->state, r) *
                                ir_dtype_bytes(t->dtype));
        of[s->cluster->machine_of[p->mesh->cluster_rank[r]]] += bytes;
        all += bytes;
    }
    return all;
}

// The buffer of a port's end: what the send reads, the recv writes.
static int buffer_of(const syn_program *p, int node, bool send)
{
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_OP && p->instr.p[i].node == node)
            return send ? p->instr.p[i].in[0] : p->instr.p[i].out[0];
    hb_assert(!"a plan has all nodes of its graph");
    return -1;
}

static void price_port(hb_arena *a, syn_staged *p, int port)
{
    const ir_port *x = &p->cut->ports.p[port];
    const syn_stage *from = &p->stage[x->from], *to = &p->stage[x->to];
    double *out = HB_ARRAY(a, double, p->cluster->n_machines + 1),
           *in = HB_ARRAY(a, double, p->cluster->n_machines + 1), most = 0;
    double held = bytes_by_machine(from, buffer_of(from->program, x->send, true), out);
    double got = bytes_by_machine(to, buffer_of(to->program, x->recv, false), in);
    for (int m = 0; m < from->cluster->n_machines && held > 0; m++)
        most = fmax(most, got * out[m] / held);
    for (int m = 0; m < to->cluster->n_machines; m++)
        most = fmax(most, in[m]);
    p->port_bytes[port] = got;
    p->port_sec[port] =
        p->cluster->network_latency +
        (p->cluster->network_bandwidth > 0 ? most / p->cluster->network_bandwidth : 0);
}

// --- stages ---

typedef struct cutting {
    const syn_program *p;
    syn_slot slot;
    cost_timeline time;
    double *ends;   // by instr: seconds after the begin of its part, all classes done
    double part[4]; // seconds: before, forward, backward, behind
} cutting;

static int part_of(const cutting *c, int instr)
{
    if (c->slot.times < 2 || instr < c->slot.first) return 0;
    return instr < c->slot.back ? 1 : instr < c->slot.end ? 2 : 3;
}

// When an instruction has ended: in the last micro-batch, if it is in the slot.
static double end_of(const cutting *c, int instr)
{
    int n = c->p->mesh->n_classes, k = c->p->instr.p[instr].kind == SYN_START ? 1 : n;
    double last = 0;
    for (int i = 0; i < k; i++)
        last = fmax(last, c->time.end[instr * n + i]);
    return last;
}

static void cut_times(hb_arena *a, cutting *c)
{
    double border[4] = {0, 0, 0, c->time.total}, begin[4] = {0};
    int n = c->p->instr.n;
    c->ends = HB_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++) {
        bool works = c->p->instr.p[i].kind != SYN_START;
        c->ends[i] = end_of(c, i);
        if (works && part_of(c, i) < 3)
            border[part_of(c, i)] = fmax(border[part_of(c, i)], c->ends[i]);
    }
    if (c->slot.times < 2) {
        c->part[0] = border[0] = c->time.total;
    } else {
        double round = c->time.round, start = border[2] - round; // of the last micro-batch
        border[1] = fmin(fmax(border[1], start), border[2]);
        c->part[0] = border[2] - c->slot.times * round;
        c->part[1] = border[1] - start;
        c->part[2] = border[2] - border[1];
        c->part[3] = c->time.total - border[2];
        begin[1] = start;
        begin[2] = border[1];
        begin[3] = border[2];
    }
    for (int i = 0; i < n; i++) {
        int part = part_of(c, i);
        c->ends[i] = fmin(fmax(c->ends[i] - begin[part], 0), c->part[part]);
    }
}

typedef HB_VEC(cost_item) items;

// One part of the step, cut at its ends of ports; m: of which micro-batch.
static void put_part(hb_arena *a, const cutting *c, int part, int first, int end, int m, items *to)
{
    double at = 0;
    for (int i = first; i < end; i++) {
        const syn_instr *in = &c->p->instr.p[i];
        const ir_node *n = in->kind == SYN_OP ? &c->p->g->nodes.p[in->node] : NULL;
        if (!n || !(ir_op_of(n->op)->flags & IR_PORT)) continue;
        bool send = n->op == IR_OP_send;
        double sec = fmax(c->ends[i] - at, 0);
        at += sec;
        HB_PUSH(a, to,
                (cost_item){sec, (int)n->attr[send ? 0 : 2].i, send, ir_in_slot(in->turn) ? m : 0});
    }
    HB_PUSH(a, to, (cost_item){fmax(c->part[part] - at, 0), -1, false, 0});
}

static void put_stage(hb_arena *a, syn_stage *s, cost_stage *out)
{
    cutting c = {.p = s->program, .slot = syn_slot_of(s->program)};
    items all = {0};
    syn_simulate_in(a, s->program, &c.time, true);
    cut_times(a, &c);
    s->before = c.part[0];
    s->forward = c.part[1];
    s->backward = c.part[2];
    s->after = c.part[3];
    int first = c.slot.times > 1 ? c.slot.first : s->program->instr.n;
    put_part(a, &c, 0, 0, first, 0, &all);
    for (int i = 0; i < s->program->order.n; i++) {
        const syn_half *h = &s->program->order.p[i];
        put_part(a, &c, h->back ? 2 : 1, h->back ? c.slot.back : c.slot.first,
                 h->back ? c.slot.end : c.slot.back, h->m, &all);
    }
    if (c.slot.times > 1) put_part(a, &c, 3, c.slot.end, s->program->instr.n, 0, &all);
    *out = (cost_stage){.n = all.n, .item = all.p};
}

void syn_price_stages(hb_arena *a, syn_staged *p)
{
    hb_arena *own = hb_arena_new();
    cost_stage *stage = HB_ARRAY(own, cost_stage, p->n);
    int at_stage = 0, at_item = 0;
    p->port_sec = HB_ARRAY(a, double, p->cut->ports.n + 1);
    p->port_bytes = HB_ARRAY(a, double, p->cut->ports.n + 1);
    for (int i = 0; i < p->cut->ports.n; i++)
        price_port(own, p, i);
    for (int s = 0; s < p->n; s++)
        put_stage(own, &p->stage[s], &stage[s]);
    bool ends = cost_play_stages(own, p->n, stage, p->cut->ports.n, p->port_sec, &p->predicted_sec,
                                 &at_stage, &at_item);
    hb_assert(ends && "1F1B has no circle");
    for (int s = 0; s < p->n; s++) {
        p->stage[s].busy = stage[s].busy;
        p->stage[s].waits = stage[s].waits;
        p->stage[s].ends = stage[s].ends;
    }
    hb_arena_free(own);
}
