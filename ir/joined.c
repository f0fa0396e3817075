// Which ops cost a GPU next to nothing because a neighbour's kernel does their work, as far as the
// graph alone tells. What is joined stands in runtime/hap/joins.def; joins_<role> is the condition
// of the graph. An op's role stands in ops.def.

#include "ir/factors.h"
#include "ir/runtime_limits.h"

typedef struct graph {
    const ir_graph *g;
    int *readers; // by tensor: how many; *reader: the last of them
    int *reader;
    bool *loss; // by tensor: a cross entropy's gradient is made from it
} graph;

static const ir_node *maker(const graph *x, int tensor)
{
    int p = x->g->tensors.p[tensor].producer;
    return p < 0 ? NULL : &x->g->nodes.p[p];
}

static bool is(const ir_node *n, ir_role role)
{
    return n && ir_op_of(n->op)->role == role;
}

static bool is_attention(const ir_node *n)
{
    return is(n, IR_ROLE_attention) || is(n, IR_ROLE_attention_bwd);
}

static bool is_reshape(const ir_node *n)
{
    return n && ir_op_of(n->op)->flags & IR_ZERO_COPY;
}

// A gradient whose rows need all of their columns.
static bool is_norm(const ir_node *n)
{
    return is(n, IR_ROLE_gradient) && ir_op_of(n->op)->flags & IR_ROWS;
}

static bool swaps_heads(const ir_node *n)
{
    const ir_attr *p = &n->attr[0];
    return is(n, IR_ROLE_heads) && p->n == 4 && p->v[0] == 0 && p->v[1] == 2 && p->v[2] == 1 &&
           p->v[3] == 3;
}

static bool last_dim(const graph *x, const ir_node *n, int tensor)
{
    int64_t rank = x->g->tensors.p[tensor].rank, dim = n->attr[0].i;
    return (dim < 0 ? dim + rank : dim) == rank - 1;
}

// Whether a kernel holds a row of the norm whose gradient this is.
static bool holds_row(const graph *x, const ir_node *norm)
{
    const ir_tensor *t = &x->g->tensors.p[norm->in[0]];
    int64_t cols = t->dim[t->rank - 1];
    return cols <= IR_CUDA_NORM_COLUMNS && cols % IR_CUDA_NORM_VECTOR == 0;
}

// A gradient whose kernel also sums its columns: of an activation, or of a norm with what is added
// to it.
static bool sums_columns(const graph *x, int tensor)
{
    const ir_node *n = maker(x, tensor);
    while (is(n, IR_ROLE_copy) || is_reshape(n))
        n = maker(x, n->in[0]);
    for (int i = 0; is(n, IR_ROLE_total) && i < 2; i++) {
        const ir_node *part = maker(x, n->in[i]);
        if (is_norm(part)) return holds_row(x, part);
    }
    return is(n, IR_ROLE_gradient) && (!is_norm(n) || holds_row(x, n));
}

// A concat's operand that attention may write: its heads, transposed and reshaped.
static bool from_attention(const graph *x, int tensor)
{
    const ir_node *n = maker(x, tensor);
    if (is_reshape(n)) n = maker(x, n->in[0]);
    return n && swaps_heads(n) && is_attention(maker(x, n->in[0]));
}

// A matmul, or a sum of matmuls, that is read once: what is added to another of its kind.
static bool is_summand(const graph *x, int tensor)
{
    const ir_node *n = maker(x, tensor);
    if (!n || x->readers[tensor] != 1) return false;
    if (is(n, IR_ROLE_total)) return is_summand(x, n->in[0]) && is_summand(x, n->in[1]);
    return is(n, IR_ROLE_matmul) && n->n_in == 2;
}

static bool adds_lookup(const graph *x, int tensor)
{
    return is(maker(x, tensor), IR_ROLE_scatter) && x->readers[tensor] == 1;
}

static bool is_short(ir_dtype t)
{
    return t == IR_BF16 || t == IR_F16;
}

static bool is_square(const graph *x, int tensor)
{
    return is(maker(x, tensor), IR_ROLE_square);
}

static const ir_node *maker_of_first(const graph *x, const ir_node *n)
{
    return n->n_in > 0 ? maker(x, n->in[0]) : NULL;
}

// --- by role ---

static bool joins_heads(const graph *x, const ir_node *n)
{
    if (!swaps_heads(n)) return false;
    if (is_attention(maker_of_first(x, n))) return true;
    return x->readers[n->out[0]] > 0 && is_attention(&x->g->nodes.p[x->reader[n->out[0]]]);
}

static bool joins_parts(const graph *x, const ir_node *n)
{
    return is(maker_of_first(x, n), IR_ROLE_matmul) && x->readers[n->in[0]] == 1 &&
           last_dim(x, n, n->in[0]);
}

static bool joins_packs(const graph *x, const ir_node *n)
{
    for (int i = 0; i < n->n_in; i++)
        if (!from_attention(x, n->in[i])) return false;
    return last_dim(x, n, n->out[0]);
}

static bool joins_square(const graph *x, const ir_node *n)
{
    (void)x, (void)n;
    return true;
}

static bool joins_copy(const graph *x, const ir_node *n)
{
    const ir_tensor *from = &x->g->tensors.p[n->in[0]];
    return from->kind == IR_PARAM && from->dtype == IR_F32 &&
           is_short(x->g->tensors.p[n->out[0]].dtype);
}

static bool joins_total(const graph *x, const ir_node *n)
{
    return is_square(x, n->in[0]) || is_square(x, n->in[1]) ||
           (is_summand(x, n->in[0]) && is_summand(x, n->in[1])) || adds_lookup(x, n->in[0]) ||
           adds_lookup(x, n->in[1]);
}

static bool joins_columns(const graph *x, const ir_node *n)
{
    const ir_graph *g = x->g;
    return g->tensors.p[n->out[0]].rank == 1 && n->attr[0].n == g->tensors.p[n->in[0]].rank - 1 &&
           sums_columns(x, n->in[0]);
}

static bool joins_parameters(const graph *x, const ir_node *n)
{
    return holds_row(x, n);
}

static bool joins_logits(const graph *x, const ir_node *n)
{
    return x->loss[n->in[0]];
}

static bool joins(const graph *x, const ir_node *n)
{
    switch ((int)ir_op_of(n->op)->role) {
#define HAP_JOIN(role, plan, left)                                                                 \
    case IR_ROLE_##role:                                                                           \
        return joins_##role(x, n);
#include "runtime/hap/joins.def"
    default:
        return false;
    }
}

bool *ir_joined(hb_arena *a, const ir_graph *g)
{
    graph x = {g, HB_ARRAY(a, int, g->tensors.n), HB_ARRAY(a, int, g->tensors.n),
               HB_ARRAY(a, bool, g->tensors.n)};
    bool *joined = HB_ARRAY(a, bool, g->nodes.n);
    for (int i = 0; i < g->nodes.n; i++)
        for (int k = 0; k < g->nodes.p[i].n_in; k++) {
            x.readers[g->nodes.p[i].in[k]]++;
            x.reader[g->nodes.p[i].in[k]] = i;
            if (k == 0 && is(&g->nodes.p[i], IR_ROLE_loss)) x.loss[g->nodes.p[i].in[k]] = true;
        }
    for (int i = 0; i < g->nodes.n; i++)
        joined[i] = joins(&x, &g->nodes.p[i]);
    return joined;
}
