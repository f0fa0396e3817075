#include "ir/stages.h"

#include <string.h>

#include "ir/names.h"

enum { EVERY = -1, OPEN = -2 }; // stages of a node: each that reads it; not known yet

typedef struct cutter {
    hb_arena *a, *own; // of the graphs; of all that is below but ports
    const ir_graph *g;
    int n;
    const int *first;
    int *layer; // by node
    int *stage; // by node: a stage, EVERY or OPEN
    bool *sent; // by node: made of parameters at their home, for a later stage
    int *home;  // by tensor that no node makes: a stage, EVERY
    ir_names *names;
    ir_stages *out;
    int **have;            // [stage][tensor of g]: tensor of the stage's graph, -1
    int **made;            // [stage][node of g]: node of the stage's graph, -1
    int **port;            // [stage][tensor of g]: port that it comes in through, -1
    HB_VEC(int) value;     // by port: tensor of g
    int *leaves, *next;    // by tensor of g: its first port; by port: the tensor's next one, -1
    bool **wanted;         // [stage][node of g]
    int *n_wanted, **list; // [stage]: how many, which, ascending
    int *leaf, n_leaves;   // tensors that no node makes, ascending
    int *early, n_early;   // tensors with ports that may be sent before or behind all slots
    HB_VEC(int) * origin;  // [stage], by node of its graph: the node of g that it is or serves
} cutter;

static bool is_home(ir_kind k)
{
    return k == IR_PARAM || k == IR_STATE || k == IR_BUFFER;
}

// --- layers ---

static bool all_of(const ir_graph *g, const ir_node *n, const bool *node, ir_kind kind)
{
    for (int i = 0; i < n->n_in; i++) {
        const ir_tensor *t = &g->tensors.p[n->in[i]];
        if (t->producer >= 0 ? !node[t->producer] : t->kind != kind && t->kind != IR_CONST)
            return false;
    }
    return true;
}

// Forward nodes made of inputs and constants alone, or (of) of parameters and constants alone.
static bool *given(hb_arena *a, const ir_graph *g, ir_kind kind)
{
    bool *is = HB_ARRAY(a, bool, g->nodes.n + 1);
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        bool zeros = n->n_in == 0 && kind == IR_INPUT;
        is[k] = zeros || (n->n_in > 0 && n->phase == IR_FORWARD && all_of(g, n, is, kind));
    }
    return is;
}

static bool reads_weight(const ir_graph *g, const ir_node *n, const bool *of_params)
{
    if (!ir_is_dense(n->op)) return false;
    for (int i = 0; i < n->n_in; i++) {
        const ir_tensor *t = &g->tensors.p[n->in[i]];
        if (t->rank >= 2 && (t->producer >= 0 ? of_params[t->producer] : t->kind == IR_PARAM))
            return true;
    }
    return false;
}

int ir_layers(hb_arena *a, const ir_graph *g, int *by_node)
{
    bool *inputs = given(a, g, IR_INPUT), *params = given(a, g, IR_PARAM);
    int last = -1;
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        bool counts = n->phase == IR_FORWARD && !inputs[k] && !params[k];
        if (by_node) by_node[k] = -1;
        if (!counts) continue;
        if (g->n_blocks >= 2)
            last = n->block > 0 ? n->block - 1 : last;
        else if (reads_weight(g, n, params))
            last++;
        if (by_node) by_node[k] = last < 0 ? 0 : last;
    }
    return g->n_blocks >= 2 ? g->n_blocks : last + 1;
}

// --- who does what ---

static int stage_of_layer(const cutter *x, int layer)
{
    int s = 0;
    while (s + 1 < x->n && x->first[s + 1] <= layer)
        s++;
    return s;
}

static int stage_of_tensor(const cutter *x, int t)
{
    int p = x->g->tensors.p[t].producer;
    return p >= 0 ? x->stage[p] : x->home[t];
}

static void set_forward(cutter *x, int k)
{
    const ir_node *n = &x->g->nodes.p[k];
    int s = stage_of_layer(x, x->layer[k]);
    for (int i = 0; i < n->n_in; i++) { // values go up
        int p = x->g->tensors.p[n->in[i]].producer;
        if (p >= 0 && x->stage[p] > s) s = x->stage[p];
    }
    x->stage[k] = s;
}

