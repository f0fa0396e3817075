#include "synth/price/price_stages.h"

#include <math.h>

#include "costmodel/slots.h"
#include "synth/price/simulate_plan.h"

// --- ports ---

// The number of a rank of a stage in the whole cluster.
static int whole_rank(const syn_stage *s, int r)
{
    return s->cluster_rank[s->program->mesh->cluster_rank[r]];
}

// The machine that a stage lies on all by itself or with others, -1: it has several.
static int machine_of(const syn_staged *p, const syn_stage *s)
{
    return s->cluster->n_machines > 1 ? -1 : p->cluster->machine_of[s->cluster_rank[0]];
}

// The machine that a port's message does not leave, -1.
static int machine_of_port(const syn_staged *p, int port)
{
    const ir_port *x = &p->cut->ports.p[port];
    int m = machine_of(p, &p->stage[x->from]);
    return m == machine_of(p, &p->stage[x->to]) ? m : -1;
}

// Bytes of a buffer in each place, a device or a machine of the whole cluster; their sum.
static double bytes_by_place(const syn_staged *p, const syn_stage *s, int buffer, bool device,
                             double *of)
{
    const syn_program *q = s->program;
    double all = 0;
    for (int r = 0; r < q->mesh->n_ranks; r++) {
        const syn_tensor *t = &q->tensors.p[buffer];
        double bytes = (double)(syn_local_elements(q->mesh, q->g, q->f, t->value, &t->state, r) *
                                ir_dtype_bytes(t->dtype));
        int at = whole_rank(s, r);
        of[device ? at : p->cluster->machine_of[at]] += bytes;
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
    const cl_cluster *c = p->cluster;
    int n = c->n_ranks, machine = machine_of_port(p, port);
    bool inside = machine >= 0;
    double *out = HB_ARRAY(a, double, n + 1), *in = HB_ARRAY(a, double, n + 1), most = 0;
    double held = bytes_by_place(p, from, buffer_of(from->program, x->send, true), inside, out);
    double got = bytes_by_place(p, to, buffer_of(to->program, x->recv, false), inside, in);
    for (int i = 0; i < n; i++)
        most = fmax(most, fmax(held > 0 ? got * out[i] / held : 0, in[i]));
    double bandwidth = inside ? c->machine[machine].link_bandwidth : c->network_bandwidth,
           latency = inside ? c->machine[machine].link_latency : c->network_latency;
    p->port_bytes[port] = got;
    p->port_sec[port] = latency + (bandwidth > 0 ? most / bandwidth : 0);
}

// --- stages ---

enum { PARTS = IR_AFTER + 1 };

typedef struct items {
    HB_VEC(cost_item) item;
    HB_VEC(syn_stage_piece) piece; // of each item
} items;

typedef struct cutting {
    const syn_program *p;
    syn_slot slot;
    cost_timeline time;
    double *ends;          // by instr: seconds after the begin of its part, all classes done
    double part[PARTS];    // seconds: before, forward, backward, weight gradients, behind
    double last;           // of the last part of the last micro-batch's slot
    double net[PARTS + 1]; // seconds of own transfers over its card, by part; at the end: as `last`
    items first[PARTS], middle[PARTS], end[PARTS]; // of the first, the last and other micro-batches
    double shown;                                  // share of them that nothing hides
    double begin[PARTS]; // when they begin in the stage's own timeline, of the last micro-batch
} cutting;

// The last part of a slot, in which the last micro-batch does more.
static ir_turn tail_of(const syn_slot *s)
{
    return s->weights < s->end ? IR_SLOT_WEIGHTS : IR_SLOT_BACK;
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

// Is an instruction of the slot done in the first or the last micro-batch alone, as its turn says?
static bool once(const cutting *c, int i)
{
    return c->slot.times > 1 && syn_once(c->p, &c->slot, i);
}

static bool at_first(const cutting *c, int i)
{
    return once(c, i) && c->p->instr.p[i].turn == IR_BEFORE;
}

static double first_seconds(const cutting *c, int i)
{
    const syn_instr *in = &c->p->instr.p[i];
    double sec = 0;
    for (int k = 0; k < c->p->mesh->n_classes && in->kind != SYN_WAIT; k++)
        sec = fmax(sec, in->sec[k]);
    return sec;
}

// Parts of a step with slots; border: when the parts of the last micro-batch have ended.
static void cut_slots(cutting *c, const double *border)
{
    double *begin = c->begin;
    double end = border[tail_of(&c->slot)];
    begin[IR_SLOT] = c->time.last;
    begin[IR_SLOT_BACK] = fmin(fmax(border[IR_SLOT], c->time.last), end);
    begin[IR_SLOT_WEIGHTS] = fmin(fmax(border[IR_SLOT_BACK], begin[IR_SLOT_BACK]), end);
    begin[IR_AFTER] = end;
    c->part[0] = c->time.last - (c->slot.times - 1) * c->time.round;
    for (int i = c->slot.first; i < c->slot.end; i++) // is of the first forward part
        if (at_first(c, i)) c->part[0] = fmax(c->part[0] - first_seconds(c, i), 0);
    double left = c->time.round;
    for (ir_turn t = IR_SLOT; t < tail_of(&c->slot); t++)
        left -= c->part[t] = fmin(begin[t + 1] - begin[t], left);
    c->part[tail_of(&c->slot)] = left;
    c->last = end - begin[tail_of(&c->slot)];
    c->part[IR_AFTER] = c->time.total - end;
    for (int i = 0; i < c->p->instr.n; i++)
        c->ends[i] = fmax(c->ends[i] - begin[syn_part_at(&c->slot, i)], 0);
}

static void cut_transfers(cutting *c)
{
    const cost_timeline *t = &c->time;
    bool several = c->p->cluster->n_machines > 1; // else its card is the devices' own
    c->shown = t->comm > 0 ? fmin(fmax(1 - t->hidden / t->comm, 0), 1) : 0;
    for (int i = 0; i < c->p->instr.n; i++) {
        const syn_instr *in = &c->p->instr.p[i];
        if (in->kind != SYN_START || (several && !syn_crosses(c->p, in->axes))) continue;
        ir_turn part = syn_part_at(&c->slot, i);
        double sec = in->sec[0] / (once(c, i) ? 1 : syn_instr_slots(c->p, in));
        if (!once(c, i) || at_first(c, i)) c->net[part] += sec;
        if (part == tail_of(&c->slot)) c->net[PARTS] += sec;
    }
}

static void cut_times(hb_arena *a, cutting *c)
{
    double border[PARTS] = {0};
    int n = c->p->instr.n;
    c->ends = HB_ARRAY(a, double, n + 1);
    for (int i = 0; i < n; i++) {
        bool works = c->p->instr.p[i].kind != SYN_START;
        ir_turn part = syn_part_at(&c->slot, i);
        c->ends[i] = end_of(c, i);
        if (works && part < IR_AFTER && !at_first(c, i))
            border[part] = fmax(border[part], c->ends[i]);
    }
    if (c->slot.times > 1)
        cut_slots(c, border);
    else
        c->part[0] = c->time.total;
    cut_transfers(c);
}

static void put_item(hb_arena *a, items *to, cost_item x, syn_stage_piece piece)
{
    piece.work = x.sec;
    piece.port = x.port;
    piece.send = x.send;
    HB_PUSH(a, &to->item, x);
    HB_PUSH(a, &to->piece, piece);
}

// One part of the step, cut at its ends of ports, of micro-batch m or one that does as much. What
// the first alone does takes its seconds besides; the last one's last part has a length of its own.
// Messages are numbered 1 where each micro-batch has one, else 0.
static void make_part(hb_arena *a, const cutting *c, ir_turn part, int m, items *to)
{
    const int from[PARTS + 1] = {0,           c->slot.first, c->slot.back, c->slot.weights,
                                 c->slot.end, c->p->instr.n};
    bool slots = c->slot.times > 1, last = m == c->slot.times - 1;
    int first = slots ? from[part] : 0, end = slots ? from[part + 1] : c->p->instr.n;
    bool longer = part == tail_of(&c->slot) && last;
    double at = 0, done = 0, besides = 0, len = longer ? c->last : c->part[part];
    double net = len > 0 ? fmin(c->net[longer ? PARTS : (int)part] / len, 1) : 0;
    cost_item x = {.net = (float)net, .shown = (float)(net * c->shown)};
    syn_stage_piece piece = {.turn = part};
    for (int i = first; i < end; i++) {
        const syn_instr *in = &c->p->instr.p[i];
        const ir_node *n = in->kind == SYN_OP ? &c->p->g->nodes.p[in->node] : NULL;
        bool works = in->kind != SYN_START, early = at_first(c, i);
        if (early ? m > 0 : once(c, i) && !last) continue;
        if (early)
            besides += first_seconds(c, i);
        else if (works)
            done = fmin(fmax(done, c->ends[i]), len);
        unsigned flags = n ? ir_op_of(n->op)->flags & IR_PORT : 0;
        if (flags == 0) continue;
        x.send = flags == IR_SEND;
        x.port = (int)n->attr[ir_attr_index(n->op, "port")].i;
        x.message = ir_in_slot(in->turn);
        x.sec = done - at + besides;
        piece.from = c->begin[part] + at;
        put_item(a, to, x, piece);
        at = done;
        besides = 0;
    }
    x.sec = len - at + besides;
    x.port = -1;
    x.send = false;
    piece.from = c->begin[part] + at;
    put_item(a, to, x, piece);
}

static void make_parts(hb_arena *a, cutting *c)
{
    int last = c->slot.times - 1;
    make_part(a, c, IR_BEFORE, 0, &c->first[IR_BEFORE]);
    for (ir_turn t = IR_SLOT; t <= IR_AFTER && last > 0; t++) {
        make_part(a, c, t, 0, &c->first[t]);
        if (t == IR_AFTER) break;
        make_part(a, c, t, last, &c->end[t]);
        if (last > 1) make_part(a, c, t, 1, &c->middle[t]);
    }
}

static void put_part(hb_arena *a, const cutting *c, ir_turn part, int m, items *to)
{
    const items *from = m == 0 ? c->first : m + 1 < c->slot.times ? c->middle : c->end;
    for (int i = 0; i < from[part].item.n; i++) {
        cost_item x = from[part].item.p[i];
        syn_stage_piece piece = from[part].piece.p[i];
        x.message *= m;
        piece.m = m;
        HB_PUSH(a, &to->item, x);
        HB_PUSH(a, &to->piece, piece);
    }
}

// The items of a stage in the order of its slots.
static items put_stage(hb_arena *a, const syn_stage *s, const cutting *c, int card, cost_stage *out)
{
    items all = {0};
    put_part(a, c, IR_BEFORE, 0, &all);
    for (int i = 0; i < s->program->order.n; i++)
        put_part(a, c, s->program->order.p[i].turn, s->program->order.p[i].m, &all);
    if (c->slot.times > 1) put_part(a, c, IR_AFTER, 0, &all);
    *out = (cost_stage){.n = all.item.n, .item = all.item.p, .card = card};
    return all;
}

static cutting cut_stage(hb_arena *a, syn_stage *s)
{
    cutting c = {.p = s->program, .slot = syn_slot_of(s->program)};
    syn_simulate_in(a, s->program, &c.time, true);
    cut_times(a, &c);
    make_parts(a, &c);
    s->before = c.part[IR_BEFORE];
    s->forward = c.part[IR_SLOT];
    s->backward = c.part[IR_SLOT_BACK];
    s->weights = c.part[IR_SLOT_WEIGHTS];
    s->after = c.part[IR_AFTER];
    return c;
}

struct syn_stage_prices {
    syn_staged *p;
    cutting *stage;
    cost_port *port;
    int *card; // by stage: of its machines
};

// Each stage has two cards, one of its machines (number s), which it shares with stages on other
// parts of them, and one of its devices (n + s), for what does not leave its machine.
static int *cards_of_machines(hb_arena *a, const syn_staged *p)
{
    int *card = HB_ARRAY(a, int, p->n), *of = HB_ARRAY(a, int, p->cluster->n_machines + 1);
    for (int m = 0; m < p->cluster->n_machines; m++)
        of[m] = -1;
    for (int s = 0; s < p->n; s++) {
        card[s] = s;
        for (int r = 0; r < p->stage[s].cluster->n_ranks; r++) {
            int m = p->cluster->machine_of[p->stage[s].cluster_rank[r]];
            int was = of[m] >= 0 ? card[of[m]] : s;
            for (int t = 0; t < s; t++)
                if (card[t] == was) card[t] = s;
            of[m] = s;
        }
    }
    return card;
}

static int card_of(const syn_stage_prices *x, int s)
{
    return x->p->stage[s].cluster->n_machines > 1 ? x->card[s] : x->p->n + s;
}

syn_stage_prices *syn_stage_prices_new(hb_arena *a, syn_staged *p)
{
    syn_stage_prices *x = HB_NEW(a, syn_stage_prices);
    x->p = p;
    x->stage = hb_alloc(a, sizeof *x->stage * (size_t)p->n);
    p->port_sec = HB_ARRAY(a, double, p->cut->ports.n + 1);
    p->port_bytes = HB_ARRAY(a, double, p->cut->ports.n + 1);
    x->port = HB_ARRAY(a, cost_port, p->cut->ports.n + 1);
    for (int i = 0; i < p->cut->ports.n; i++)
        price_port(a, p, i);
    x->card = cards_of_machines(a, p);
    syn_share_cards(x, true);
    for (int s = 0; s < p->n; s++)
        x->stage[s] = cut_stage(a, &p->stage[s]);
    return x;
}

void syn_share_cards(syn_stage_prices *x, bool share)
{
    for (int i = 0; i < x->p->cut->ports.n; i++) {
        const ir_port *q = &x->p->cut->ports.p[i];
        bool inside = machine_of_port(x->p, i) >= 0;
        int from = inside ? x->p->n + q->from : x->card[q->from],
            to = inside ? x->p->n + q->to : x->card[q->to];
        x->port[i] = (cost_port){x->p->port_sec[i], share ? from : -1, share ? to : -1};
    }
}

double syn_price_orders(syn_stage_prices *x)
{
    syn_staged *p = x->p;
    hb_arena *own = hb_arena_new();
    cost_stage *stage = HB_ARRAY(own, cost_stage, p->n);
    int at_stage = 0, at_item = 0;
    for (int s = 0; s < p->n; s++)
        (void)put_stage(own, &p->stage[s], &x->stage[s], card_of(x, s), &stage[s]);
    bool ends = cost_play_stages(own, p->n, stage, p->cut->ports.n, x->port, 2 * p->n,
                                 &p->predicted_sec, &at_stage, &at_item);
    hb_assert(ends && "the orders of a planner have no circle");
    for (int s = 0; s < p->n; s++) {
        p->stage[s].busy = stage[s].busy;
        p->stage[s].waits = stage[s].waits;
        p->stage[s].ends = stage[s].ends;
    }
    hb_arena_free(own);
    return p->predicted_sec;
}

const syn_stage_piece **syn_stage_pieces(hb_arena *a, const syn_staged *p, int *n)
{
    const syn_stage_piece **of = hb_alloc(a, sizeof *of * (size_t)p->n);
    items *all = hb_alloc(a, sizeof *all * (size_t)p->n);
    cost_stage *stage = HB_ARRAY(a, cost_stage, p->n);
    syn_staged own = *p; // prices fill it
    double total;
    int at_stage = 0, at_item = 0;
    own.stage = hb_copy(a, p->stage, sizeof *p->stage * (size_t)p->n);
    const syn_stage_prices *x = syn_stage_prices_new(a, &own);
    for (int s = 0; s < p->n; s++) {
        all[s] = put_stage(a, &p->stage[s], &x->stage[s], card_of(x, s), &stage[s]);
        stage[s].end = HB_ARRAY(a, double, stage[s].n + 1);
    }
    bool ends = cost_play_stages(a, p->n, stage, p->cut->ports.n, x->port, 2 * p->n, &total,
                                 &at_stage, &at_item);
    hb_assert(ends && "what has been priced has no circle");
    for (int s = 0; s < p->n; s++) {
        n[s] = stage[s].n;
        of[s] = all[s].piece.p;
        for (int i = 0; i < n[s]; i++) {
            all[s].piece.p[i].begin = i > 0 ? stage[s].end[i - 1] : 0;
            all[s].piece.p[i].end = stage[s].end[i];
        }
    }
    return of;
}
