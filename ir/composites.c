// Composites: what a graph file says in one word and the ops say in several, because whatever has
// a reduction inside must show it (docs/theory.md 1: the statistic of a cut dim is a partial sum).
//
//     layer_norm  -> row_sum, row_m2, norm_apply
//     rms_norm    -> row_sq, rms_apply
//     batch_norm  -> sum, batch_m2, step_stat of both, batch_apply; the kept mean and variance each
//                    momentum times the batch's, (1 - momentum) times their own
//     softmax     -> row_max, row_expsum, softmax_apply        (log_softmax likewise)
//     ce_sum      -> row_max, row_expsum, target_logit, nll_sum
//     mean        -> sum, scale by 1 / n (n = product of the global sizes: a constant)
//
// An op that makes an output of the composite writes that tensor; the one of output 0 keeps the
// composite's name, the others are NAME.max and so on.

#include "ir/names.h"
#include "ir/shapes.h"

#include <string.h>

// One expansion under way.
typedef struct {
    ir_graph *g;
    ir_names *names;
    const ir_node *n; // the composite
} expansion;

static void inherit(ir_graph *g, int id, const ir_node *from)
{
    ir_node *n = &g->nodes.p[id];
    n->from = from->from;
    n->at = from->at;
    for (int i = 0; i < n->n_out; i++)
        g->tensors.p[n->out[i]].at = from->at;
}

// An op before the last; returns its output tensor.
static int stat(expansion *e, const char *what, ir_op op, int n_in, const int *in,
                const ir_attr *attrs)
{
    hb_str name = ir_names_take(e->names, hb_fmt(e->g->arena, "%.*s.%s", HB_ARG(e->n->name), what));
    int id = ir_add_node(e->g, name, op, IR_FORWARD, n_in, in, attrs);
    inherit(e->g, id, e->n);
    return e->g->nodes.p[id].out[0];
}

// The op that writes output k of the composite.
static void ends(expansion *e, int k, hb_str name, ir_op op, int n_in, const int *in,
                 const ir_attr *attrs)
{
    ir_graph *g = e->g;
    int out = e->n->out[k];
    ir_node n = *e->n;
    n.name = name;
    n.op = op;
    n.n_out = 1;
    n.out[0] = out;
    n.n_in = n_in;
    memcpy(n.in, in, sizeof(int) * (size_t)n_in);
    memset(n.attr, 0, sizeof n.attr);
    for (int i = 0; i < ir_op_of(op)->n_attr; i++)
        n.attr[i] = attrs[i];
    n.forward = g->nodes.n;
    ir_tensor t = {0};
    hb_str why = {0};
    if (!ir_infer(g, &n, &t, g->arena, &why))
        hb_assert(false && "composite expands to a valid row");
    hb_assert(t.rank == g->tensors.p[out].rank && t.dtype == g->tensors.p[out].dtype);
    HB_PUSH(g->arena, &g->nodes, n);
    g->tensors.p[out].producer = g->nodes.n - 1;
    g->tensors.p[out].out = 0;
}

// The last op, of a composite of one output.
static void last(expansion *e, ir_op op, int n_in, const int *in, const ir_attr *attrs)
{
    ends(e, 0, e->n->name, op, n_in, in, attrs);
}

static int scaled(expansion *e, const char *what, int x, double by)
{
    return stat(e, what, IR_OP_scale, 1, &x, &(ir_attr){.kind = IR_ATTR_REAL, .f = by});
}

// What is kept of a statistic of the steps: output k, of operand `kept` and of this batch's `sum`.
static void keep(expansion *e, int k, const char *what, int kept, int sum, double n)
{
    double momentum = e->n->attr[ir_attr_index(IR_OP_batch_norm, "momentum")].f;
    hb_arena *a = e->g->arena;
    int now = stat(e, hb_fmt(a, "%s.sum", what).p, IR_OP_detach, 1, &sum, NULL);
    now = scaled(e, hb_fmt(a, "%s.now", what).p, now, momentum / n);
    int old = scaled(e, hb_fmt(a, "%s.old", what).p, kept, 1 - momentum);
    hb_str name = ir_names_take(e->names, hb_fmt(a, "%.*s.%s", HB_ARG(e->n->name), what));
    ends(e, k, name, IR_OP_add, 2, (int[]){old, now}, NULL);
}

