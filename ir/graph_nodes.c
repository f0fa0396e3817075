// The graph as data: making tensors and nodes. What they must satisfy is in verify.c.

#include "ir/graph.h"

#include "ir/shapes.h"

ir_graph *ir_graph_new(hb_arena *a)
{
    ir_op_of(IR_OP_linear); // parses the table
    ir_graph *g = HB_NEW(a, ir_graph);
    g->arena = a;
    g->loss = -1;
    return g;
}

ir_graph *ir_empty_like(hb_arena *a, const ir_graph *g)
{
    ir_graph *out = hb_copy(a, g, sizeof *g);
    out->arena = a;
    out->tensors.p = NULL;
    out->nodes.p = NULL;
    out->updates.p = NULL;
    out->grads.p = NULL;
    out->tensors.n = out->tensors.cap = out->nodes.n = out->nodes.cap = 0;
    out->updates.n = out->updates.cap = out->grads.n = out->grads.cap = 0;
    return out;
}

int ir_add_tensor(ir_graph *g, hb_str name, ir_kind kind, ir_dtype dtype, int rank,
                  const int64_t *dim)
{
    hb_assert(rank >= 0 && rank <= IR_MAX_RANK);
    ir_tensor t = {.name = name, .kind = kind, .dtype = dtype, .rank = rank};
    for (int i = 0; i < rank; i++)
        t.dim[i] = dim[i];
    t.producer = t.out = t.of = -1;
    t.batch = -1;
    HB_PUSH(g->arena, &g->tensors, t);
    return g->tensors.n - 1;
}

int ir_add_node(ir_graph *g, hb_str name, ir_op op, ir_phase phase, int n_in, const int *in,
                const ir_attr *attrs)
{
    const ir_op_info *r = ir_op_of(op);
    int id = g->nodes.n;
    ir_node n = {.name = name, .op = op, .phase = phase, .n_in = n_in};
    n.forward = phase == IR_FORWARD ? id : -1;
    hb_assert(n_in <= IR_MAX_IN);
    for (int i = 0; i < n_in; i++) {
        hb_assert(in[i] >= 0 && in[i] < g->tensors.n);
        n.in[i] = in[i];
    }
    for (int i = 0; i < r->n_attr; i++) {
        n.attr[i] = attrs ? attrs[i] : r->attr[i].value;
        n.attr[i].kind = r->attr[i].kind;
    }
    ir_tensor outs[IR_MAX_OUT] = {0};
    hb_str why = {0};
    if (!ir_infer(g, &n, outs, g->arena, &why)) {
        fprintf(stderr, "node %.*s: %.*s\n", HB_ARG(name), HB_ARG(why));
        hb_assert(false && "operands fit the op");
    }
    n.n_out = ir_node_outs(&n);
    for (int i = 0; i < n.n_out; i++) {
        hb_str out = i ? hb_fmt(g->arena, "%.*s.%d", HB_ARG(name), i) : name;
        int t = ir_add_tensor(g, out, IR_VALUE, outs[i].dtype, outs[i].rank, outs[i].dim);
        g->tensors.p[t].producer = id;
        g->tensors.p[t].out = i;
        n.out[i] = t;
    }
    HB_PUSH(g->arena, &g->nodes, n);
    return id;
}
