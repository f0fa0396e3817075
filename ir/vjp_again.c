// Two questions: is y in memory anyway, and do its sources take less of it? The sources of y are
// found backwards through element-wise ops: tensors that are smaller than y (statistics of rows,
// biases that repeat), tensors of 16 bits, and what no element-wise op makes.

#include "ir/vjp_again.h"

enum { MOST_AGAIN = 6 }; // ops: those that read y are to find room in the same fusion

typedef struct made {
    int n, node[MOST_AGAIN]; // each behind those that read it
    int64_t bytes;           // of the sources
} made;

static int64_t bytes_of(const ir_graph *g, int t)
{
    return ir_elements(&g->tensors.p[t]) * ir_dtype_bytes(g->tensors.p[t].dtype);
}

static bool is_short(const ir_graph *g, int t)
{
    return g->tensors.p[t].dtype == IR_BF16 || g->tensors.p[t].dtype == IR_F16;
}

static bool is_result(const ir_graph *g, int t)
{
    for (int i = 0; i < g->updates.n; i++)
        if (g->updates.p[i].next == t) return true;
    return g->loss == t;
}

// Forward, t is read by casts to 16 bits alone, of itself or behind dropout.
static bool read_short(const ir_graph *g, int t)
{
    int readers = 0;
    if (is_result(g, t)) return false;
    for (int i = 0; i < g->nodes.n && g->nodes.p[i].phase == IR_FORWARD; i++) {
        const ir_node *n = &g->nodes.p[i];
        for (int k = 0; k < n->n_in; k++) {
            if (n->in[k] != t) continue;
            readers++;
            if (n->op == IR_OP_cast ? !is_short(g, n->out[0])
                                    : n->op != IR_OP_dropout || !read_short(g, n->out[0]))
                return false;
        }
    }
    return readers > 0;
}

static bool is_made(const made *m, int node)
{
    for (int i = 0; i < m->n; i++)
        if (m->node[i] == node) return true;
    return false;
}

// Adds node, and what makes its operands, of tensors of `size` elements.
static bool trace(const ir_graph *g, made *m, int node, int64_t size)
{
    const ir_node *n = &g->nodes.p[node];
    if (m->n == MOST_AGAIN) return false;
    m->node[m->n++] = node;
    for (int k = 0; k < n->n_in; k++) {
        const ir_tensor *x = &g->tensors.p[n->in[k]];
        const ir_op_info *op = x->producer < 0 ? NULL : ir_op_of(g->nodes.p[x->producer].op);
        bool source = ir_elements(x) < size || is_short(g, n->in[k]) || !op ||
                      !(op->flags & IR_EACH) || op->flags & IR_RANDOM;
        if (source)
            m->bytes += op ? bytes_of(g, n->in[k]) : 0; // parameters and inputs stay anyway
        else if (is_made(m, x->producer) || !trace(g, m, x->producer, size))
            return false;
    }
    return true;
}

int vjp_again(ir_back *b, const ir_node *n)
{
    ir_graph *g = b->g;
    const int y = n->out[0];
    made m = {.n = 0};
    if (g->tensors.p[y].dtype != IR_F32 || !read_short(g, y) ||
        !trace(g, &m, b->node, ir_elements(&g->tensors.p[y])) || m.bytes >= bytes_of(g, y))
        return y;
    int again[MOST_AGAIN];
    for (int i = m.n - 1; i >= 0; i--) { // what a node reads has been made, or is a source
        const ir_node old = g->nodes.p[m.node[i]];
        int in[IR_MAX_IN];
        char what[24] = "again";
        for (int k = 0; k < old.n_in; k++) {
            in[k] = old.in[k];
            for (int j = i + 1; j < m.n; j++)
                if (g->nodes.p[m.node[j]].out[0] == old.in[k]) in[k] = again[j];
        }
        if (i > 0) snprintf(what, sizeof what, "again%d", i);
        again[i] = vjp_emit(b, old.op, what, old.n_in, in, old.attr);
    }
    return again[0];
}