// The stage of the first that reads what is made of parameters alone, and the homes of these.
static void set_homes(cutter *x)
{
    const ir_graph *g = x->g;
    for (int k = g->nodes.n - 1; k >= 0; k--) {
        const ir_node *n = &g->nodes.p[k];
        if (n->phase != IR_FORWARD) continue;
        for (int i = 0; i < n->n_in; i++) {
            int t = n->in[i], p = g->tensors.p[t].producer, s = x->stage[k];
            if (s < 0) continue;
            if (p >= 0 && x->layer[p] < 0 && x->stage[p] != EVERY &&
                (x->stage[p] == OPEN || s < x->stage[p]))
                x->stage[p] = s;
            if (p < 0 && is_home(g->tensors.p[t].kind) && (x->home[t] < 0 || s < x->home[t]))
                x->home[t] = s;
        }
    }
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *v = &g->tensors.p[t];
        if (v->kind == IR_STATE) x->home[t] = x->home[v->of];
        if (is_home(v->kind) && x->home[t] < 0) x->home[t] = 0; // nobody reads it
    }
}

static int64_t bytes_of(const ir_tensor *t)
{
    return ir_elements(t) * ir_dtype_bytes(t->dtype);
}

// What makes less of a parameter that is read later (a cast) stands at its home: less is sent.
static void send_the_less(cutter *x)
{
    const ir_graph *g = x->g;
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        if (n->phase != IR_FORWARD || x->layer[k] >= 0 || x->stage[k] < 0 || n->n_in != 1) continue;
        int from = stage_of_tensor(x, n->in[0]);
        if (from < 0 || from >= x->stage[k] ||
            bytes_of(&g->tensors.p[n->out[0]]) >= bytes_of(&g->tensors.p[n->in[0]]))
            continue;
        x->stage[k] = from;
        x->sent[k] = true;
    }
}

static bool adds_gradients(const cutter *x, int node, int *param)
{
    const ir_node *n = &x->g->nodes.p[node];
    if (n->op != IR_OP_add || n->adds) return false;
    for (int i = 0; i + 1 < x->g->grads.n; i += 2)
        if (x->g->grads.p[i + 1] == n->out[0]) {
            *param = x->g->grads.p[i];
            return true;
        }
    return false;
}

static void set_backward(cutter *x, int k)
{
    const ir_node *n = &x->g->nodes.p[k];
    int param, most = EVERY;
    if (adds_gradients(x, k, &param)) {
        x->stage[k] = x->home[param];
        return;
    }
    for (int i = 0; i < n->n_in; i++) {
        int s = stage_of_tensor(x, n->in[i]);
        if (s > most) most = s;
    }
    bool own = n->n_in == 0 || x->stage[n->forward] < 0 || x->sent[n->forward];
    x->stage[k] = own ? most : x->stage[n->forward];
}

static void set_update(cutter *x, int k)
{
    const ir_node *n = &x->g->nodes.p[k];
    bool in_place = ir_op_of(n->op)->flags & IR_IN_PLACE;
    x->stage[k] = EVERY;
    if (in_place) x->stage[k] = x->home[n->in[0]];
    for (int i = n->n_in - 1; !in_place && i >= 0 && x->stage[k] < 0; i--)
        x->stage[k] = stage_of_tensor(x, n->in[i]);
}

static void set_stages(cutter *x)
{
    const ir_graph *g = x->g;
    bool *inputs = given(x->own, g, IR_INPUT);
    ir_layers(x->own, g, x->layer);
    for (int k = 0; k < g->nodes.n; k++) {
        x->stage[k] = inputs[k] ? EVERY : OPEN;
        if (g->nodes.p[k].phase == IR_FORWARD && x->layer[k] >= 0) set_forward(x, k);
    }
    for (int t = 0; t < g->tensors.n; t++)
        x->home[t] = EVERY;
    set_homes(x);
    send_the_less(x);
    for (int k = 0; k < g->nodes.n; k++) {
        ir_phase phase = g->nodes.p[k].phase;
        if (phase == IR_FORWARD && x->stage[k] == OPEN) x->stage[k] = 0; // nobody reads it
        if (inputs[k]) continue;
        if (phase == IR_BACKWARD) set_backward(x, k);
        if (phase == IR_UPDATE) set_update(x, k);
    }
}

// --- ports ---

