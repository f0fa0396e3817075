#include "costmodel/slots.h"

#include <math.h>

// Events in time. What goes on, work of a stage or the message of a port, has an end, which moves
// when something else begins or ends on the same network card; a heap has the next one.

enum { IDLE = -1 };

typedef struct going { // stages first, then ports
    double end, rate;  // seconds of work a second; as of the last change
    int at;            // in the heap, IDLE
} going;

typedef struct line {
    int sent, arrives; // messages so far
    int waits;         // stage that waits for the next one, -1
} line;

typedef struct actor { // a stage
    int at;            // its next item
    bool begun;        // has done the work of it
    double since;      // when it began to work or to wait
    double net, shown; // of the item it works at
} actor;

typedef struct card {
    int out, in;     // messages on it
    double net;      // of the items that its stages work at
    HB_VEC(int) use; // what goes over it: stages, then ports, as they are numbered in `going`
} card;

typedef struct play {
    hb_arena *a;
    int n, n_ports;
    cost_stage *stage;
    const cost_port *port;
    line *line;
    actor *actor;
    card *card;
    double now;
    going *of; // n stages, n_ports ports
    int *heap, in_heap;
} play;

// --- the heap ---

static bool before(const play *p, int x, int y)
{
    return p->of[x].end < p->of[y].end || (p->of[x].end == p->of[y].end && x < y);
}

static void set(play *p, int at, int what)
{
    p->heap[at] = what;
    p->of[what].at = at;
}

static void settle(play *p, int at)
{
    int what = p->heap[at];
    for (; at > 0 && before(p, what, p->heap[(at - 1) / 2]); at = (at - 1) / 2)
        set(p, at, p->heap[(at - 1) / 2]);
    for (int child; (child = 2 * at + 1) < p->in_heap; at = child) {
        if (child + 1 < p->in_heap && before(p, p->heap[child + 1], p->heap[child])) child++;
        if (!before(p, p->heap[child], what)) break;
        set(p, at, p->heap[child]);
    }
    set(p, at, what);
}

static void leave(play *p, int what)
{
    int at = p->of[what].at, last = p->heap[--p->in_heap];
    p->of[what].at = IDLE;
    if (last == what) return;
    set(p, at, last);
    settle(p, at);
}

// --- cards ---

static double rate_of(const play *p, int what)
{
    if (what < p->n) {
        const actor *x = &p->actor[what];
        if (p->stage[what].card < 0) return 1;
        const card *c = &p->card[p->stage[what].card];
        return 1 / (1 + x->shown * (fmax(c->out, c->in) + c->net - x->net));
    }
    const cost_port *q = &p->port[what - p->n];
    double flows = 1;
    if (q->from >= 0) flows = fmax(flows, p->card[q->from].out + p->card[q->from].net);
    if (q->to >= 0) flows = fmax(flows, p->card[q->to].in + p->card[q->to].net);
    return 1 / flows;
}

static void change(play *p, int what)
{
    going *x = &p->of[what];
    if (x->at == IDLE) return;
    double rate = rate_of(p, what);
    if (rate == x->rate) return;
    x->end = p->now + (x->end - p->now) * x->rate / rate;
    x->rate = rate;
    settle(p, x->at);
}

// Something began or ended on a card.
static void changed(play *p, int at)
{
    for (int k = 0; at >= 0 && k < p->card[at].use.n; k++)
        change(p, p->card[at].use.p[k]);
}

static void begin(play *p, int what, double sec)
{
    going *x = &p->of[what];
    x->rate = rate_of(p, what);
    x->end = p->now + (x->rate == 1 ? sec : sec / x->rate);
    x->at = p->in_heap++;
    p->heap[x->at] = what;
    settle(p, x->at);
}

static void count(play *p, int port, int by)
{
    const cost_port *q = &p->port[port];
    if (q->from >= 0) p->card[q->from].out += by;
    if (q->to >= 0) p->card[q->to].in += by;
}

static void message_begins(play *p, int port)
{
    count(p, port, 1);
    begin(p, p->n + port, p->port[port].sec);
    changed(p, p->port[port].from);
    changed(p, p->port[port].to);
}

// --- stages ---

