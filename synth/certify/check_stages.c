#include "synth/certify/check_stages.h"

#include <string.h>

#include "ir/variant.h"

typedef struct glue {
    hb_arena *a;
    const ir_graph *step;
    const ir_stages *s;
    hb_str *why;
    hb_map *number; // key of a node and its operands' values -> value
    int n_values;
    int *of_step;   // by tensor of the step: value
    int **of_stage; // [stage][tensor]: value, -1 not known yet
} glue;

static bool fail(const glue *g, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool fail(const glue *g, const char *fmt, ...)
{
    hb_buf b = {.arena = g->a};
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    *g->why = hb_done(&b);
    return false;
}

// --- the graphs ---

static int value_of(glue *g, hb_str key)
{
    int v = hb_map_get(g->number, key);
    if (v >= 0) return v;
    hb_map_put(g->number, hb_str_n(g->a, key.p, key.n), g->n_values);
    return g->n_values++;
}

static hb_str leaf_key(const glue *g, const ir_tensor *t)
{
    return hb_fmt(g->a, "%d %.*s", (int)t->kind, HB_ARG(t->name));
}

static int leaf_value(glue *g, const ir_tensor *t)
{
    return value_of(g, leaf_key(g, t));
}

// Output o of a node whose operands have these values.
static int node_value(glue *g, const ir_node *n, const int *in, int o)
{
    const ir_op_info *row = ir_op_of(n->op);
    hb_buf b = {.arena = g->a};
    int64_t head[7] = {-1, n->op, o, n->n_in, ir_in_slot(n->turn), n->adds, n->step};
    hb_putn(&b, (const char *)head, sizeof head);
    hb_putn(&b, (const char *)in, sizeof *in * (size_t)n->n_in);
    for (int k = 0; k < row->n_attr; k++) {
        const ir_attr *x = &n->attr[k];
        double f = x->f + 0.0;
        hb_putn(&b, (const char *)&x->i, sizeof x->i);
        hb_putn(&b, (const char *)&f, sizeof f);
        hb_putn(&b, (const char *)&x->n, sizeof x->n);
        hb_putn(&b, (const char *)x->v, sizeof *x->v * (size_t)x->n);
    }
    return value_of(g, hb_done(&b));
}

static void number_step(glue *g)
{
    for (int t = 0; t < g->step->tensors.n; t++)
        if (g->step->tensors.p[t].producer < 0)
            g->of_step[t] = leaf_value(g, &g->step->tensors.p[t]);
    for (int k = 0; k < g->step->nodes.n; k++) {
        const ir_node *n = &g->step->nodes.p[k];
        int in[IR_MAX_IN];
        for (int i = 0; i < n->n_in; i++)
            in[i] = g->of_step[n->in[i]];
        for (int o = 0; o < n->n_out; o++)
            g->of_step[n->out[o]] = node_value(g, n, in, o);
    }
}

// What comes in is what goes out at the other end, of the same micro-batch. False: not known yet.
static bool received_value(const glue *g, int s, int k, int *value)
{
    const ir_node *n = &g->s->graph[s]->nodes.p[k];
    const ir_port *p = &g->s->ports.p[n->attr[2].i];
    const ir_node *send = &g->s->graph[p->from]->nodes.p[p->send];
    *value = g->of_stage[p->from][send->in[0]];
    return *value >= 0;
}

// Nodes of a stage from *at on, until one waits for a value of another stage.
static bool number_stage(glue *g, int s, int *at)
{
    const ir_graph *x = g->s->graph[s];
    bool any = false;
    for (; *at < x->nodes.n; (*at)++, any = true) {
        const ir_node *n = &x->nodes.p[*at];
        int in[IR_MAX_IN], value;
        for (int i = 0; i < n->n_in; i++)
            in[i] = g->of_stage[s][n->in[i]];
        unsigned end = ir_op_of(n->op)->flags & IR_PORT;
        if (end == IR_RECV) {
            if (!received_value(g, s, *at, &value)) return any;
            g->of_stage[s][n->out[0]] = value;
            continue;
        }
        for (int o = 0; o < n->n_out; o++)
            g->of_stage[s][n->out[o]] = end == IR_SEND ? in[0] : node_value(g, n, in, o);
    }
    return any;
}

static bool ports_fit(const glue *g)
{
    for (int i = 0; i < g->s->ports.n; i++) {
        const ir_port *p = &g->s->ports.p[i];
        const ir_node *end[2] = {&g->s->graph[p->from]->nodes.p[p->send],
                                 &g->s->graph[p->to]->nodes.p[p->recv]};
        for (int e = 0; e < 2; e++) {
            const ir_node *n = end[e];
            if ((ir_op_of(n->op)->flags & IR_PORT) != (e ? IR_RECV : IR_SEND) ||
                n->attr[ir_attr_index(n->op, "port")].i != i ||
                n->attr[ir_attr_index(n->op, "first")].i != 0 || n->turn != p->turn ||
                n->step != ir_in_slot(p->turn))
                return fail(g, "port %d (%.*s) has no such end", i, HB_ARG(p->name));
        }
    }
    return true;
}

static bool becomes(glue *g, int s, const ir_update *u, int *homes)
{
    const ir_tensor *t = &g->s->graph[s]->tensors.p[u->tensor];
    for (int k = 0; k < g->step->updates.n; k++) {
        const ir_update *w = &g->step->updates.p[k];
        const ir_tensor *v = &g->step->tensors.p[w->tensor];
        if (v->kind != t->kind || !hb_str_eq(v->name, t->name)) continue;
        homes[k]++;
        return g->of_step[w->next] == g->of_stage[s][u->next] ||
               fail(g, "stage %d does not make of '%.*s' what the step makes", s, HB_ARG(t->name));
    }
    return fail(g, "the step has no '%.*s'", HB_ARG(t->name));
}

static bool same_step(glue *g)
{
    int *homes = HB_ARRAY(g->a, int, g->step->updates.n + 1), losses = 0;
    for (int s = 0; s < g->s->n; s++) {
        const ir_graph *x = g->s->graph[s];
        for (int u = 0; u < x->updates.n; u++)
            if (!becomes(g, s, &x->updates.p[u], homes)) return false;
        if (x->loss < 0) continue;
        losses++;
        if (g->step->loss < 0 || g->of_stage[s][x->loss] != g->of_step[g->step->loss])
            return fail(g, "the loss of stage %d is not the step's", s);
    }
    if (losses != (g->step->loss >= 0)) return fail(g, "%d stages have a loss", losses);
    for (int k = 0; k < g->step->updates.n; k++)
        if (homes[k] != 1)
            return fail(g, "'%.*s' has %d homes",
                        HB_ARG(g->step->tensors.p[g->step->updates.p[k].tensor].name), homes[k]);
    return true;
}

static bool glued(glue *g)
{
    int *at = HB_ARRAY(g->a, int, g->s->n);
    g->number = hb_map_new(g->a);
    g->of_step = HB_ARRAY(g->a, int, g->step->tensors.n + 1);
    g->of_stage = HB_ARRAY(g->a, int *, g->s->n);
    if (!ports_fit(g)) return false;
    number_step(g);
    for (int s = 0; s < g->s->n; s++) {
        const ir_graph *x = g->s->graph[s];
        g->of_stage[s] = HB_ARRAY(g->a, int, x->tensors.n + 1);
        for (int t = 0; t < x->tensors.n; t++)
            g->of_stage[s][t] = x->tensors.p[t].producer < 0 ? leaf_value(g, &x->tensors.p[t]) : -1;
    }
    for (bool any = true; any;) {
        any = false;
        for (int s = 0; s < g->s->n; s++)
            any = number_stage(g, s, &at[s]) || any;
    }
    for (int s = 0; s < g->s->n; s++)
        if (at[s] < g->s->graph[s]->nodes.n)
            return fail(g, "stages wait for each other at '%.*s' of stage %d",
                        HB_ARG(g->s->graph[s]->nodes.p[at[s]].name), s);
    return same_step(g);
}

// --- what the graphs declare ---

static bool same_init(const ir_init *x, const ir_init *y)
{
    return x->kind == y->kind && x->a == y->a && x->b == y->b && hb_str_eq(x->stored, y->stored) &&
           hb_str_eq(x->sha256, y->sha256);
}

static bool same_leaf(const ir_tensor *x, const ir_tensor *y)
{
    return x->dtype == y->dtype && x->rank == y->rank && x->batch == y->batch &&
           memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) == 0 &&
           (x->kind == IR_INPUT || same_init(&x->init, &y->init));
}