static ir_turn turn_of_node(const cutter *x, int k)
{
    const ir_node *n = &x->g->nodes.p[k];
    return n->turn == IR_SLOT && n->phase != IR_FORWARD ? IR_SLOT_BACK : n->turn;
}

static ir_turn turn_of_port(const cutter *x, int t)
{
    int p = x->g->tensors.p[t].producer;
    if (p < 0) return IR_BEFORE;
    return x->g->nodes.p[p].adds ? IR_AFTER : turn_of_node(x, p);
}

static void want(cutter *x, int s, int t);

static void want_node(cutter *x, int s, int k)
{
    if (x->wanted[s][k]) return;
    x->wanted[s][k] = true;
    for (int i = 0; i < x->g->nodes.p[k].n_in; i++)
        want(x, s, x->g->nodes.p[k].in[i]);
}

// Stage s reads tensor t.
static void want(cutter *x, int s, int t)
{
    const ir_tensor *v = &x->g->tensors.p[t];
    int from = stage_of_tensor(x, t);
    if (from == s || from < 0) {
        if (v->producer >= 0) want_node(x, s, v->producer);
        return;
    }
    if (x->port[s][t] >= 0) return;
    x->port[s][t] = x->out->ports.n;
    HB_PUSH(x->own, &x->value, t);
    HB_PUSH(x->a, &x->out->ports,
            (ir_port){.name = v->name, .from = from, .to = s, .turn = turn_of_port(x, t)});
    want(x, from, t);
}

static void set_ports(cutter *x)
{
    const ir_graph *g = x->g;
    for (int k = 0; k < g->nodes.n; k++)
        if (x->stage[k] >= 0) want_node(x, x->stage[k], k);
    for (int u = 0; u < g->updates.n; u++)
        want(x, x->home[g->updates.p[u].tensor], g->updates.p[u].next);
    if (g->loss >= 0)
        want(x, stage_of_tensor(x, g->loss) < 0 ? 0 : stage_of_tensor(x, g->loss), g->loss);
}

// The ports of every value, in the order of the stages that they lead to.
static void list_ports(cutter *x)
{
    int n = x->out->ports.n;
    x->leaves = HB_ARRAY(x->own, int, x->g->tensors.n + 1);
    x->next = HB_ARRAY(x->own, int, n + 1);
    memset(x->leaves, -1, sizeof *x->leaves * (size_t)(x->g->tensors.n + 1));
    for (int to = x->n - 1; to >= 0; to--)
        for (int i = 0; i < n; i++) {
            if (x->out->ports.p[i].to != to) continue;
            x->next[i] = x->leaves[x->value.p[i]];
            x->leaves[x->value.p[i]] = i;
        }
}

static void list_wanted(cutter *x)
{
    const ir_graph *g = x->g;
    x->n_wanted = HB_ARRAY(x->own, int, x->n);
    x->list = HB_ARRAY(x->own, int *, x->n);
    for (int s = 0; s < x->n; s++) {
        int n = 0;
        for (int k = 0; k < g->nodes.n; k++)
            n += x->wanted[s][k];
        x->list[s] = HB_ARRAY(x->own, int, n + 1);
        for (int k = 0; k < g->nodes.n; k++)
            if (x->wanted[s][k]) x->list[s][x->n_wanted[s]++] = k;
    }
    x->leaf = HB_ARRAY(x->own, int, g->tensors.n + 1);
    x->early = HB_ARRAY(x->own, int, g->tensors.n + 1);
    for (int t = 0; t < g->tensors.n; t++) {
        int p = g->tensors.p[t].producer;
        if (g->tensors.p[t].kind != IR_VALUE) x->leaf[x->n_leaves++] = t;
        if (x->leaves[t] >= 0 && (p < 0 || g->nodes.p[p].adds)) x->early[x->n_early++] = t;
    }
}

// Does a micro-batch's part of a value go through it that is made of the whole batch, ahead of all
// micro-batches?
static bool of_whole_batch(const cutter *x, int port)
{
    const ir_graph *g = x->g;
    const int *of = x->port[x->out->ports.p[port].to];
    for (int k = 0; k < g->nodes.n; k++) {
        const ir_node *n = &g->nodes.p[k];
        bool part = n->op == IR_OP_slice && ir_in_slot(n->turn) && n->step > 0;
        if (part && of[n->out[0]] == port) return true;
    }
    return false;
}

