// From a choice to the program it means: nodes in order, each operand brought into the state its
// sharding wants, each conversion one or more explicit instructions.

#include "synth/space/lower.h"

#include <string.h>

#include "synth/price/instr_cost.h"
#include "synth/price/transport.h"

typedef struct lowering {
    hb_arena *arena;
    const syn_space *s;
    const syn_choice *c;
    syn_program *p;
    int *kept, *copy; // by graph tensor: buffer, -1
    int *state;       // by graph tensor without a variable: the state its buffer is in
    int *gradient;    // by parameter: graph tensor, -1
    int *maker;       // by graph tensor: the instruction that makes it
    ir_turn turn;     // of the instructions that are made
    hb_map *known;    // (list of states, from, to) -> moves
    HB_VEC(syn_move) moves;
} lowering;

static int new_buffer(lowering *l, int value, const syn_state *x, syn_role role)
{
    const ir_tensor *v = &l->p->g->tensors.p[value];
    syn_tensor t = {.value = value, .role = role, .state = *x, .dtype = v->dtype, .family = -1};
    syn_local_bytes(l->s->costs, value, x, t.bytes);
    HB_PUSH(l->arena, &l->p->tensors, t);
    return l->p->tensors.n - 1;
}

static int new_scratch(lowering *l, int64_t bytes)
{
    syn_tensor t = {.value = -1, .role = SYN_ROLE_SCRATCH, .dtype = IR_F32, .family = -1};
    for (int c = 0; c < l->p->mesh->n_classes; c++)
        t.bytes[c] = bytes;
    HB_PUSH(l->arena, &l->p->tensors, t);
    return l->p->tensors.n - 1;
}

static int *one(lowering *l, int i)
{
    return hb_copy(l->arena, &i, sizeof i);
}

// The instructions of one move; a copy without a change of state is a slice.
static void emit_move(lowering *l, const syn_move *move, int from, int to, int node)
{
    syn_instr in = {.node = node,
                    .turn = l->turn,
                    .n_in = 1,
                    .n_out = 1,
                    .in = one(l, from),
                    .out = one(l, to),
                    .axes = move->axes,
                    .scratch = -1,
                    .start = -1};
    if (move->kind == SYN_MOVE_SLICE || move->kind == SYN_MOVE_PARTIAL) {
        in.kind = move->kind == SYN_MOVE_SLICE ? SYN_SLICE : SYN_PARTIAL;
        HB_PUSH(l->arena, &l->p->instr, in);
        return;
    }
    hb_assert(move->kind == SYN_MOVE_COLL);
    in.kind = SYN_START;
    in.coll = move->coll;
    in.form = move->form;
    in.reduce_max = move->reduce_max;
    if (move->scratch > 0) in.scratch = new_scratch(l, move->scratch);
    HB_PUSH(l->arena, &l->p->instr, in);
    syn_instr wait = {
        .kind = SYN_WAIT, .node = node, .turn = l->turn, .scratch = -1, .start = l->p->instr.n - 1};
    HB_PUSH(l->arena, &l->p->instr, wait);
}

// The direct move between two states of a list, with its sharding. Tensors of one list move alike,
// so that each is priced once.
static syn_move direct_move(lowering *l, int value, const syn_states *st, int i, int k)
{
    struct {
        const syn_states *st;
        int64_t from, to;
    } key = {st, i, k};
    hb_str bytes = {(const char *)&key, sizeof key};
    int at = hb_map_get(l->known, bytes);
    if (at >= 0) return l->moves.p[at];
    syn_move move = syn_move_between(l->s->costs, value, &st->s[i], &st->s[k]);
    if (move.kind == SYN_MOVE_COLL)
        syn_move_price(l->s->costs, value, &st->s[i], &st->s[k], l->s->slack, &move);
    hb_map_put(l->known, hb_str_n(l->arena, bytes.p, bytes.n), l->moves.n);
    HB_PUSH(l->arena, &l->moves, move);
    return move;
}