static bool same_leaves(const glue *g)
{
    hb_map *of_step = hb_map_new(g->a);
    for (int t = 0; t < g->step->tensors.n; t++)
        if (g->step->tensors.p[t].producer < 0)
            hb_map_put(of_step, leaf_key(g, &g->step->tensors.p[t]), t);
    for (int s = 0; s < g->s->n; s++)
        for (int t = 0; t < g->s->graph[s]->tensors.n; t++) {
            const ir_tensor *x = &g->s->graph[s]->tensors.p[t];
            if (x->producer >= 0) continue;
            int of = hb_map_get(of_step, leaf_key(g, x));
            if (of < 0) return fail(g, "the step has no '%.*s'", HB_ARG(x->name));
            if (!same_leaf(x, &g->step->tensors.p[of]))
                return fail(g, "stage %d declares '%.*s' otherwise than the step", s,
                            HB_ARG(x->name));
        }
    return true;
}

static bool same_settings(const ir_graph *x, const ir_graph *y)
{
    double one[IR_SCHEDULE], other[IR_SCHEDULE];
    ir_schedule(&x->opt, one);
    ir_schedule(&y->opt, other);
    return x->batch == y->batch && x->micro_batches == y->micro_batches &&
           x->precision == y->precision && hb_str_eq(x->opt.name, y->opt.name) &&
           memcmp(one, other, sizeof one) == 0;
}