// In a slot values go up and gradients down: else a stage would wait for one that waits for it.
static bool ports_are_legal(const cutter *x, hb_diag *d)
{
    for (int i = 0; i < x->out->ports.n; i++) {
        const ir_port *p = &x->out->ports.p[i];
        bool up = p->to > p->from;
        if (!ir_in_slot(p->turn) || up == (p->turn == IR_SLOT)) continue;
        if (of_whole_batch(x, i)) {
            hb_error(d, &x->g->src, (hb_pos){0},
                     "not supported: stages with micro-batches, as '%.*s' comes of the whole batch",
                     HB_ARG(p->name));
            hb_hint(d, "a loss that balances experts and a batch norm want all samples at once: "
                       "--micro-batches 1");
            return false;
        }
        hb_error(d, &x->g->src, (hb_pos){0},
                 "not supported: stages where '%.*s' goes from stage %d to stage %d in the %s pass",
                 HB_ARG(p->name), p->from, p->to, up ? "backward" : "forward");
        return false;
    }
    return true;
}

// --- graphs ---

// origin: the node of the step that it serves.
static int push(cutter *x, int s, ir_node n, const ir_tensor *like, int origin)
{
    ir_graph *g = x->out->graph[s];
    int id = g->nodes.n, t = g->tensors.n;
    ir_tensor y = *like;
    if (n.phase == IR_FORWARD) n.forward = id;
    if (n.phase == IR_UPDATE) n.forward = -1;
    y.name = n.name;
    y.kind = IR_VALUE;
    y.producer = id;
    y.out = 0;
    y.of = y.batch = -1;
    n.n_out = 1;
    n.out[0] = t;
    HB_PUSH(x->a, &g->tensors, y);
    HB_PUSH(x->a, &g->nodes, n);
    HB_PUSH(x->own, &x->origin[s], origin);
    return id;
}

static ir_attr integer(int64_t i)
{
    return (ir_attr){.kind = IR_ATTR_INT, .i = i};
}

// The send of a value; at: the node that makes it, or reads it first (a parameter).
static void send(cutter *x, int t, int port)
{
    ir_port *p = &x->out->ports.p[port];
    const ir_tensor *v = &x->g->tensors.p[t];
    const ir_node *of = v->producer >= 0 ? &x->g->nodes.p[v->producer] : NULL;
    hb_str name = ir_names_take(x->names, hb_fmt(x->own, "%.*s#send", HB_ARG(v->name)));
    ir_node n = {.name = hb_str_n(x->a, name.p, name.n),
                 .op = IR_OP_send,
                 .phase = of ? of->phase : IR_FORWARD,
                 .n_in = 1,
                 .turn = p->turn,
                 .step = ir_in_slot(p->turn)};
    p->sent = n.in[0] = x->have[p->from][t];
    n.attr[0] = integer(port);
    n.attr[1] = integer(0);
    n.block = 0;
    if (of) n.at = of->at;
    p->send = push(x, p->from, n, v, v->producer);
}

static void recv(cutter *x, int s, int t, int reader)
{
    int port = x->port[s][t];
    ir_port *p = &x->out->ports.p[port];
    const ir_tensor *v = &x->g->tensors.p[t];
    const ir_node *by = &x->g->nodes.p[reader];
    ir_node n = {.name = v->name,
                 .op = IR_OP_recv,
                 .phase = p->turn == IR_BEFORE && x->g->micro_batches > 1 ? IR_FORWARD : by->phase,
                 .turn = p->turn,
                 .at = by->at,
                 .step = ir_in_slot(p->turn)};
    if (p->turn == IR_SLOT) n.phase = IR_FORWARD;
    n.attr[0] = (ir_attr){.kind = IR_ATTR_INTS, .n = v->rank};
    for (int i = 0; i < v->rank; i++)
        n.attr[0].v[i] = v->dim[i];
    n.attr[1] = (ir_attr){.kind = IR_ATTR_DTYPE, .i = v->dtype};
    n.attr[2] = integer(port);
    n.attr[3] = integer(0);
    p->recv = push(x, s, n, v, reader);
    p->received = x->have[s][t] = x->out->graph[s]->nodes.p[p->recv].out[0];
}