// Brings a buffer in state i of its list into state j, in `target` if that is a buffer. Returns the
// buffer.
static int convert(lowering *l, int buffer, int i, int j, int target, int node)
{
    int value = l->p->tensors.p[buffer].value;
    const syn_states *st = l->s->states[value];
    while (i != j) {
        int k = st->via[i * st->n + j];
        syn_move move = direct_move(l, value, st, i, k);
        int to = k == j && target >= 0 ? target : new_buffer(l, value, &st->s[k], SYN_ROLE_VALUE);
        emit_move(l, &move, buffer, to, node);
        buffer = to;
        i = k;
    }
    return buffer;
}

static syn_role role_of(const ir_tensor *t)
{
    switch (t->kind) {
    case IR_INPUT:
        return SYN_ROLE_INPUT;
    case IR_CONST:
        return SYN_ROLE_CONST;
    case IR_PARAM:
    case IR_STATE:
    case IR_BUFFER:
        return SYN_ROLE_HOME;
    case IR_VALUE:
        break;
    }
    return SYN_ROLE_VALUE;
}

static const syn_sharding *sharding_of(const lowering *l, int node)
{
    return &l->s->shardings[node]->sharding[l->c->sharding[node]];
}

static void declare_homes(lowering *l)
{
    const ir_graph *g = l->p->g;
    for (int t = 0; t < g->tensors.n; t++) {
        const ir_tensor *ten = &g->tensors.p[t];
        bool used = l->s->first_use[t + 1] > l->s->first_use[t];
        if (ten->kind == IR_VALUE || (!used && (ten->kind == IR_INPUT || ten->kind == IR_CONST)))
            continue;
        int state = l->c->keep[t].state;
        if (ten->kind == IR_STATE && used) {
            const int *u = l->s->uses[l->s->first_use[t]];
            state = sharding_of(l, u[0])->in[u[1]];
        }
        l->kept[t] = new_buffer(l, t, &l->s->states[t]->s[state < 0 ? 0 : state], role_of(ten));
        l->p->home[t] = l->kept[t];
    }
}

// Where what is made of a tensor belongs that all its readers share: with the tensor, but that sums
// are complete behind the last micro-batch.
static ir_turn turn_of(const ir_graph *g, int t)
{
    int p = g->tensors.p[t].producer;
    return p < 0 ? IR_BEFORE : g->nodes.p[p].adds ? IR_AFTER : g->nodes.p[p].turn;
}

static int convert_in(lowering *l, ir_turn turn, int buffer, int i, int j, int node)
{
    ir_turn now = l->turn;
    l->turn = turn;
    buffer = convert(l, buffer, i, j, -1, node);
    l->turn = now;
    return buffer;
}

// A sum over micro-batches begins with zeros, which are made in the state that it is in: zeros are
// parts of a sum, too.
static int zeros(lowering *l, int t, int want)
{
    syn_instr *full = &l->p->instr.p[l->maker[t]];
    syn_tensor *x = &l->p->tensors.p[l->kept[t]];
    x->state = l->s->states[t]->s[want];
    syn_local_bytes(l->s->costs, t, &x->state, x->bytes);
    syn_node_cut cut = syn_cut_of_op(l->p, full);
    syn_node_seconds(l->s->costs, full->node, &cut, full->sec);
    return l->kept[t];
}

// The buffer an operand reads, converted from whichever of the kept ones is nearest.
static int operand(lowering *l, int node, int i)
{
    const ir_graph *g = l->p->g;
    int t = g->nodes.p[node].in[i], want = sharding_of(l, node)->in[i];
    const syn_states *st = l->s->states[t];
    if (g->tensors.p[t].kind == IR_STATE) return l->kept[t];
    if (g->nodes.p[node].adds && i == 0) return zeros(l, t, want);
    if (l->s->tensor_var[t] < 0) // one consumer: straight from the producer
        return convert_in(l, turn_of(g, t), l->kept[t], l->state[t], want, node);
    syn_keep keep = l->c->keep[t];
    double from_kept = st->cost[keep.state * st->n + want];
    if (keep.copy < 0 || syn_writes_home(g, node, i) ||
        from_kept <= st->cost[keep.copy * st->n + want])
        return convert(l, l->kept[t], keep.state, want, -1, node);
    if (l->copy[t] < 0)
        l->copy[t] = convert_in(l, turn_of(g, t), l->kept[t], keep.state, keep.copy, node);
    return convert(l, l->copy[t], keep.copy, want, -1, node);
}