static void transfers(play *p, int s, double net, double shown)
{
    actor *x = &p->actor[s];
    int at = p->stage[s].card;
    if (at < 0 || (x->net == net && x->shown == shown)) return;
    card *c = &p->card[at];
    x->net = net;
    x->shown = shown;
    c->net = 0;
    for (int k = 0; k < c->use.n && c->use.p[k] < p->n; k++)
        c->net += p->actor[c->use.p[k]].net;
    changed(p, at);
}

// What stands behind the work of an item. False: it waits.
static bool port_of(play *p, int s, const cost_item *i)
{
    line *q = &p->line[i->port];
    if (!i->send) {
        if (i->message < q->arrives) return true;
        q->waits = s;
        p->actor[s].since = p->now;
        return false;
    }
    q->sent++;
    if (p->of[p->n + i->port].at == IDLE) message_begins(p, i->port);
    return true;
}

// Does a stage's items until it works or waits.
static void go_on(play *p, int s)
{
    actor *x = &p->actor[s];
    for (; x->at < p->stage[s].n; x->at++, x->begun = false) {
        const cost_item *i = &p->stage[s].item[x->at];
        if (!x->begun && i->sec > 0) {
            x->begun = true;
            x->since = p->now;
            transfers(p, s, (double)i->net, (double)i->shown);
            begin(p, s, i->sec);
            return;
        }
        x->begun = true;
        transfers(p, s, 0, 0);
        if (i->port >= 0 && !port_of(p, s, i)) return;
        if (p->stage[s].end) p->stage[s].end[x->at] = p->now;
    }
    p->stage[s].ends = p->now;
}

static void message_ends(play *p, int port)
{
    line *q = &p->line[port];
    int s = q->waits;
    count(p, port, -1);
    q->arrives++;
    if (q->arrives < q->sent) {
        message_begins(p, port);
    } else {
        changed(p, p->port[port].from);
        changed(p, p->port[port].to);
    }
    if (s < 0) return;
    q->waits = -1;
    p->stage[s].waits += p->now - p->actor[s].since;
    go_on(p, s);
}

static void set_up(play *p, int n_cards)
{
    p->line = HB_ARRAY(p->a, line, p->n_ports + 1);
    p->actor = hb_alloc(p->a, sizeof *p->actor * (size_t)(p->n + 1));
    p->card = hb_alloc(p->a, sizeof *p->card * (size_t)(n_cards + 1));
    p->of = HB_ARRAY(p->a, going, p->n + p->n_ports + 1);
    p->heap = HB_ARRAY(p->a, int, p->n + p->n_ports + 1);
    for (int i = 0; i < p->n + p->n_ports; i++)
        p->of[i].at = IDLE;
    for (int s = 0; s < p->n; s++) {
        p->stage[s].busy = p->stage[s].waits = p->stage[s].ends = 0;
        if (p->stage[s].card >= 0) HB_PUSH(p->a, &p->card[p->stage[s].card].use, s);
    }
    for (int i = 0; i < p->n_ports; i++) {
        const cost_port *q = &p->port[i];
        p->line[i].waits = -1;
        if (q->from >= 0) HB_PUSH(p->a, &p->card[q->from].use, p->n + i);
        if (q->to >= 0 && q->to != q->from) HB_PUSH(p->a, &p->card[q->to].use, p->n + i);
    }
}

bool cost_play_stages(hb_arena *a, int n_stages, cost_stage *stage, int n_ports,
                      const cost_port *port, int n_cards, double *total, int *at_stage,
                      int *at_item)
{
    play p = {.a = a, .n = n_stages, .n_ports = n_ports, .stage = stage, .port = port};
    set_up(&p, n_cards);
    for (int s = 0; s < n_stages; s++)
        go_on(&p, s);
    while (p.in_heap > 0) {
        int what = p.heap[0];
        p.now = p.of[what].end;
        leave(&p, what);
        if (what < n_stages) {
            stage[what].busy += p.now - p.actor[what].since;
            go_on(&p, what);
        } else {
            message_ends(&p, what - n_stages);
        }
    }
    *total = 0;
    for (int s = 0; s < n_stages; s++) {
        if (p.actor[s].at < stage[s].n) {
            *at_stage = s;
            *at_item = p.actor[s].at;
            return false;
        }
        *total = fmax(*total, stage[s].ends);
    }
    return true;
}