// x, weight, bias, mean and variance kept of the steps so far (of n - 1, as PyTorch keeps it); an
// evaluation reads these in place of the batch's.
static void expand_batch_norm(expansion *e)
{
    const ir_node *n = e->n;
    const ir_tensor x = e->g->tensors.p[n->in[0]];
    double count = (double)x.dim[0] * (double)x.dim[2];
    const ir_attr dims[2] = {{.kind = IR_ATTR_INTS, .n = 2, .v = {0, 2}}, {.kind = IR_ATTR_BOOL}};
    const ir_attr steps = {.kind = IR_ATTR_REAL, .f = 1};
    int in[] = {n->in[0], -1, -1, n->in[1], n->in[2]};
    int sum = stat(e, "sum", IR_OP_sum, 1, in, dims);
    int m2 = stat(e, "m2", IR_OP_batch_m2, 2, (int[]){in[0], sum}, NULL);
    int kept = scaled(e, "kept_sum", n->in[3], count);
    in[1] = stat(e, "step_sum", IR_OP_step_stat, 2, (int[]){sum, kept}, &steps);
    kept = scaled(e, "kept_m2", n->in[4], count);
    in[2] = stat(e, "step_m2", IR_OP_step_stat, 2, (int[]){m2, kept}, &steps);
    ends(e, 0, n->name, IR_OP_batch_apply, 5, in, n->attr);
    keep(e, 1, "mean", n->in[3], sum, count);
    keep(e, 2, "var", n->in[4], m2, count - 1);
}

static void expand_one(expansion *e)
{
    const ir_node *n = e->n;
    const ir_tensor x = e->g->tensors.p[n->in[0]];
    int in[IR_MAX_IN] = {n->in[0]};
    if (n->op == IR_OP_layer_norm) {
        in[1] = stat(e, "sum", IR_OP_row_sum, 1, in, NULL);
        in[2] = stat(e, "m2", IR_OP_row_m2, 2, in, NULL);
        for (int i = 1; i < n->n_in; i++)
            in[2 + i] = n->in[i];
        last(e, IR_OP_norm_apply, n->n_in + 2, in, n->attr);
    } else if (n->op == IR_OP_batch_norm) {
        expand_batch_norm(e);
    } else if (n->op == IR_OP_rms_norm) {
        in[1] = stat(e, "sq", IR_OP_row_sq, 1, in, NULL);
        if (n->n_in > 1) in[2] = n->in[1];
        last(e, IR_OP_rms_apply, n->n_in + 1, in, n->attr);
    } else if (n->op == IR_OP_softmax || n->op == IR_OP_log_softmax) {
        in[1] = stat(e, "max", IR_OP_row_max, 1, in, NULL);
        in[2] = stat(e, "expsum", IR_OP_row_expsum, 2, in, NULL);
        last(e, n->op == IR_OP_softmax ? IR_OP_softmax_apply : IR_OP_log_softmax_apply, 3, in,
             NULL);
    } else if (n->op == IR_OP_ce_sum) {
        int labels = n->in[1];
        int max = stat(e, "max", IR_OP_row_max, 1, in, NULL);
        int expsum = stat(e, "expsum", IR_OP_row_expsum, 2, (int[]){in[0], max}, NULL);
        int target = stat(e, "target", IR_OP_target_logit, 2, n->in, n->attr);
        last(e, IR_OP_nll_sum, 4, (int[]){max, expsum, target, labels}, n->attr);
    } else {
        hb_assert(n->op == IR_OP_mean);
        const ir_attr *dims = &n->attr[ir_attr_index(n->op, "dims")];
        int64_t count = 1;
        for (int i = 0; i < dims->n; i++)
            count *= x.dim[dims->v[i]];
        in[0] = stat(e, "sum", IR_OP_sum, 1, in, n->attr);
        if (e->g->tensors.p[in[0]].dtype != x.dtype) // a sum of bf16 is f32
            in[0] = stat(e, "sum.cast", IR_OP_cast, 1, in,
                         &(ir_attr){.kind = IR_ATTR_DTYPE, .i = (int64_t)x.dtype});
        last(e, IR_OP_scale, 1, in, &(ir_attr){.kind = IR_ATTR_REAL, .f = 1.0 / (double)count});
    }
}

bool ir_expand(ir_graph *g, hb_diag *d)
{
    (void)d; // composites that were read are well-formed
    const ir_node *old = g->nodes.p;
    int n_old = g->nodes.n;
    ir_names *names = ir_names_new(g->arena, g);
    g->nodes.p = NULL;
    g->nodes.n = g->nodes.cap = 0;
    for (int i = 0; i < n_old; i++) {
        if (ir_op_of(old[i].op)->flags & IR_COMPOSITE) {
            expand_one(&(expansion){g, names, &old[i]});
        } else {
            ir_node n = old[i];
            n.forward = g->nodes.n;
            HB_PUSH(g->arena, &g->nodes, n);
            for (int k = 0; k < n.n_out; k++)
                g->tensors.p[n.out[k]].producer = g->nodes.n - 1;
        }
    }
    return true;
}
