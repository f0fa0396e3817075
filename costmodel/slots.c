#include "costmodel/slots.h"

typedef struct port {
    HB_VEC(double) arrives; // by message
    double free;            // when the last one before has left
} port;

typedef struct play {
    hb_arena *a;
    cost_stage *stage;
    port *port;
    const double *port_sec;
    int *at;     // by stage: its next item
    double *now; // by stage
    bool *begun; // by stage: the next item has done its work and waits
} play;

// Does a stage's items until it waits. True if it did any.
static bool go_on(play *p, int s)
{
    cost_stage *x = &p->stage[s];
    bool any = false;
    for (; p->at[s] < x->n; p->at[s]++, any = true) {
        const cost_item *i = &x->item[p->at[s]];
        if (!p->begun[s]) {
            p->now[s] += i->sec;
            x->busy += i->sec;
        }
        port *q = i->port >= 0 ? &p->port[i->port] : NULL;
        p->begun[s] = q && !i->send && i->message >= q->arrives.n;
        if (p->begun[s]) return any;
        if (q && i->send) {
            double leaves = p->now[s] > q->free ? p->now[s] : q->free;
            q->free = leaves + p->port_sec[i->port];
            HB_PUSH(p->a, &q->arrives, q->free);
        } else if (q && q->arrives.p[i->message] > p->now[s]) {
            x->waits += q->arrives.p[i->message] - p->now[s];
            p->now[s] = q->arrives.p[i->message];
        }
        if (x->end) x->end[p->at[s]] = p->now[s];
    }
    return any;
}

bool cost_play_stages(hb_arena *a, int n_stages, cost_stage *stage, int n_ports,
                      const double *port_sec, double *total, int *at_stage, int *at_item)
{
    play p = {.a = a, .stage = stage, .port_sec = port_sec};
    p.port = hb_alloc(a, sizeof *p.port * (size_t)(n_ports + 1));
    p.at = HB_ARRAY(a, int, n_stages);
    p.now = HB_ARRAY(a, double, n_stages);
    p.begun = HB_ARRAY(a, bool, n_stages);
    for (int s = 0; s < n_stages; s++)
        stage[s].busy = stage[s].waits = 0;
    for (bool any = true; any;) {
        any = false;
        for (int s = 0; s < n_stages; s++)
            any = go_on(&p, s) || any;
    }
    *total = 0;
    for (int s = 0; s < n_stages; s++) {
        stage[s].ends = p.now[s];
        if (p.now[s] > *total) *total = p.now[s];
        if (p.at[s] == stage[s].n) continue;
        *at_stage = s;
        *at_item = p.at[s];
        return false;
    }
    return true;
}
