// Checks the invariants that graph.h states. A violation is a bug of hapc, not of the user's: the
// reader has its own located errors.

#include "ir/graph.h"

#include "ir/shapes.h"

#include <string.h>

#define WRONG(...) return *why = hb_fmt(g->arena, __VA_ARGS__), false

static bool tensor_id(const ir_graph *g, int t)
{
    return t >= 0 && t < g->tensors.n;
}

static bool same_form(const ir_tensor *a, const ir_tensor *b)
{
    return a->dtype == b->dtype && a->rank == b->rank &&
           memcmp(a->dim, b->dim, sizeof(int64_t) * (size_t)a->rank) == 0;
}

static bool verify_tensor(const ir_graph *g, int id, hb_map *names, hb_str *why)
{
    const ir_tensor *t = &g->tensors.p[id];
    if (t->name.n == 0 || hb_map_get(names, t->name) >= 0)
        WRONG("tensor %d: name '%.*s' is empty or not unique", id, HB_ARG(t->name));
    hb_map_put(names, t->name, id);
    if (t->rank < 0 || t->rank > IR_MAX_RANK)
        WRONG("tensor %.*s: rank %d", HB_ARG(t->name), t->rank);
    for (int i = 0; i < t->rank; i++)
        if (t->dim[i] < 1)
            WRONG("tensor %.*s: dim %d is %lld", HB_ARG(t->name), i, (long long)t->dim[i]);
    if ((t->kind == IR_VALUE) != (t->producer >= 0))
        WRONG("tensor %.*s: only computed tensors have a producer", HB_ARG(t->name));
    if (t->producer >= 0) {
        if (t->producer >= g->nodes.n)
            WRONG("tensor %.*s: producer %d", HB_ARG(t->name), t->producer);
        const ir_node *n = &g->nodes.p[t->producer];
        if (t->out < 0 || t->out >= n->n_out || n->out[t->out] != id)
            WRONG("tensor %.*s is not output %d of its producer", HB_ARG(t->name), t->out);
    }
    if (t->kind == IR_INPUT && t->batch >= t->rank)
        WRONG("input %.*s: batch dim %d", HB_ARG(t->name), t->batch);
    if ((t->kind == IR_STATE) != (t->of >= 0))
        WRONG("tensor %.*s: only states belong to a parameter", HB_ARG(t->name));
    if (t->of >= 0) {
        if (!tensor_id(g, t->of) || g->tensors.p[t->of].kind != IR_PARAM)
            WRONG("state %.*s belongs to no parameter", HB_ARG(t->name));
    }
    return true;
}

// What a slot makes, the next one makes anew, but for sums: nothing else is read behind the slots.
static bool verify_turn(const ir_graph *g, const ir_node *n, hb_str *why)
{
    for (int i = 0; i < n->n_in; i++) {
        int p = g->tensors.p[n->in[i]].producer;
        const ir_node *of = p >= 0 ? &g->nodes.p[p] : NULL;
        if (n->turn == IR_AFTER && of && ir_in_slot(of->turn) && !of->adds)
            WRONG("node %.*s reads '%.*s' of one micro-batch behind them", HB_ARG(n->name),
                  HB_ARG(g->tensors.p[n->in[i]].name));
        if (ir_in_slot(n->turn) && of && of->adds)
            WRONG("node %.*s reads '%.*s' before the last micro-batch", HB_ARG(n->name),
                  HB_ARG(g->tensors.p[n->in[i]].name));
    }
    if (n->adds &&
        (!ir_in_slot(n->turn) || n->op != IR_OP_add || g->tensors.p[n->in[0]].producer < 0 ||
         g->nodes.p[g->tensors.p[n->in[0]].producer].op != IR_OP_full))
        WRONG("node %.*s adds up nothing that begins with zero", HB_ARG(n->name));
    if (n->step != 0 && !ir_in_slot(n->turn)) WRONG("node %.*s: a step outside", HB_ARG(n->name));
    return true;
}

