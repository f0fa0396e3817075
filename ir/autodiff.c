// Reverse-mode differentiation: walks the forward nodes backwards and lets each op's rule (vjp.c)
// append its gradient nodes. Gradients of a tensor with several consumers are explicit adds,
// emitted right after the consumer that contributed the later part and named after that consumer,
// so that repeated blocks give the same nodes up to their index.

#include "ir/vjp.h"

#include "ir/shapes.h"

#include <string.h>

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

// Which tensors depend on a parameter through differentiable ops.
static bool *find_needs(const ir_graph *g)
{
    bool *needs = HB_ARRAY(g->arena, bool, g->tensors.n);
    for (int t = 0; t < g->tensors.n; t++)
        needs[t] = g->tensors.p[t].kind == IR_PARAM && is_float(g->tensors.p[t].dtype);
    for (int i = 0; i < g->nodes.n; i++) {
        const ir_node *n = &g->nodes.p[i];
        bool any = false;
        for (int k = 0; k < n->n_in; k++)
            any = any || needs[n->in[k]];
        any = any && (ir_vjp_of(n->op) || ir_vjp_is_stat(n->op));
        for (int k = 0; k < n->n_out; k++)
            needs[n->out[k]] = any && is_float(g->tensors.p[n->out[k]].dtype);
    }
    return needs;
}

static bool differentiate_node(ir_back *b, int id)
{
    b->node = id;
    b->n = b->g->nodes.p[id];
    ir_vjp *rule = ir_vjp_of(b->n.op);
    int dy[IR_MAX_OUT];
    bool any = false, wanted = false;
    for (int i = 0; i < b->n.n_out; i++) {
        dy[i] = b->grad[b->n.out[i]];
        any = any || dy[i] >= 0;
    }
    for (int i = 0; i < b->n.n_in; i++)
        wanted = wanted || vjp_wants(b, i);
    if (any && wanted && ir_vjp_is_stat(b->n.op)) { // of a graph file: ours have it in their users'
        hb_error(b->d, &b->g->src, b->n.at, "not supported: the gradient of %s, of '%.*s'",
                 ir_op_of(b->n.op)->name, HB_ARG(b->n.name));
        return false;
    }
    if (!rule || !any || !wanted) return true;
    for (int i = 0; i < b->n.n_out && b->n.op != IR_OP_cast; i++) {
        char what[16];
        snprintf(what, sizeof what, i ? "dy%d" : "dy", i);
        if (dy[i] >= 0) dy[i] = vjp_as(b, what, dy[i], b->g->tensors.p[b->n.out[i]].dtype);
    }
    return rule(b, &b->n, dy);
}

// First forward node that reads each tensor: once it is differentiated, the gradient is complete.
static int *find_first_use(const ir_graph *g)
{
    int *first = HB_ARRAY(g->arena, int, g->tensors.n + 1);
    for (int i = g->nodes.n - 1; i >= 0; i--)
        for (int k = 0; k < g->nodes.p[i].n_in; k++)
            first[g->nodes.p[i].in[k]] = i;
    return first;
}

// --grad-dtype bf16: complete gradients of parameters are rounded before they are reduced.
static void round_gradients(ir_back *b, const int *first_use)
{
    for (int k = 0; k < b->n.n_in && b->g->grad_dtype == IR_BF16; k++) {
        int t = b->n.in[k];
        if (b->g->tensors.p[t].kind != IR_PARAM || first_use[t] != b->node || b->grad[t] < 0)
            continue;
        char what[32];
        snprintf(what, sizeof what, k ? "grad%d" : "grad", k);
        b->grad[t] = vjp_as(b, what, b->grad[t], IR_BF16);
    }
}

bool ir_autodiff(ir_graph *g, hb_diag *d)
{
    if (g->loss < 0) return true;
    const ir_tensor loss = g->tensors.p[g->loss];
    ir_back b = {.g = g, .d = d, .names = ir_names_new(g->arena, g), .n_forward = g->tensors.n};
    b.needs = find_needs(g);
    if (!b.needs[g->loss]) {
        hb_error(d, &g->src, loss.at, "the loss '%.*s' depends on no parameter", HB_ARG(loss.name));
        return false;
    }
    hb_assert(loss.rank == 0 && loss.producer >= 0);
    b.grad = HB_ARRAY(g->arena, int, b.n_forward);
    for (int t = 0; t < b.n_forward; t++)
        b.grad[t] = -1;
    int n_nodes = g->nodes.n;
    const int *first_use = find_first_use(g);
    b.node = loss.producer;
    b.n = g->nodes.p[b.node];
    ir_attr seed[3] = {{.kind = IR_ATTR_INTS},
                       {.kind = IR_ATTR_REAL, .f = 1},
                       {.kind = IR_ATTR_DTYPE, .i = loss.dtype}};
    b.grad[g->loss] = vjp_emit(&b, IR_OP_full, "seed", 0, NULL, seed);
    bool good = true;
    for (int id = n_nodes - 1; id >= 0; id--) {
        good = differentiate_node(&b, id) && good;
        round_gradients(&b, first_use);
    }
    for (int t = 0; t < b.n_forward; t++) {
        if (g->tensors.p[t].kind == IR_PARAM && b.grad[t] >= 0) {
            HB_PUSH(g->arena, &g->grads, t);
            HB_PUSH(g->arena, &g->grads, b.grad[t]);
        }
    }
    return good;
}
