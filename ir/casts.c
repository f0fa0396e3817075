// --precision bf16: inserts the casts that torch.autocast(dtype=bfloat16) would make, on the
// expanded forward pass; autodiff then differentiates casts like any op.
//
//     dense        linear, matmul, sdpa, dispatch, combine: float operands in bf16 (a mask stays as
//                  it is)
//     f32          exp, log, powers, rsqrt, softmax, log-softmax, norms of rows, losses: float
//                  operands in f32
//     agree        add, sub, mul, div, where, concat, comparisons: the widest float among the
//     operands;
//                  a scalar follows the others, as in torch's promotion
//     as it comes  everything else keeps its operand's dtype: lookups, activations, dropout, views,
//                  batch norm (of statistics and parameters in f32)
//
// Rows whose outputs are f32 by the table (sums and the statistics of softmax, losses and norms)
// read bf16 as it is: widening is exact, so a cast before them would change no value. A tensor is
// cast once and the copy shared by all who want it: one compute copy a parameter, made just before
// its first use. Parameters, moments, buffers and the loss stay f32.

#include "ir/names.h"
#include "ir/shapes.h"

#include <string.h>

static const char *const names[IR_N_PRECISIONS] = {"fp32", "tf32", "bf16"};

const char *ir_precision_name(ir_precision p)
{
    return names[p];
}

bool ir_precision_parse(hb_str s, ir_precision *p)
{
    for (int i = 0; i < IR_N_PRECISIONS; i++) {
        if (!hb_str_is(s, names[i])) continue;
        *p = (ir_precision)i;
        return true;
    }
    return false;
}

typedef struct casting {
    ir_graph *g;
    ir_names *names;
    int n_before;           // tensors of the graph before
    int *copy[IR_N_DTYPES]; // of each of them in that dtype; -1 none yet
} casting;

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

static int as_dtype(casting *c, const ir_node *reader, int t, ir_dtype dtype)
{
    ir_graph *g = c->g;
    const ir_tensor x = g->tensors.p[t];
    hb_assert(t < c->n_before);
    if (x.dtype == dtype) return t;
    int *copy = &c->copy[dtype][t];
    if (*copy >= 0) return *copy;
    hb_str want = hb_fmt(g->arena, "%.*s.%s", HB_ARG(x.name), ir_dtype_name(dtype));
    int id = ir_add_node(g, ir_names_take(c->names, want), IR_OP_cast, IR_FORWARD, 1, &t,
                         &(ir_attr){.kind = IR_ATTR_DTYPE, .i = (int64_t)dtype});
    ir_node *n = &g->nodes.p[id];
    n->from = reader->from;
    n->at = reader->at;
    *copy = n->out[0];
    g->tensors.p[*copy].at = reader->at;
    return *copy;
}

// The widest float of the operands that are no scalars, else of all. False: no two floats differ.
static bool common_dtype(const ir_graph *g, const ir_node *n, ir_dtype *common)
{
    bool found = false, differ = false;
    for (int scalars = 0; scalars < 2 && !found; scalars++) {
        for (int i = 0; i < n->n_in; i++) {
            const ir_tensor *t = &g->tensors.p[n->in[i]];
            if (!is_float(t->dtype) || (t->rank == 0 && !scalars)) continue;
            if (!found) *common = t->dtype;
            if (t->dtype != *common) *common = IR_F32; // bf16 with f16 meet in f32, as in torch
            found = true;
        }
    }
    for (int i = 0; i < n->n_in; i++) {
        ir_dtype t = g->tensors.p[n->in[i]].dtype;
        differ = differ || (is_float(t) && t != *common);
    }
    return found && differ;
}

static void cast_operands(casting *c, ir_node *n)
{
    const ir_graph *g = c->g;
    const ir_op_info *info = ir_op_of(n->op);
    bool dense = ir_is_dense(n->op), wide = info->flags & IR_WIDE;
    ir_dtype want = dense ? IR_BF16 : IR_F32;
    if (!dense && !wide && !(strpbrk(info->reads, "FN*") && common_dtype(g, n, &want))) return;
    for (int i = 0; i < n->n_in; i++) {
        bool mask = n->op == IR_OP_sdpa && i == 3;
        if (is_float(g->tensors.p[n->in[i]].dtype) && !mask)
            n->in[i] = as_dtype(c, n, n->in[i], want);
    }
}

// Appends the node with its new operands; its outputs keep their ids and take the inferred dtype.
static bool place(casting *c, ir_node n, hb_diag *d)
{
    ir_graph *g = c->g;
    ir_tensor outs[IR_MAX_OUT] = {0};
    hb_str why = {0};
    cast_operands(c, &n);
    if (!ir_infer(g, &n, outs, g->arena, &why)) {
        hb_error(d, &g->src, n.at, "not supported with --precision bf16: node '%.*s': %.*s",
                 HB_ARG(n.name), HB_ARG(why));
        return false;
    }
    n.forward = g->nodes.n;
    HB_PUSH(g->arena, &g->nodes, n);
    for (int i = 0; i < n.n_out; i++) {
        g->tensors.p[n.out[i]].producer = g->nodes.n - 1;
        g->tensors.p[n.out[i]].dtype = outs[i].dtype;
    }
    return true;
}

bool ir_casts(ir_graph *g, hb_diag *d)
{
    if (g->precision != IR_PRECISION_BF16 || g->nodes.n == 0) return true;
    const ir_node *old = g->nodes.p;
    int n_old = g->nodes.n;
    casting c = {.g = g, .names = ir_names_new(g->arena, g), .n_before = g->tensors.n};
    for (int k = 0; k < IR_N_DTYPES; k++) {
        c.copy[k] = HB_ARRAY(g->arena, int, c.n_before + 1);
        for (int t = 0; t < c.n_before; t++)
            c.copy[k][t] = -1;
    }
    g->nodes.p = NULL;
    g->nodes.n = g->nodes.cap = 0;
    bool good = true;
    for (int i = 0; i < n_old && good; i++)
        good = place(&c, old[i], d);
    if (!good) return false;
    // What outlives the forward pass has the dtype it was declared with.
    const ir_node *end = &old[n_old - 1];
    if (g->loss >= 0) g->loss = as_dtype(&c, end, g->loss, IR_F32);
    for (int i = 0; i < g->updates.n; i++) {
        ir_update *u = &g->updates.p[i];
        ir_dtype want = g->tensors.p[u->tensor].dtype;
        if (is_float(want)) u->next = as_dtype(&c, end, u->next, want);
    }
    return true;
}
