#include "emit/op_text.h"

#include <string.h>

// '%' stands for the attribute named behind it, up to the next non-letter.
static const char *const text[IR_N_OPS] = {
    [IR_OP_linear] = "y = a b[ + c]",
    [IR_OP_linear_dw] = "y = sum rows a' b",
    [IR_OP_matmul] = "y = a b",
    [IR_OP_sdpa] = "y = softmax(a b') c",
    [IR_OP_sdpa_bwd] = "y, y1, y2 = dq, dk, dv",
    [IR_OP_embedding] = "y = a[b]",
    [IR_OP_embedding_bwd] = "y[b] += a",
    [IR_OP_add] = "y = a + b",
    [IR_OP_sub] = "y = a - b",
    [IR_OP_mul] = "y = a b",
    [IR_OP_div] = "y = a / b",
    [IR_OP_where] = "y = a ? b : c",
    [IR_OP_eq] = "y = a == b",
    [IR_OP_ne] = "y = a != b",
    [IR_OP_lt] = "y = a < b",
    [IR_OP_le] = "y = a <= b",
    [IR_OP_gt] = "y = a > b",
    [IR_OP_ge] = "y = a >= b",
    [IR_OP_logical_and] = "y = a && b",
    [IR_OP_logical_or] = "y = a || b",
    [IR_OP_logical_not] = "y = !x",
    [IR_OP_cast] = "y = x",
    [IR_OP_neg] = "y = -x",
    [IR_OP_scale] = "y = %c x",
    [IR_OP_add_scalar] = "y = x + %c",
    [IR_OP_pow_scalar] = "y = x^%c",
    [IR_OP_exp] = "y = exp x",
    [IR_OP_log] = "y = log x",
    [IR_OP_sqrt] = "y = sqrt x",
    [IR_OP_rsqrt] = "y = 1 / sqrt x",
    [IR_OP_tanh] = "y = tanh x",
    [IR_OP_tanh_bwd] = "y = a (1 - b^2)",
    [IR_OP_sigmoid] = "y = sigmoid x",
    [IR_OP_sigmoid_bwd] = "y = a b (1 - b)",
    [IR_OP_relu] = "y = max(x, 0)",
    [IR_OP_relu_bwd] = "y = b > 0 ? a : 0",
    [IR_OP_gelu] = "y = gelu x",
    [IR_OP_gelu_bwd] = "y = a gelu'(b)",
    [IR_OP_silu] = "y = silu x",
    [IR_OP_silu_bwd] = "y = a silu'(b)",
    [IR_OP_dropout] = "y = dropout x",
    [IR_OP_sum] = "y = sum x",
    [IR_OP_row_sum] = "y = sum x",
    [IR_OP_row_max] = "y = max x",
    [IR_OP_row_m2] = "y = sum (a - mean)^2",
    [IR_OP_row_expsum] = "y = sum exp(a - b)",
    [IR_OP_row_dot] = "y = sum a b",
    [IR_OP_softmax_apply] = "y = exp(a - b) / c",
    [IR_OP_softmax_bwd] = "y = b (a - c)",
    [IR_OP_log_softmax_apply] = "y = a - b - log c",
    [IR_OP_log_softmax_bwd] = "y = a - c exp b",
    [IR_OP_target_logit] = "y = a[label]",
    [IR_OP_nll_sum] = "y = sum a + log b - c",
    [IR_OP_count] = "y = count x",
    [IR_OP_ce_bwd] = "y = e (softmax - 1[label])",
    [IR_OP_norm_apply] = "y = (a - mean) rstd[ d][ + e]",
    [IR_OP_norm_bwd_stats] = "y, y1 = sum u, sum u xhat",
    [IR_OP_norm_bwd] = "y = dx of the norm",
    [IR_OP_norm_bwd_params] = "y, y1 = dweight, dbias",
    [IR_OP_top_gates] = "y = top %k of x over their sum",
    [IR_OP_top_gates_bwd] = "y = dx of the gates",
    [IR_OP_expert_slots] = "y = x by slot",
    [IR_OP_expert_slots_bwd] = "y = sum a by slot",
    [IR_OP_dispatch] = "y = a' b by expert",
    [IR_OP_combine] = "y = sum experts a b",
    [IR_OP_dispatch_dw] = "y = a b' by expert",
    [IR_OP_reshape] = "y = x",
    [IR_OP_transpose] = "y = x'",
    [IR_OP_split] = "ys = parts of x",
    [IR_OP_concat] = "y = xs",
    [IR_OP_slice] = "y = part of x",
    [IR_OP_pad] = "y = x, padded",
    [IR_OP_expand] = "y = x, repeated",
    [IR_OP_full] = "y = %value",
    [IR_OP_sgd] = "a -= lr b",
    [IR_OP_momentum] = "a -= lr (b = %mu b + c)",
    [IR_OP_adam] = "a -= lr b / sqrt c",
    [IR_OP_sumsq] = "y = sum x^2",
    [IR_OP_clip_scale] = "y = min(1, %max_norm / sqrt x)",
};

hb_str emit_op_formula(hb_arena *a, const ir_node *n)
{
    hb_buf b = {.arena = a};
    const char *p = text[n->op];
    hb_assert(p);
    if (n->op == IR_OP_linear && n->attr[0].i == 1) p = "y = a b'[ + c]";
    if (n->op == IR_OP_matmul && n->attr[0].i == 1) p = "y = a b'";
    if (n->op == IR_OP_matmul && n->attr[0].i == 2) p = "y = a' b";
    bool skip = false;
    for (; *p; p++) {
        if (*p == '[' && (p[1] == ' ')) { // "[ + c]": the letter before ']' says which operand
            const char *end = strchr(p, ']');
            skip = end[-1] - 'a' >= n->n_in;
        } else if (*p == ']' && p[-1] >= 'a' && p[-1] <= 'z' && strchr("cde", p[-1]) &&
                   (p[-2] == ' ')) {
            skip = false;
        } else if (skip) {
            continue;
        } else if (*p == '%') {
            char name[32];
            size_t k = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");
            hb_assert(k < sizeof name);
            memcpy(name, p + 1, k);
            name[k] = 0;
            const ir_attr *v = &n->attr[ir_attr_index(n->op, name)];
            hb_printf(&b, "%.4g", v->kind == IR_ATTR_REAL ? v->f : (double)v->i);
            p += k;
        } else {
            hb_putc(&b, *p);
        }
    }
    return hb_done(&b);
}