// A partial value that its one consumer wants reduced is reduced at once: the collective then runs
// beside whatever lies between (a gradient and its update), and takes no more memory.
static void reduce_early(lowering *l, int t, int node)
{
    const syn_state *have = &l->s->states[t]->s[l->state[t]];
    int u = l->s->first_use[t];
    if ((have->ax[0].kind != SYN_P && have->ax[1].kind != SYN_P) || l->s->first_use[t + 1] != u + 1)
        return;
    int want = sharding_of(l, l->s->uses[u][0])->in[l->s->uses[u][1]];
    l->kept[t] = convert_in(l, turn_of(l->p->g, t), l->kept[t], l->state[t], want, node);
    l->state[t] = want;
}

static void lower_node(lowering *l, int node)
{
    const ir_graph *g = l->p->g;
    const ir_node *n = &g->nodes.p[node];
    const syn_sharding *sharding = sharding_of(l, node);
    bool in_place = ir_op_of(n->op)->flags & IR_IN_PLACE;
    l->turn = n->turn;
    syn_instr op = {.kind = SYN_OP,
                    .node = node,
                    .turn = n->turn,
                    .n_in = n->n_in,
                    .n_out = n->n_out,
                    .scratch = -1,
                    .start = -1};
    op.in = HB_ARRAY(l->arena, int, n->n_in);
    op.out = HB_ARRAY(l->arena, int, n->n_out);
    for (int i = 0; i < n->n_in; i++)
        op.in[i] = operand(l, node, i);
    for (int o = 0; o < n->n_out; o++)
        op.out[o] = in_place || n->adds
                        ? op.in[o]
                        : new_buffer(l, n->out[o], &l->s->states[n->out[o]]->s[sharding->out[o]],
                                     SYN_ROLE_VALUE);
    if (n->adds) l->p->tensors.p[op.out[0]].value = n->out[0];
    for (int c = 0; c < l->p->mesh->n_classes; c++)
        op.sec[c] = l->s->shardings[node]->sec[l->c->sharding[node] * l->p->mesh->n_classes + c];
    HB_PUSH(l->arena, &l->p->instr, op);
    for (int o = 0; o < n->n_out; o++) {
        int t = n->out[o];
        l->maker[t] = l->p->instr.n - 1;
        if (in_place) { // back home if the optimizer worked in another state
            int old = n->in[o];
            if (op.in[o] != l->kept[old])
                convert(l, op.in[o], sharding->in[o], l->c->keep[old].state, l->kept[old], node);
            l->kept[t] = l->kept[old];
        } else if (l->s->tensor_var[t] >= 0) {
            l->kept[t] = convert_in(l, turn_of(g, t), op.out[o], sharding->out[o],
                                    l->c->keep[t].state, node);
        } else {
            l->kept[t] = op.out[o];
            l->state[t] = sharding->out[o];
            reduce_early(l, t, node);
        }
    }
    for (int i = n->n_out; in_place && i < n->n_in; i++)
        if (n->in[i] >= 0 && l->gradient[n->in[0]] == n->in[i]) l->p->grad[n->in[0]] = op.in[i];
}

static int value_state(const lowering *l, int t)
{
    return l->s->tensor_var[t] >= 0 ? l->c->keep[t].state : l->state[t];
}

static void close_updates(lowering *l)
{
    const ir_graph *g = l->p->g;
    for (int u = 0; u < g->updates.n; u++) {
        int t = g->updates.p[u].tensor, next = g->updates.p[u].next, home = l->kept[t];
        if (l->kept[next] == home) continue;
        int have = value_state(l, next), want = l->c->keep[t].state < 0 ? 0 : l->c->keep[t].state;
        if (have != want) {
            convert(l, l->kept[next], have, want, home, g->tensors.p[next].producer);
        } else {
            syn_move copy = {.kind = SYN_MOVE_SLICE, .axes = 1};
            emit_move(l, &copy, l->kept[next], home, g->tensors.p[next].producer);
        }
    }
}

