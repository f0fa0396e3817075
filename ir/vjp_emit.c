#include "ir/vjp_emit.h"

#include <string.h>

int vjp_emit(ir_back *b, ir_op op, const char *what, int n_in, const int *in, const ir_attr *attrs)
{
    ir_graph *g = b->g;
    hb_str name = ir_names_take(b->names, hb_fmt(g->arena, "%.*s'%s", HB_ARG(b->n.name), what));
    int id = ir_add_node(g, name, op, IR_BACKWARD, n_in, in, attrs);
    ir_node *n = &g->nodes.p[id];
    n->forward = b->node;
    n->from = b->n.from;
    n->at = b->n.at;
    for (int i = 0; i < n->n_out; i++)
        g->tensors.p[n->out[i]].at = b->n.at;
    return n->out[0];
}

int vjp_as(ir_back *b, const char *what, int t, ir_dtype dtype)
{
    if (b->g->tensors.p[t].dtype == dtype) return t;
    return vjp_emit(b, IR_OP_cast, what, 1, &t,
                    &(ir_attr){.kind = IR_ATTR_DTYPE, .i = (int64_t)dtype});
}

bool vjp_wants(const ir_back *b, int operand)
{
    return operand < b->n.n_in && b->needs[b->n.in[operand]];
}

// Sums a gradient over the dims along which its operand was broadcast.
static int fold(ir_back *b, int operand, int t, const char *name)
{
    const ir_tensor x = b->g->tensors.p[b->n.in[operand]], y = b->g->tensors.p[t];
    int lead = y.rank - x.rank;
    hb_assert(lead >= 0);
    ir_attr attr[2] = {{.kind = IR_ATTR_INTS},
                       {.kind = IR_ATTR_BOOL, .i = lead == 0}}; // dims, keepdim
    for (int d = 0; d < y.rank; d++)
        if (d < lead || (x.dim[d - lead] == 1 && y.dim[d] != 1)) attr[0].v[attr[0].n++] = d;
    if (attr[0].n == 0) return t;
    char what[32];
    snprintf(what, sizeof what, "fold%d", operand);
    t = vjp_emit(b, IR_OP_sum, name ? name : what, 1, &t, attr);
    if (b->g->tensors.p[t].rank == x.rank) return t;
    ir_attr shape = {.kind = IR_ATTR_INTS, .n = x.rank};
    memcpy(shape.v, x.dim, sizeof x.dim);
    snprintf(what, sizeof what, "fold%d.shape", operand);
    return vjp_emit(b, IR_OP_reshape, what, 1, &t, &shape);
}

void vjp_give(ir_back *b, int operand, int t)
{
    vjp_give_as(b, operand, t, NULL);
}

void vjp_give_as(ir_back *b, int operand, int t, const char *name)
{
    int x = b->n.in[operand];
    if (!b->needs[x]) return;
    t = fold(b, operand, t, name);
    if (b->grad[x] < 0) {
        b->grad[x] = t;
        return;
    }
    char what[32] = "sum", widen[2][48];
    if (operand > 0) snprintf(what, sizeof what, "sum%d", operand);
    int part[2] = {b->grad[x], t};
    for (int i = 0; i < 2; i++) {
        snprintf(widen[i], sizeof widen[i], "%s.f32_%d", what, i);
        if (b->g->tensors.p[part[1 - i]].dtype == IR_F32)
            part[i] = vjp_as(b, widen[i], part[i], IR_F32);
    }
    b->grad[x] = vjp_emit(b, IR_OP_add, what, 2, part, NULL);
}