static void send_all(cutter *x, int s, int t, ir_turn turn)
{
    for (int port = x->leaves[t]; port >= 0; port = x->next[port])
        if (x->out->ports.p[port].from == s && x->out->ports.p[port].turn == turn) send(x, t, port);
}

static void copy(cutter *x, int s, int k)
{
    ir_graph *g = x->out->graph[s];
    ir_node n = x->g->nodes.p[k];
    int id = g->nodes.n;
    for (int i = 0; i < n.n_in; i++)
        n.in[i] = x->have[s][n.in[i]];
    n.turn = turn_of_node(x, k);
    n.forward = n.phase == IR_FORWARD ? id : -1;
    x->made[s][k] = id;
    for (int o = 0; o < n.n_out; o++) {
        ir_tensor y = x->g->tensors.p[n.out[o]];
        y.producer = id;
        x->have[s][n.out[o]] = g->tensors.n;
        n.out[o] = g->tensors.n;
        HB_PUSH(x->a, &g->tensors, y);
    }
    HB_PUSH(x->a, &g->nodes, n);
    HB_PUSH(x->own, &x->origin[s], k);
}

static void leaves(cutter *x, int s)
{
    const ir_graph *g = x->g;
    bool *read = HB_ARRAY(x->own, bool, g->tensors.n + 1);
    for (int w = 0; w < x->n_wanted[s]; w++) {
        const ir_node *n = &g->nodes.p[x->list[s][w]];
        for (int i = 0; i < n->n_in; i++)
            read[n->in[i]] = true;
    }
    for (int l = 0; l < x->n_leaves; l++) {
        int t = x->leaf[l];
        ir_tensor v = g->tensors.p[t];
        if (is_home(v.kind) ? x->home[t] != s : !read[t]) continue;
        if (v.of >= 0) v.of = x->have[s][v.of];
        x->have[s][t] = x->out->graph[s]->tensors.n;
        HB_PUSH(x->a, &x->out->graph[s]->tensors, v);
    }
}

// What of a turn goes out though it was made before: parameters, and sums behind the last slot.
static void send_early(cutter *x, int s, ir_turn turn)
{
    const ir_graph *g = x->g;
    for (int i = 0; i < x->n_early; i++) {
        int t = x->early[i], p = g->tensors.p[t].producer;
        bool made = p < 0 || turn == IR_AFTER;
        if (made && stage_of_tensor(x, t) == s) send_all(x, s, t, turn);
    }
}

// What comes in in this turn and is read in a later one alone.
static void recv_late(cutter *x, int s, ir_turn turn)
{
    const ir_graph *g = x->g;
    for (int w = 0; w < x->n_wanted[s]; w++) {
        int k = x->list[s][w];
        for (int i = 0; i < g->nodes.p[k].n_in; i++) {
            int t = g->nodes.p[k].in[i], port = x->port[s][t];
            if (port >= 0 && x->have[s][t] < 0 && x->out->ports.p[port].turn == turn)
                recv(x, s, t, k);
        }
    }
}

static void nodes(cutter *x, int s)
{
    const ir_graph *g = x->g;
    for (ir_turn turn = IR_BEFORE; turn <= IR_AFTER; turn++) {
        send_early(x, s, turn);
        for (int w = 0; w < x->n_wanted[s]; w++) {
            int k = x->list[s][w];
            const ir_node *n = &g->nodes.p[k];
            if (turn_of_node(x, k) != turn) continue;
            for (int i = 0; i < n->n_in; i++)
                if (x->have[s][n->in[i]] < 0) recv(x, s, n->in[i], k);
            copy(x, s, k);
            for (int o = 0; o < n->n_out; o++)
                if (!n->adds && x->stage[k] == s) send_all(x, s, n->out[o], turn);
        }
        recv_late(x, s, turn);
    }
}

// `forward` of backward nodes; of what another stage differentiates, this one's first.
static void link_forward(cutter *x, int s)
{
    ir_graph *out = x->out->graph[s];
    int first = 0;
    while (first + 1 < out->nodes.n && out->nodes.p[first].phase != IR_FORWARD)
        first++;
    for (int k = 0; k < out->nodes.n; k++) {
        ir_node *n = &out->nodes.p[k];
        if (n->phase != IR_BACKWARD) continue;
        int of = x->g->nodes.p[x->origin[s].p[k]].forward;
        n->forward = of >= 0 && x->made[s][of] >= 0 ? x->made[s][of] : first;
    }
}

