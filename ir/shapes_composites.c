// Shapes of composites, for the reader: they have no formula, only an expansion (composites.c).

#include "ir/shapes.h"

#include <string.h>

static bool is_float(ir_dtype t)
{
    return t == IR_F32 || t == IR_BF16 || t == IR_F16;
}

// [b, c, p] and four of [c] -> [b, c, p] and the mean and variance kept, [c].
static bool infer_batch_norm(const ir_graph *g, const ir_node *n, ir_tensor *outs, hb_arena *a,
                             hb_str *why)
{
    const ir_tensor *x = &g->tensors.p[n->in[0]];
    if (x->rank != 3 || x->dim[0] * x->dim[2] < 2) {
        *why = hb_fmt(a,
                      "batch_norm: operand 1 is %.*s but must be [batch, channels, places] with at "
                      "least 2 entries a channel",
                      HB_ARG(ir_shape_text(a, x->rank, x->dim)));
        return false;
    }
    for (int i = 1; i < n->n_in; i++) {
        const ir_tensor *w = &g->tensors.p[n->in[i]];
        ir_dtype want = i < 3 ? x->dtype : IR_F32;
        if (w->rank != 1 || w->dim[0] != x->dim[1] || w->dtype != want) {
            *why = hb_fmt(a, "batch_norm: operand %d must be %s [%lld], not %s %.*s", i + 1,
                          ir_dtype_name(want), (long long)x->dim[1], ir_dtype_name(w->dtype),
                          HB_ARG(ir_shape_text(a, w->rank, w->dim)));
            return false;
        }
        if (i >= 3) {
            outs[i - 2].dtype = IR_F32;
            outs[i - 2].rank = 1;
            outs[i - 2].dim[0] = x->dim[1];
        }
    }
    return true;
}

bool ir_infer_composite(const ir_graph *g, const ir_node *n, ir_tensor *out, hb_arena *a,
                        hb_str *why)
{
    const ir_tensor *x = &g->tensors.p[n->in[0]];
    const char *op = ir_op_of(n->op)->name;
    out->dtype = x->dtype;
    out->rank = x->rank;
    memcpy(out->dim, x->dim, sizeof out->dim);
    if (!is_float(x->dtype)) {
        *why = hb_fmt(a, "%s: operand 1 is %s but must be a float", op, ir_dtype_name(x->dtype));
        return false;
    }
    if (n->op == IR_OP_batch_norm) return infer_batch_norm(g, n, out, a, why);
    if (n->op == IR_OP_mean) {
        ir_node sum = *n; // same attributes
        sum.op = IR_OP_sum;
        return ir_infer_view(g, &sum, out, a, why);
    }
    if (x->rank == 0) {
        *why = hb_fmt(a, "%s: works on the last dim, but operand 1 is a scalar", op);
        return false;
    }
    int64_t c = x->dim[x->rank - 1];
    bool is_norm = n->op == IR_OP_layer_norm || n->op == IR_OP_rms_norm;
    for (int i = 1; is_norm && i < n->n_in; i++) {
        const ir_tensor *w = &g->tensors.p[n->in[i]];
        if (w->rank != 1 || w->dim[0] != c || w->dtype != x->dtype) {
            *why = hb_fmt(a, "%s: operand %d must be %s [%lld], not %s %.*s", op, i + 1,
                          ir_dtype_name(x->dtype), (long long)c, ir_dtype_name(w->dtype),
                          HB_ARG(ir_shape_text(a, w->rank, w->dim)));
            return false;
        }
    }
    if (n->op == IR_OP_ce_sum) {
        const ir_tensor *labels = &g->tensors.p[n->in[1]];
        if (labels->dtype != IR_I64 && labels->dtype != IR_I32) {
            *why = hb_fmt(a, "ce_sum: operand 2 is %s but must be i64 or i32",
                          ir_dtype_name(labels->dtype));
            return false;
        }
        if (labels->rank != x->rank - 1 ||
            memcmp(labels->dim, x->dim, sizeof(int64_t) * (size_t)labels->rank) != 0) {
            *why = hb_fmt(a, "ce_sum: labels are %.*s but must be %.*s",
                          HB_ARG(ir_shape_text(a, labels->rank, labels->dim)),
                          HB_ARG(ir_shape_text(a, x->rank - 1, x->dim)));
            return false;
        }
        out->rank = 0;
        out->dtype = IR_F32;
    }
    return true;
}