// Other names of parameters: each in the stage that has it.
static bool same_aliases(const glue *g)
{
    int n = 0;
    for (int s = 0; s < g->s->n; s++) {
        const ir_graph *x = g->s->graph[s];
        for (int i = 0; i < x->n_alias; i++, n++) {
            hb_str of = x->tensors.p[x->alias[i].tensor].name;
            int k = 0;
            while (k < g->step->n_alias &&
                   (!hb_str_eq(g->step->alias[k].name, x->alias[i].name) ||
                    !hb_str_eq(g->step->tensors.p[g->step->alias[k].tensor].name, of)))
                k++;
            if (k == g->step->n_alias)
                return fail(g, "'%.*s' of stage %d is no other name of '%.*s'",
                            HB_ARG(x->alias[i].name), s, HB_ARG(of));
        }
    }
    return n == g->step->n_alias ||
           fail(g, "stages have %d other names of parameters, the step %d", n, g->step->n_alias);
}

static bool declared(const glue *g)
{
    for (int s = 0; s < g->s->n; s++)
        if (!same_settings(g->s->graph[s], g->step))
            return fail(g, "stage %d has another batch, schedule or precision than the step", s);
    return same_leaves(g) && same_aliases(g);
}

// --- messages ---

// Is the call an end of a port? Then which, and the message.
static bool is_end(const rec_call *k, bool *send, int64_t *port, int64_t *message)
{
    unsigned end = k->kind == REC_OP ? ir_op_of(k->op)->flags & IR_PORT : 0;
    if (end == 0) return false;
    *send = end == IR_SEND;
    *port = k->attr[ir_attr_index(k->op, "port")].i;
    *message = k->attr[ir_attr_index(k->op, "first")].i;
    return true;
}

record *syn_record_of_ports(hb_arena *a, const record *r)
{
    record *out = HB_NEW(a, record);
    bool send;
    int64_t port, message;
    for (int i = 0; i < r->calls.n; i++) {
        const rec_call *k = &r->calls.p[i];
        if (!is_end(k, &send, &port, &message)) continue;
        rec_call end = {.kind = REC_OP, .op = k->op, .line = k->line};
        end.attr = hb_copy(a, k->attr, sizeof *k->attr * (size_t)ir_op_of((ir_op)k->op)->n_attr);
        HB_PUSH(a, &out->calls, end);
    }
    return out;
}

// As record_from_plan goes over a program.
typedef struct messages {
    hb_arena *a;
    const syn_program *p;
    syn_slot slot;
    HB_VEC(int) end; // instructions that send or receive
    record *out;
} messages;

// Those of a range, of micro-batch m.
static void put_messages(messages *x, int first, int end, int m)
{
    for (int k = 0; k < x->end.n; k++) {
        int i = x->end.p[k];
        const ir_node *n = &x->p->g->nodes.p[x->p->instr.p[i].node];
        ir_turn turn = x->p->instr.p[i].turn;
        bool once = syn_once(x->p, &x->slot, i);
        if (i < first || i >= end || (once && m != (turn == IR_BEFORE ? 0 : x->slot.times - 1)))
            continue;
        int n_attr = ir_op_of(n->op)->n_attr;
        ir_attr *attr = HB_ARRAY(x->a, ir_attr, n_attr + 1);
        for (int q = 0; q < n_attr; q++)
            attr[q] = ir_in_slot(turn) && n->step != 0 ? ir_slot_attr(n, q, m) : n->attr[q];
        HB_PUSH(x->a, &x->out->calls,
                (rec_call){.kind = REC_OP, .op = (int)n->op, .attr = attr, .scratch = -1});
    }
}

