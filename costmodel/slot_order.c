#include "costmodel/slot_order.h"

#include <math.h>

enum { KINDS = IR_SLOT_WEIGHTS - IR_SLOT + 1 };
static int kind_of(ir_turn t)
{
    return (int)t - IR_SLOT;
}

typedef struct pipe_stage {
    HB_VEC(int) in, out; // ports
    int next[KINDS];     // micro-batch, by kind of part
    double clock;        // when what it did last has ended
    double start;        // of what it does next, infinite: not known yet
    ir_turn turn;        // what that is
    int under_way, n;    // most so far; parts done
} pipe_stage;

typedef struct pipe {
    int micro;
    double idle;
    const cost_pipe_stage *stage;
    const cost_pipe_port *port;
    double **arrives; // [port][micro-batch], infinite: not known yet
    double *free;     // [port]: when its last message has left
    pipe_stage *at;
    int *first, leaves; // a tree: the stage that begins first of those below, -1 none; its leaves
} pipe;

static ir_turn turn_of(const cost_pipe_port *p)
{
    return p->to < p->from ? IR_SLOT_BACK : IR_SLOT;
}

// Micro-batches of which all parts are done.
static int done_of(const pipe *x, int s)
{
    return x->at[s].next[kind_of(x->stage[s].apart ? IR_SLOT_WEIGHTS : IR_SLOT_BACK)];
}

// When the next part of a kind that may wait for messages may begin.
static double ready(const pipe *x, int s, ir_turn turn)
{
    const pipe_stage *y = &x->at[s];
    int m = y->next[kind_of(turn)];
    bool may = turn == IR_SLOT ? m - done_of(x, s) < x->stage[s].depth : m < y->next[0];
    if (m == x->micro || !may) return (double)INFINITY;
    double at = y->clock;
    for (int k = 0; k < y->in.n; k++)
        if (turn_of(&x->port[y->in.p[k]]) == turn) at = fmax(at, x->arrives[y->in.p[k]][m]);
    return at;
}

// What a stage does next has changed: who begins first? Of several at once the first of them.
static void note_start(pipe *x, int s)
{
    for (int k = (s + x->leaves) / 2; k > 0; k /= 2) {
        int lo = x->first[2 * k], hi = x->first[2 * k + 1];
        x->first[k] = hi >= 0 && (lo < 0 || x->at[hi].start < x->at[lo].start) ? hi : lo;
    }
}

static void look_next(pipe *x, int s)
{
    pipe_stage *y = &x->at[s];
    const cost_pipe_stage *z = &x->stage[s];
    double back = ready(x, s, IR_SLOT_BACK), forward = ready(x, s, IR_SLOT);
    y->turn = back <= forward ? IR_SLOT_BACK : IR_SLOT;
    y->start = fmin(back, forward);
    bool left = z->apart && done_of(x, s) < y->next[kind_of(IR_SLOT_BACK)];
    if (!left || y->start == y->clock || y->start - y->clock < x->idle * z->weights) return;
    y->turn = IR_SLOT_WEIGHTS;
    y->start = y->clock;
}

static void look(pipe *x, int s)
{
    look_next(x, s);
    note_start(x, s);
}

static void open_tree(hb_arena *a, pipe *x, int n_stages)
{
    for (x->leaves = 1; x->leaves < n_stages;)
        x->leaves *= 2;
    x->first = HB_ARRAY(a, int, 2 * x->leaves + 1);
    for (int k = 0; k < 2 * x->leaves; k++)
        x->first[k] = -1;
    for (int s = 0; s < n_stages; s++) {
        x->first[x->leaves + s] = s;
        note_start(x, s);
    }
}

static void go(pipe *x, int s, cost_slot *done)
{
    pipe_stage *y = &x->at[s];
    const cost_pipe_stage *z = &x->stage[s];
    int m = y->next[kind_of(y->turn)]++;
    const double sec[KINDS] = {z->forward, z->backward, z->weights};
    *done = (cost_slot){m, y->turn};
    y->clock = y->start + sec[kind_of(y->turn)];
    if (y->next[0] - done_of(x, s) > y->under_way) y->under_way = y->next[0] - done_of(x, s);
    for (int k = 0; k < y->out.n; k++) {
        int p = y->out.p[k];
        if (turn_of(&x->port[p]) != done->turn) continue;
        x->free[p] = x->arrives[p][m] = fmax(x->free[p], y->clock) + x->port[p].sec;
        look(x, x->port[p].to);
    }
    look(x, s);
}

void cost_order_slots(hb_arena *a, int n_stages, const cost_pipe_stage *stage, int n_ports,
                      const cost_pipe_port *port, int micro, double idle, cost_slot **order,
                      int *under_way)
{
    hb_arena *own = hb_arena_new();
    pipe x = {.micro = micro, .idle = idle, .stage = stage, .port = port};
    int64_t parts = 0;
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
        int64_t n = (int64_t)(stage[s].apart ? KINDS : KINDS - 1) * micro;
        parts += n;
        order[s] = hb_alloc(a, sizeof *order[s] * (size_t)(n + 1));
        x.at[s].clock = stage[s].before;
    }
    for (int s = 0; s < n_stages; s++)
        look_next(&x, s);
    open_tree(own, &x, n_stages);
    for (int64_t k = 0; k < parts; k++) {
        int first = x.first[1]; // the stage that begins next
        hb_assert(x.at[first].start < (double)INFINITY);
        go(&x, first, &order[first][x.at[first].n++]);
    }
    for (int s = 0; s < n_stages; s++)
        under_way[s] = x.at[s].under_way;
    hb_arena_free(own);
}
