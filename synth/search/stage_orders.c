#include "synth/search/stage_orders.h"

#include <math.h>

#include "costmodel/slot_order.h"
#include "synth/passes/arena_plan.h"
#include "synth/passes/workspace.h"
#include "synth/price/price_stages.h"

typedef struct chooser {
    hb_arena *a, *own; // of the plan; of all tries
    syn_staged *p;
    syn_stage_prices *prices;
    int micro;
    int *most; // by stage: under way, as far as memory and use go
} chooser;

// The orders of one try.
typedef struct orders {
    double sec;
    bool free;         // more under way than was allowed would change nothing
    int64_t under_way; // in all stages
    int *depth;        // by stage
    cost_slot **slot;  // by stage
} orders;

static bool apart(const syn_program *p)
{
    const syn_slot s = syn_slot_of(p);
    return s.weights < s.end;
}

static void back(hb_arena *a, syn_program *p, int m)
{
    HB_PUSH(a, &p->order, (syn_slot_part){m, IR_SLOT_BACK});
    if (apart(p)) HB_PUSH(a, &p->order, (syn_slot_part){m, IR_SLOT_WEIGHTS});
}

void syn_order_1f1b(hb_arena *a, syn_program *p, int depth)
{
    int k = p->g->micro_batches, next = 0;
    p->order.n = 0;
    for (int m = 0; m < k && k > 1; m++) {
        HB_PUSH(a, &p->order, (syn_slot_part){m, IR_SLOT});
        if (m + 1 >= depth) back(a, p, next++);
    }
    while (k > 1 && next < k)
        back(a, p, next++);
}

// How many places the ring may have in memory.
static int room_for(const syn_program *p, int most)
{
    int depth = p->g->depth > 1 ? p->g->depth : 1;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        int64_t left = p->cluster->cls[p->mesh->cluster_class[c]].capacity - p->peak_bytes[c] -
                       syn_workspace_bytes(p, c);
        if (p->ring_bytes[c] == 0) continue;
        int64_t more = left > 0 ? left / p->ring_bytes[c] : 0;
        if (depth + more < most) most = (int)(depth + more);
    }
    return most > depth ? most : depth;
}

static int n_parts(const chooser *x, int s)
{
    return (apart(x->p->stage[s].program) ? 3 : 2) * x->micro;
}

static void keep(chooser *x, const orders *o)
{
    for (int s = 0; s < x->p->n; s++) {
        syn_program *q = x->p->stage[s].program;
        int n = n_parts(x, s);
        if (q->order.cap < n) HB_ROOM(x->a, &q->order, n);
        for (int i = 0; i < n; i++)
            q->order.p[i] = (syn_slot_part){o->slot[s][i].m, o->slot[s][i].turn};
        q->order.n = n;
    }
}

static orders as_planned(chooser *x)
{
    int n = x->p->n;
    orders o = {.depth = HB_ARRAY(x->own, int, n), .slot = HB_ARRAY(x->own, cost_slot *, n)};
    for (int s = 0; s < n; s++) {
        const syn_program *q = x->p->stage[s].program;
        o.depth[s] = q->g->depth;
        o.under_way += q->g->depth;
        o.slot[s] = hb_alloc(x->own, sizeof **o.slot * (size_t)n_parts(x, s));
        for (int i = 0; i < q->order.n; i++)
            o.slot[s][i] = (cost_slot){q->order.p[i].m, q->order.p[i].turn};
    }
    o.sec = syn_price_orders(x->prices);
    return o;
}

// At most `times` as many under way as 1F1B has (INFINITY: as memory allows); idle: as
// cost_order_slots takes it.
static orders played(chooser *x, double times, double idle)
{
    const syn_staged *p = x->p;
    orders o = {.depth = HB_ARRAY(x->own, int, p->n), .slot = HB_ARRAY(x->own, cost_slot *, p->n)};
    cost_pipe_stage *stage = HB_ARRAY(x->own, cost_pipe_stage, p->n);
    cost_pipe_port *port = HB_ARRAY(x->own, cost_pipe_port, p->cut->ports.n + 1);
    int n_ports = 0;
    for (int s = 0; s < p->n; s++) {
        int depth = (int)fmin(x->most[s], ceil(times * (p->n - s)));
        const syn_stage *y = &p->stage[s];
        stage[s] = (cost_pipe_stage){y->before,  y->forward,        y->backward,
                                     y->weights, apart(y->program), depth};
    }
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *q = &p->cut->ports.p[i];
        if (ir_in_slot(q->turn)) port[n_ports++] = (cost_pipe_port){q->from, q->to, p->port_sec[i]};
    }
    cost_order_slots(x->own, p->n, stage, n_ports, port, x->micro, idle, o.slot, o.depth);
    o.free = true;
    for (int s = 0; s < p->n; s++) {
        o.under_way += o.depth[s];
        o.free = o.free && (o.depth[s] < stage[s].depth || stage[s].depth == x->most[s]);
    }
    keep(x, &o);
    o.sec = syn_price_orders(x->prices);
    return o;
}

static void take(chooser *x, const orders *o)
{
    keep(x, o);
    for (int s = 0; s < x->p->n; s++) {
        syn_program *q = x->p->stage[s].program;
        if (q->g->depth == o->depth[s]) continue;
        x->p->cut->graph[s]->depth = o->depth[s];
        syn_arena_places(q);
    }
    syn_price_orders(x->prices);
}

void syn_choose_orders(hb_arena *a, syn_staged *p, const int *most)
{
    hb_arena *own = hb_arena_new();
    chooser x = {.a = a, .own = own, .p = p, .micro = p->g->micro_batches};
    orders try[2 * SYN_DEPTH_TRIES + 3];
    int n = 1, best = 0;
    bool any = false;
    x.prices = syn_stage_prices_new(a, p);
    x.most = HB_ARRAY(own, int, p->n);
    if (x.micro < 2) {
        syn_price_orders(x.prices);
        hb_arena_free(own);
        return;
    }
    for (int s = 0; s < p->n; s++) {
        x.most[s] = room_for(p->stage[s].program,
                             most && most[s] > 0 && most[s] < x.micro ? most[s] : x.micro);
        any = any || apart(p->stage[s].program);
    }
    try[0] = as_planned(&x);
    bool free[2] = {false};
    for (int k = 0; k < SYN_DEPTH_TRIES + any && p->n > 1; k++)
        for (int idle = 0; idle <= any; idle++) {
            if (free[idle]) continue;
            try[n] =
                played(&x, k < SYN_DEPTH_TRIES ? 1 + k * SYN_DEPTH_STEP : (double)INFINITY, idle);
            free[idle] = try[n++].free;
        }
    for (int k = 1; k < n; k++)
        if (try[k].sec < try[best].sec) best = k;
    double near = try[best].sec * (1 + SYN_DEPTH_NEAR);
    for (int k = 0; k < n; k++)
        if (try[k].sec <= near && try[k].under_way < try[best].under_way) best = k;
    take(&x, &try[best]);
    hb_arena_free(own);
}
