// A step whose micro-batches stand one after the other: what a slot means. The certificate compares
// programs with it.

#include <string.h>

#include "ir/names.h"
#include "ir/variant.h"

typedef struct unrolling {
    const ir_graph *g;
    ir_graph *out;
    ir_names *names;
    int *tensor, *node; // of g: of out, the latest; -1
    HB_VEC(int) from;   // by node of out: of g
    HB_VEC(int) value;  // by tensor of out: of g
    int n;              // micro-batches
} unrolling;

ir_attr ir_slot_attr(const ir_node *n, int k, int i)
{
    ir_attr x = n->attr[k];
    const char *name = ir_op_of(n->op)->attr[k].name;
    bool moves = n->op == IR_OP_slice ? k > 0 : strcmp(name, "first") == 0;
    if (n->step != 0 && moves) x.i += i * n->step;
    return x;
}

static void leaves(unrolling *u)
{
    for (int t = 0; t < u->g->tensors.n; t++) {
        ir_tensor x = u->g->tensors.p[t];
        u->tensor[t] = -1;
        if (x.kind == IR_VALUE) continue;
        if (x.of >= 0) x.of = u->tensor[x.of];
        u->tensor[t] = u->out->tensors.n;
        HB_PUSH(u->out->arena, &u->value, t);
        HB_PUSH(u->out->arena, &u->out->tensors, x);
    }
}

// Slot i of a node; -1: of one that stands outside.
static void take(unrolling *u, int node, int i)
{
    ir_node n = u->g->nodes.p[node];
    ir_graph *out = u->out;
    int id = out->nodes.n, zero = n.adds ? n.in[0] : -1;
    bool marked = i >= 0 && !(n.adds && i == u->n - 1); // a total has its own name
    for (int k = 0; k < n.n_in; k++)
        n.in[k] = u->tensor[n.in[k]];
    for (int k = 0; k < ir_op_of(n.op)->n_attr && i > 0; k++)
        n.attr[k] = ir_slot_attr(&u->g->nodes.p[node], k, i);
    if (marked) n.name = ir_names_take(u->names, hb_fmt(out->arena, "%.*s#%d", HB_ARG(n.name), i));
    n.forward = n.phase == IR_FORWARD ? id : n.phase == IR_UPDATE ? -1 : u->node[n.forward];
    HB_PUSH(out->arena, &u->from, node);
    n.turn = IR_BEFORE;
    n.adds = false;
    n.step = 0;
    u->node[node] = id;
    for (int o = 0; o < n.n_out; o++) {
        ir_tensor x = u->g->tensors.p[n.out[o]];
        x.producer = id;
        if (marked && hb_str_eq(x.name, u->g->nodes.p[node].name))
            x.name = n.name;
        else if (marked)
            x.name = ir_names_take(u->names, hb_fmt(out->arena, "%.*s#%d", HB_ARG(x.name), i));
        u->tensor[n.out[o]] = out->tensors.n;
        HB_PUSH(out->arena, &u->value, n.out[o]);
        n.out[o] = out->tensors.n;
        HB_PUSH(out->arena, &out->tensors, x);
    }
    if (zero >= 0) u->tensor[zero] = n.out[0]; // the next slot goes on from here
    HB_PUSH(out->arena, &out->nodes, n);
}

static void links(unrolling *u)
{
    const ir_graph *g = u->g;
    ir_graph *out = u->out;
    for (int k = 0; k < out->nodes.n; k++) // some stand before what they differentiate
        if (out->nodes.p[k].phase == IR_BACKWARD && out->nodes.p[k].forward < 0)
            out->nodes.p[k].forward = u->node[g->nodes.p[u->from.p[k]].forward];
    if (g->loss >= 0) out->loss = u->tensor[g->loss];
    for (int i = 0; i < g->updates.n; i++)
        HB_PUSH(out->arena, &out->updates,
                (ir_update){u->tensor[g->updates.p[i].tensor], u->tensor[g->updates.p[i].next]});
    for (int i = 0; i < g->grads.n; i++)
        HB_PUSH(out->arena, &out->grads, u->tensor[g->grads.p[i]]);
    out->alias = hb_copy(out->arena, g->alias, sizeof *g->alias * (size_t)g->n_alias);
    for (int i = 0; i < g->n_alias; i++)
        out->alias[i].tensor = u->tensor[g->alias[i].tensor];
}

static unrolling unroll(hb_arena *a, const ir_graph *g, int n)
{
    hb_assert(g->micro_batches > 1 && n >= 1);
    ir_graph *out = ir_empty_like(a, g);
    unrolling u = {.g = g, .out = out, .names = ir_names_new(a, g), .n = n};
    out->micro_batches = 1;
    u.tensor = HB_ARRAY(a, int, g->tensors.n + 1);
    u.node = HB_ARRAY(a, int, g->nodes.n + 1);
    memset(u.node, -1, sizeof *u.node * (size_t)(g->nodes.n + 1));
    leaves(&u);
    int first = 0, end = 0, all = g->nodes.n;
    while (first < all && g->nodes.p[first].turn == IR_BEFORE)
        first++;
    for (end = first; end < all && ir_in_slot(g->nodes.p[end].turn);)
        end++;
    for (int k = 0; k < first; k++)
        take(&u, k, -1);
    for (int i = 0; i < n; i++)
        for (int k = first; k < end; k++)
            take(&u, k, i);
    for (int k = end; k < all; k++)
        take(&u, k, -1);
    links(&u);
    return u;
}

ir_graph *ir_unroll(hb_arena *a, const ir_graph *g, int n)
{
    return unroll(a, g, n).out;
}

ir_graph *ir_unroll_factors(hb_arena *a, const ir_graph *g, int n, const ir_factors **f)
{
    unrolling u = unroll(a, g, n);
    ir_factors *new = hb_copy(a, *f, sizeof **f);
    new->dim = hb_alloc(a, sizeof *new->dim *(size_t)(u.out->tensors.n + 1));
    new->rule = hb_alloc(a, sizeof(ir_rule *) * (size_t)(u.out->nodes.n + 1));
    new->joined = HB_ARRAY(a, bool, u.out->nodes.n + 1);
    for (int t = 0; t < u.out->tensors.n; t++)
        memcpy(new->dim[t], (*f)->dim[u.value.p[t]], sizeof new->dim[t]);
    for (int k = 0; k < u.out->nodes.n; k++) {
        new->rule[k] = (*f)->rule[u.from.p[k]];
        new->joined[k] = (*f)->joined[u.from.p[k]];
    }
    *f = new;
    return u.out;
}