// What becomes of a sum stands with its last addend, where the rest of the backward pass may hide
// it.
static ir_turn place_of(const syn_program *p, const syn_instr *in)
{
    return in->turn == IR_AFTER ? p->g->nodes.p[in->node].turn : in->turn;
}

// What stands before the micro-batches, in them and behind them, each in the order it was made.
static void in_turn(syn_program *p)
{
    if (p->g->micro_batches < 2) return;
    hb_arena *a = hb_arena_new();
    int n = p->instr.n, *to = HB_ARRAY(a, int, n + 1), at = 0;
    const syn_instr *old = hb_copy(a, p->instr.p, sizeof *old * (size_t)n);
    for (ir_turn turn = IR_BEFORE; turn <= IR_AFTER; turn++)
        for (int i = 0; i < n; i++)
            if (place_of(p, &old[i]) == turn) to[i] = at++;
    for (int i = 0; i < n; i++) {
        p->instr.p[to[i]] = old[i];
        if (old[i].kind == SYN_WAIT) p->instr.p[to[i]].start = to[old[i].start];
    }
    hb_arena_free(a);
}

syn_program *syn_lower(hb_arena *a, const syn_space *s, const syn_choice *c)
{
    const ir_graph *g = s->g;
    syn_program *p = HB_NEW(a, syn_program);
    lowering l = {.arena = a, .s = s, .c = c, .p = p, .known = hb_map_new(a)};
    p->arena = a;
    p->g = g;
    p->f = s->f;
    p->cluster = s->m->cluster;
    p->mesh = HB_NEW(a, syn_mesh);
    *p->mesh =
        *s->mesh; // cuts are added to the search's mesh later; this program keeps its own list
    p->mesh->cuts.p =
        hb_copy(a, s->mesh->cuts.p, sizeof *s->mesh->cuts.p * (size_t)s->mesh->cuts.n);
    p->mesh->cuts.cap = s->mesh->cuts.n;
    p->loss = -1;
    p->keep_grads = s->opt->keep_grads;
    p->no_put = s->costs->no_put;
    p->dump_after = s->opt->dump_after;
    p->strategy = hb_str_c(a, syn_strategy_name(s->strategy));
    p->home = HB_ARRAY(a, int, g->tensors.n);
    p->grad = HB_ARRAY(a, int, g->tensors.n);
    l.kept = HB_ARRAY(a, int, g->tensors.n);
    l.copy = HB_ARRAY(a, int, g->tensors.n);
    l.state = HB_ARRAY(a, int, g->tensors.n);
    l.gradient = HB_ARRAY(a, int, g->tensors.n);
    l.maker = HB_ARRAY(a, int, g->tensors.n);
    for (int t = 0; t < g->tensors.n; t++)
        p->home[t] = p->grad[t] = l.kept[t] = l.copy[t] = l.gradient[t] = -1;
    for (int k = 0; k < g->grads.n; k += 2)
        l.gradient[g->grads.p[k]] = g->grads.p[k + 1];
    HB_ROOM(a, &p->tensors, 2 * g->tensors.n + 64); // more than most plans take
    HB_ROOM(a, &p->instr, 2 * g->nodes.n + 64);
    declare_homes(&l);
    for (int n = 0; n < g->nodes.n; n++)
        lower_node(&l, n);
    l.turn = g->micro_batches > 1 ? IR_AFTER : IR_BEFORE;
    close_updates(&l);
    if (g->loss >= 0)
        p->loss = convert(&l, l.kept[g->loss], value_state(&l, g->loss), 0, -1,
                          g->tensors.p[g->loss].producer);
    in_turn(p);
    HB_FIT(a, &p->tensors, p->tensors.n + p->tensors.n / 8); // passes add a few
    HB_FIT(a, &p->instr, p->instr.n + p->instr.n / 8);
    syn_place_sym(p);
    return p;
}

double syn_additive(const syn_space *s, const syn_program *p)
{
    double sum = 0;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        if (in->kind == SYN_START)
            sum += s->weight_comm * in->sec[0];
        else
            for (int c = 0; c < p->mesh->n_classes; c++)
                sum += s->weight[c] * in->sec[c];
    }
    return sum;
}
