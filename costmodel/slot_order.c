#include "costmodel/slot_order.h"

#include <math.h>

typedef struct pipe_stage {
    HB_VEC(int) in, out; // ports
    int next[2];         // [back]: micro-batch
    double clock;        // when what it did last has ended
    double start;        // of what it does next, infinite: not known yet
    bool back;           // is that a backward half?
    int under_way, n;    // most so far; halves done
} pipe_stage;

typedef struct pipe {
    int micro;
    const cost_pipe_stage *stage;
    const cost_pipe_port *port;
    double **arrives; // [port][micro-batch], infinite: not known yet
    double *free;     // [port]: when its last message has left
    pipe_stage *at;
} pipe;

static bool goes_down(const cost_pipe_port *p)
{
    return p->to < p->from;
}

// When the next half of a kind may begin.
static double ready(const pipe *x, int s, bool back)
{
    const pipe_stage *y = &x->at[s];
    int m = y->next[back];
    bool may = back ? m < y->next[false] : m - y->next[true] < x->stage[s].depth;
    if (m == x->micro || !may) return (double)INFINITY;
    double at = y->clock;
    for (int k = 0; k < y->in.n; k++)
        if (goes_down(&x->port[y->in.p[k]]) == back) at = fmax(at, x->arrives[y->in.p[k]][m]);
    return at;
}

static void look(pipe *x, int s)
{
    double back = ready(x, s, true), forward = ready(x, s, false);
    x->at[s].back = back <= forward;
    x->at[s].start = fmin(back, forward);
}

static void go(pipe *x, int s, cost_slot *done)
{
    pipe_stage *y = &x->at[s];
    int m = y->next[y->back]++;
    *done = (cost_slot){m, y->back};
    y->clock = y->start + (y->back ? x->stage[s].backward : x->stage[s].forward);
    if (y->next[false] - y->next[true] > y->under_way)
        y->under_way = y->next[false] - y->next[true];
    for (int k = 0; k < y->out.n; k++) {
        int p = y->out.p[k];
        if (goes_down(&x->port[p]) != done->back) continue;
        x->free[p] = x->arrives[p][m] = fmax(x->free[p], y->clock) + x->port[p].sec;
        look(x, x->port[p].to);
    }
    look(x, s);
}

void cost_order_slots(hb_arena *a, int n_stages, const cost_pipe_stage *stage, int n_ports,
                      const cost_pipe_port *port, int micro, cost_slot **order, int *under_way)
{
    hb_arena *own = hb_arena_new();
    pipe x = {.micro = micro, .stage = stage, .port = port};
    x.arrives = HB_ARRAY(own, double *, n_ports + 1);
    x.free = HB_ARRAY(own, double, n_ports + 1);
    x.at = hb_alloc(own, sizeof *x.at * (size_t)n_stages);
    for (int p = 0; p < n_ports; p++) {
        hb_assert(port[p].from != port[p].to);
        HB_PUSH(own, &x.at[port[p].from].out, p);
        HB_PUSH(own, &x.at[port[p].to].in, p);
        x.arrives[p] = HB_ARRAY(own, double, micro + 1);
        for (int m = 0; m < micro; m++)
            x.arrives[p][m] = (double)INFINITY;
    }
    for (int s = 0; s < n_stages; s++) {
        hb_assert(stage[s].depth >= 1);
        order[s] = hb_alloc(a, sizeof *order[s] * (size_t)(2 * micro + 1));
        x.at[s].clock = stage[s].before;
    }
    for (int s = 0; s < n_stages; s++)
        look(&x, s);
    for (int64_t k = 0; k < (int64_t)2 * micro * n_stages; k++) {
        int first = 0; // the stage that begins next
        for (int s = 1; s < n_stages; s++)
            if (x.at[s].start < x.at[first].start) first = s;
        hb_assert(x.at[first].start < (double)INFINITY);
        go(&x, first, &order[first][x.at[first].n++]);
    }
    for (int s = 0; s < n_stages; s++)
        under_way[s] = x.at[s].under_way;
    hb_arena_free(own);
}