static void finish(cutter *x, int s)
{
    const ir_graph *g = x->g;
    ir_graph *out = x->out->graph[s];
    link_forward(x, s);
    out->loss = g->loss >= 0 && stage_of_tensor(x, g->loss) == s ? x->have[s][g->loss] : -1;
    for (int u = 0; u < g->updates.n; u++) {
        ir_update v = g->updates.p[u];
        if (x->home[v.tensor] == s)
            HB_PUSH(x->a, &out->updates, (ir_update){x->have[s][v.tensor], x->have[s][v.next]});
    }
    for (int i = 0; i + 1 < g->grads.n; i += 2) {
        int param = g->grads.p[i], grad = g->grads.p[i + 1];
        if (x->home[param] != s || x->have[s][grad] < 0) continue;
        HB_PUSH(x->a, &out->grads, x->have[s][param]);
        HB_PUSH(x->a, &out->grads, x->have[s][grad]);
    }
    out->alias = HB_ARRAY(x->a, struct ir_alias, g->n_alias + 1);
    out->n_alias = 0;
    for (int i = 0; i < g->n_alias; i++) {
        if (x->home[g->alias[i].tensor] != s) continue;
        out->alias[out->n_alias] = g->alias[i];
        out->alias[out->n_alias++].tensor = x->have[s][g->alias[i].tensor];
    }
}

// The graph of a stage, with room for what it will have.
static ir_graph *open_graph(cutter *x, int s)
{
    ir_graph *out = ir_empty_like(x->a, x->g);
    int nodes = x->n_wanted[s], tensors = 0;
    for (int w = 0; w < nodes; w++)
        tensors += x->g->nodes.p[x->list[s][w]].n_out;
    for (int l = 0; l < x->n_leaves; l++)
        tensors += is_home(x->g->tensors.p[x->leaf[l]].kind) && x->home[x->leaf[l]] == s;
    HB_ROOM(x->a, &out->nodes, nodes + nodes / 8 + 8);
    HB_ROOM(x->a, &out->tensors, tensors + tensors / 8 + 8);
    out->step_nodes = 0; // as large as it is
    return out;
}

static int **table(hb_arena *a, int n, int m, int value)
{
    int **v = HB_ARRAY(a, int *, n);
    for (int i = 0; i < n; i++) {
        v[i] = HB_ARRAY(a, int, m + 1);
        for (int k = 0; k <= m; k++)
            v[i][k] = value;
    }
    return v;
}

ir_stages *ir_stages_cut(hb_arena *a, const ir_graph *g, int n, const int *first, hb_diag *d)
{
    hb_assert(n >= 1 && n <= IR_MAX_STAGES && first[0] == 0);
    int n_t = g->tensors.n, n_n = g->nodes.n;
    hb_arena *own = hb_arena_new();
    cutter x = {.a = a, .own = own, .g = g, .n = n, .first = first};
    x.names = ir_names_new(own, g);
    x.out = HB_NEW(a, ir_stages);
    x.out->n = n;
    x.out->graph = HB_ARRAY(a, ir_graph *, n);
    x.layer = HB_ARRAY(own, int, n_n + 1);
    x.stage = HB_ARRAY(own, int, n_n + 1);
    x.sent = HB_ARRAY(own, bool, n_n + 1);
    x.home = HB_ARRAY(own, int, n_t + 1);
    x.have = table(own, n, n_t, -1);
    x.made = table(own, n, n_n, -1);
    x.port = table(own, n, n_t, -1);
    x.wanted = HB_ARRAY(own, bool *, n);
    x.origin = hb_alloc(own, sizeof *x.origin * (size_t)n);
    for (int s = 0; s < n; s++)
        x.wanted[s] = HB_ARRAY(own, bool, n_n + 1);
    set_stages(&x);
    set_ports(&x);
    list_ports(&x);
    list_wanted(&x);
    bool legal = ports_are_legal(&x, d);
    for (int s = 0; s < n && legal; s++) {
        x.out->graph[s] = open_graph(&x, s);
        leaves(&x, s);
        nodes(&x, s);
        finish(&x, s);
    }
    hb_arena_free(own);
    return legal ? x.out : NULL;
}