static bool verify_node(const ir_graph *g, int id, hb_str *why)
{
    const ir_node *n = &g->nodes.p[id];
    if ((int)n->op < 0 || n->op >= IR_N_ALL_OPS || (int)n->op == IR_N_OPS)
        WRONG("node %.*s: op %d", HB_ARG(n->name), (int)n->op);
    const ir_op_info *r = ir_op_of(n->op);
    if (n->n_in < r->min_in || n->n_in > r->max_in)
        WRONG("node %.*s: %d operands", HB_ARG(n->name), n->n_in);
    for (int i = 0; i < n->n_in; i++) {
        if (!tensor_id(g, n->in[i]))
            WRONG("node %.*s: operand %d is no tensor", HB_ARG(n->name), i + 1);
        if (g->tensors.p[n->in[i]].producer >= id)
            WRONG("node %.*s reads '%.*s' before it is produced", HB_ARG(n->name),
                  HB_ARG(g->tensors.p[n->in[i]].name));
    }
    for (int i = 0; i < r->n_attr; i++)
        if (n->attr[i].kind != r->attr[i].kind)
            WRONG("node %.*s: attribute %s has the wrong kind", HB_ARG(n->name), r->attr[i].name);
    if (n->n_out != ir_node_outs(n)) WRONG("node %.*s: %d outputs", HB_ARG(n->name), n->n_out);
    ir_tensor outs[IR_MAX_OUT] = {0};
    hb_str reason = {0};
    if (!ir_infer(g, n, outs, g->arena, &reason))
        WRONG("node %.*s: %.*s", HB_ARG(n->name), HB_ARG(reason));
    for (int i = 0; i < n->n_out; i++) {
        if (!tensor_id(g, n->out[i]) || g->tensors.p[n->out[i]].producer != id)
            WRONG("node %.*s: output %d is not produced by it", HB_ARG(n->name), i + 1);
        if (!same_form(&g->tensors.p[n->out[i]], &outs[i]))
            WRONG("node %.*s: output %d has not the inferred shape or dtype", HB_ARG(n->name),
                  i + 1);
    }
    ir_phase before = id > 0 ? g->nodes.p[id - 1].phase : IR_FORWARD;
    ir_turn turn = id > 0 ? g->nodes.p[id - 1].turn : IR_BEFORE;
    if (n->phase < before && (before == IR_UPDATE || g->micro_batches == 0))
        WRONG("node %.*s: forward, backward, update must follow each other", HB_ARG(n->name));
    if (n->turn < turn || (n->turn != IR_BEFORE && g->micro_batches < 2))
        WRONG("node %.*s: before, slot and after must follow each other", HB_ARG(n->name));
    if (!verify_turn(g, n, why)) return false;
    if (n->phase == IR_FORWARD  ? n->forward != id
        : n->phase == IR_UPDATE ? n->forward != -1
                                : false)
        WRONG("node %.*s: forward = %d", HB_ARG(n->name), n->forward);
    if (n->phase == IR_BACKWARD &&
        (n->forward < 0 || n->forward >= g->nodes.n || g->nodes.p[n->forward].phase != IR_FORWARD))
        WRONG("node %.*s: differentiates no forward node", HB_ARG(n->name));
    if (n->again && (n->phase != IR_BACKWARD || n->op != g->nodes.p[n->forward].op))
        WRONG("node %.*s: computes nothing again", HB_ARG(n->name));
    return true;
}

static bool verify_updates(const ir_graph *g, hb_str *why)
{
    bool *seen = HB_ARRAY(g->arena, bool, g->tensors.n + 1);
    for (int i = 0; i < g->updates.n; i++) {
        const ir_update *u = &g->updates.p[i];
        if (!tensor_id(g, u->tensor) || !tensor_id(g, u->next))
            WRONG("update %d names no tensor", i);
        const ir_tensor *t = &g->tensors.p[u->tensor], *next = &g->tensors.p[u->next];
        if (t->kind != IR_PARAM && t->kind != IR_STATE && t->kind != IR_BUFFER)
            WRONG("update of '%.*s', which is not carried by the step", HB_ARG(t->name));
        if (seen[u->tensor]) WRONG("'%.*s' is updated twice", HB_ARG(t->name));
        seen[u->tensor] = true;
        if (!same_form(t, next))
            WRONG("update of '%.*s' by '%.*s' of another shape or dtype", HB_ARG(t->name),
                  HB_ARG(next->name));
    }
    for (int i = 0; i + 1 < g->grads.n; i += 2) {
        if (!tensor_id(g, g->grads.p[i]) || !tensor_id(g, g->grads.p[i + 1]))
            WRONG("gradient %d names no tensor", i / 2);
        ir_tensor grad = g->tensors.p[g->grads.p[i + 1]];
        if (g->grad_dtype == IR_BF16 && grad.dtype == IR_BF16) grad.dtype = IR_F32;
        if (!same_form(&g->tensors.p[g->grads.p[i]], &grad))
            WRONG("gradient %d has not its parameter's shape or dtype", i / 2);
    }
    return true;
}

bool ir_verify(const ir_graph *g, hb_str *why)
{
    hb_map *tensors = hb_map_new(g->arena), *nodes = hb_map_new(g->arena);
    for (int i = 0; i < g->tensors.n; i++)
        if (!verify_tensor(g, i, tensors, why)) return false;
    for (int i = 0; i < g->nodes.n; i++) {
        hb_str name = g->nodes.p[i].name;
        if (name.n == 0 || hb_map_get(nodes, name) >= 0)
            WRONG("node %d: name '%.*s' is empty or not unique", i, HB_ARG(name));
        hb_map_put(nodes, name, i);
        if (!verify_node(g, i, why)) return false;
    }
    if (g->loss >= 0 && (!tensor_id(g, g->loss) || g->tensors.p[g->loss].rank != 0))
        WRONG("the loss is no scalar");
    for (int i = 0; i < g->n_alias; i++)
        if (!tensor_id(g, g->alias[i].tensor))
            WRONG("alias '%.*s' names no tensor", HB_ARG(g->alias[i].name));
    return verify_updates(g, why);
}