record *syn_messages_of(hb_arena *a, const syn_program *p)
{
    messages x = {.a = a, .p = p, .slot = syn_slot_of(p), .out = HB_NEW(a, record)};
    const int from[] = {0, x.slot.first, x.slot.back, x.slot.weights, x.slot.end};
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_OP &&
            ir_op_of(p->g->nodes.p[p->instr.p[i].node].op)->flags & IR_PORT)
            HB_PUSH(a, &x.end, i);
    put_messages(&x, 0, x.slot.first, 0);
    for (int i = 0; i < p->order.n; i++)
        put_messages(&x, from[p->order.p[i].turn], from[p->order.p[i].turn + 1], p->order.p[i].m);
    for (int m = 0; m < x.slot.times && p->order.n == 0; m++)
        put_messages(&x, x.slot.first, x.slot.end, m);
    put_messages(&x, x.slot.end, p->instr.n, x.slot.times);
    return x.out;
}

static int64_t messages_of(const glue *g, const ir_port *p)
{
    return ir_in_slot(p->turn) && g->step->micro_batches > 1 ? g->step->micro_batches : 1;
}

// done: by port, how many messages this stage has sent, and received.
static bool check_end(const glue *g, const record *r, int s, int call, int64_t (*done)[2])
{
    bool send;
    int64_t port, message;
    const rec_call *k = &r->calls.p[call];
    if (!is_end(k, &send, &port, &message)) return true;
    hb_str at = k->line > 0 ? hb_fmt(g->a, "program.c:%d", k->line)
                            : hb_fmt(g->a, "stage %d, call %d", s, call);
    const char *what = send ? "op_send" : "op_recv";
    if (port < 0 || port >= g->s->ports.n)
        return fail(g, "%.*s: %s: there is no port %lld", HB_ARG(at), what, (long long)port);
    const ir_port *p = &g->s->ports.p[port];
    if ((send ? p->from : p->to) != s)
        return fail(g, "%.*s: %s: port %lld is not stage %d's", HB_ARG(at), what, (long long)port,
                    s);
    if (message != done[port][send])
        return fail(g, "%.*s: %s: message %lld of port %lld, where %lld is next", HB_ARG(at), what,
                    (long long)message, (long long)port, (long long)done[port][send]);
    done[port][send]++;
    return true;
}

static bool check_messages(const glue *g, const record *const *rec)
{
    int64_t(*done)[2] = hb_alloc(g->a, sizeof *done * (size_t)(g->s->ports.n + 1));
    for (int s = 0; s < g->s->n; s++)
        for (int k = 0; k < rec[s]->calls.n; k++)
            if (!check_end(g, rec[s], s, k, done)) return false;
    for (int i = 0; i < g->s->ports.n; i++) {
        int64_t want = messages_of(g, &g->s->ports.p[i]);
        for (int send = 0; send < 2; send++)
            if (done[i][send] != want)
                return fail(g, "port %d (%.*s): %lld of %lld messages are %s", i,
                            HB_ARG(g->s->ports.p[i].name), (long long)done[i][send],
                            (long long)want, send ? "sent" : "received");
    }
    return true;
}

// Each stage goes on until it waits for what has not been sent.
static bool check_waits(const glue *g, const record *const *rec)
{
    int *at = HB_ARRAY(g->a, int, g->s->n);
    int64_t *sent = HB_ARRAY(g->a, int64_t, g->s->ports.n + 1), port, message;
    bool send;
    for (bool any = true; any;) {
        any = false;
        for (int s = 0; s < g->s->n; s++)
            for (; at[s] < rec[s]->calls.n; at[s]++, any = true) {
                if (!is_end(&rec[s]->calls.p[at[s]], &send, &port, &message)) continue;
                if (!send && message >= sent[port]) break;
                if (send) sent[port]++;
            }
    }
    for (int s = 0; s < g->s->n; s++) {
        if (at[s] == rec[s]->calls.n) continue;
        const rec_call *k = &rec[s]->calls.p[at[s]];
        (void)is_end(k, &send, &port, &message);
        return fail(g,
                    "stages wait for each other: stage %d for message %lld of port %lld (%.*s), "
                    "which stage %d does not send before it waits itself",
                    s, (long long)message, (long long)port, HB_ARG(g->s->ports.p[port].name),
                    g->s->ports.p[port].from);
    }
    return true;
}

bool syn_check_stages(hb_arena *a, const ir_graph *step, const ir_stages *s,
                      const record *const *rec, hb_str *why)
{
    hb_arena *own = hb_arena_new();
    hb_str text = {0};
    glue g = {.a = own, .step = step, .s = s, .why = &text};
    bool ok = declared(&g) && glued(&g) && check_messages(&g, rec) && check_waits(&g, rec);
    *why = ok ? (hb_str){0} : hb_str_n(a, text.p, text.n);
    hb_arena_free(own);
    return ok;
}
