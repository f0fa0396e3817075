// The op_ functions of hap/ops.h: each packs its arguments and hands them to the backend.
// Generated from ir/ops.def by opsgen; do not edit.

#include "core/runtime_core.h"

const char *const hap_op_names[] = {
    "linear",
    "linear_dw",
    "matmul",
    "sdpa",
    "sdpa_bwd",
    "embedding",
    "embedding_bwd",
    "add",
    "sub",
    "mul",
    "div",
    "where",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge",
    "logical_and",
    "logical_or",
    "logical_not",
    "cast",
    "neg",
    "scale",
    "add_scalar",
    "pow_scalar",
    "exp",
    "log",
    "sqrt",
    "rsqrt",
    "tanh",
    "tanh_bwd",
    "sigmoid",
    "sigmoid_bwd",
    "relu",
    "relu_bwd",
    "gelu",
    "gelu_bwd",
    "silu",
    "silu_bwd",
    "dropout",
    "sum",
    "row_sum",
    "row_max",
    "row_m2",
    "row_expsum",
    "row_dot",
    "softmax_apply",
    "softmax_bwd",
    "log_softmax_apply",
    "log_softmax_bwd",
    "target_logit",
    "nll_sum",
    "count",
    "ce_bwd",
    "norm_apply",
    "norm_bwd_stats",
    "norm_bwd",
    "norm_bwd_params",
    "top_gates",
    "top_gates_bwd",
    "expert_slots",
    "expert_slots_bwd",
    "dispatch",
    "combine",
    "dispatch_dw",
    "reshape",
    "transpose",
    "split",
    "concat",
    "slice",
    "pad",
    "expand",
    "full",
    "sgd",
    "momentum",
    "adam",
    "sumsq",
    "clip_scale",
};

// Bit a: with a as first attribute (0: it has none), rows of the first operand become
// rows of the output one by one, given a matrix as second operand.
const unsigned hap_op_by_rows[HAP_N_OPS] = {
    [HAP_OP_linear] = 3,
    [HAP_OP_matmul] = 3,
};

// Absent operands at the end do not count.
static void call(hap_rank *r, hap_op_call *c)
{
    while (c->n_in > 0 && !c->in[c->n_in - 1])
        c->n_in--;
    hap_dispatch(r, c);
}

void(op_linear)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                int64_t trans)
{
    hap_op_call o = {.op = HAP_OP_linear};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.n_attr = 1;
    o.attr[0].i = trans;
    call(r, &o);
}

void(op_linear_dw)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_linear_dw};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_matmul)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t trans)
{
    hap_op_call o = {.op = HAP_OP_matmul};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    o.n_attr = 1;
    o.attr[0].i = trans;
    call(r, &o);
}

void(op_sdpa)(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
              hap_tensor *c, hap_tensor *d, bool causal, double scale, double dropout, int64_t key,
              int64_t first)
{
    hap_op_call o = {.op = HAP_OP_sdpa};
    o.n_out = 2;
    o.out[0] = y;
    o.out[1] = y1;
    o.n_in = 4;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.n_attr = 5;
    o.attr[0].i = causal;
    o.attr[1].f = scale;
    o.attr[2].f = dropout;
    o.attr[3].i = key;
    o.attr[4].i = first;
    call(r, &o);
}

void(op_sdpa_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *y2, hap_tensor *a,
                  hap_tensor *b, hap_tensor *c, hap_tensor *d, hap_tensor *e, hap_tensor *f,
                  hap_tensor *g, bool causal, double scale, double dropout, int64_t key,
                  int64_t first)
{
    hap_op_call o = {.op = HAP_OP_sdpa_bwd};
    o.n_out = 3;
    o.out[0] = y;
    o.out[1] = y1;
    o.out[2] = y2;
    o.n_in = 7;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.in[5] = f;
    o.in[6] = g;
    o.n_attr = 5;
    o.attr[0].i = causal;
    o.attr[1].f = scale;
    o.attr[2].f = dropout;
    o.attr[3].i = key;
    o.attr[4].i = first;
    call(r, &o);
}

void(op_embedding)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_embedding};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_embedding_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t n)
{
    hap_op_call o = {.op = HAP_OP_embedding_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    o.n_attr = 1;
    o.attr[0].i = n;
    call(r, &o);
}

void(op_add)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_add};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_sub)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_sub};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_mul)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_mul};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_div)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_div};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_where)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c)
{
    hap_op_call o = {.op = HAP_OP_where};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    call(r, &o);
}

void(op_eq)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_eq};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_ne)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_ne};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_lt)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_lt};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_le)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_le};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_gt)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_gt};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_ge)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_ge};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_logical_and)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_logical_and};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_logical_or)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_logical_or};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_logical_not)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_logical_not};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_cast)(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_dtype dtype)
{
    hap_op_call o = {.op = HAP_OP_cast};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].i = (int64_t)dtype;
    call(r, &o);
}

void(op_neg)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_neg};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_scale)(hap_rank *r, hap_tensor *y, hap_tensor *x, double c)
{
    hap_op_call o = {.op = HAP_OP_scale};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].f = c;
    call(r, &o);
}

void(op_add_scalar)(hap_rank *r, hap_tensor *y, hap_tensor *x, double c)
{
    hap_op_call o = {.op = HAP_OP_add_scalar};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].f = c;
    call(r, &o);
}

void(op_pow_scalar)(hap_rank *r, hap_tensor *y, hap_tensor *x, double c)
{
    hap_op_call o = {.op = HAP_OP_pow_scalar};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].f = c;
    call(r, &o);
}

void(op_exp)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_exp};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_log)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_log};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_sqrt)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_sqrt};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_rsqrt)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_rsqrt};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_tanh)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_tanh};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_tanh_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_tanh_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_sigmoid)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_sigmoid};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_sigmoid_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_sigmoid_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_relu)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_relu};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_relu_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_relu_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_gelu)(hap_rank *r, hap_tensor *y, hap_tensor *x, bool tanh)
{
    hap_op_call o = {.op = HAP_OP_gelu};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].i = tanh;
    call(r, &o);
}

void(op_gelu_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, bool tanh)
{
    hap_op_call o = {.op = HAP_OP_gelu_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    o.n_attr = 1;
    o.attr[0].i = tanh;
    call(r, &o);
}

void(op_silu)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_silu};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_silu_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_silu_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_dropout)(hap_rank *r, hap_tensor *y, hap_tensor *x, double p, int64_t key, int64_t first)
{
    hap_op_call o = {.op = HAP_OP_dropout};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 3;
    o.attr[0].f = p;
    o.attr[1].i = key;
    o.attr[2].i = first;
    call(r, &o);
}

void(op_sum)(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints dims, bool keepdim)
{
    hap_op_call o = {.op = HAP_OP_sum};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 2;
    o.attr[0].v = dims;
    o.attr[1].i = keepdim;
    call(r, &o);
}

void(op_row_sum)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_row_sum};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_row_max)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_row_max};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_row_m2)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_row_m2};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_row_expsum)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_row_expsum};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_row_dot)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_row_dot};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_softmax_apply)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c)
{
    hap_op_call o = {.op = HAP_OP_softmax_apply};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    call(r, &o);
}

void(op_softmax_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c)
{
    hap_op_call o = {.op = HAP_OP_softmax_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    call(r, &o);
}

void(op_log_softmax_apply)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c)
{
    hap_op_call o = {.op = HAP_OP_log_softmax_apply};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    call(r, &o);
}

void(op_log_softmax_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c)
{
    hap_op_call o = {.op = HAP_OP_log_softmax_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    call(r, &o);
}

void(op_target_logit)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t ignore)
{
    hap_op_call o = {.op = HAP_OP_target_logit};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    o.n_attr = 1;
    o.attr[0].i = ignore;
    call(r, &o);
}

void(op_nll_sum)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                 hap_tensor *d, int64_t ignore)
{
    hap_op_call o = {.op = HAP_OP_nll_sum};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 4;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.n_attr = 1;
    o.attr[0].i = ignore;
    call(r, &o);
}

void(op_count)(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t ignore)
{
    hap_op_call o = {.op = HAP_OP_count};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].i = ignore;
    call(r, &o);
}

void(op_ce_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                hap_tensor *d, hap_tensor *e, int64_t ignore)
{
    hap_op_call o = {.op = HAP_OP_ce_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 5;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.n_attr = 1;
    o.attr[0].i = ignore;
    call(r, &o);
}

void(op_norm_apply)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                    hap_tensor *d, hap_tensor *e, double eps)
{
    hap_op_call o = {.op = HAP_OP_norm_apply};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 5;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.n_attr = 1;
    o.attr[0].f = eps;
    call(r, &o);
}

void(op_norm_bwd_stats)(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
                        hap_tensor *c, hap_tensor *d, hap_tensor *e, double eps)
{
    hap_op_call o = {.op = HAP_OP_norm_bwd_stats};
    o.n_out = 2;
    o.out[0] = y;
    o.out[1] = y1;
    o.n_in = 5;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.n_attr = 1;
    o.attr[0].f = eps;
    call(r, &o);
}

void(op_norm_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                  hap_tensor *d, hap_tensor *e, hap_tensor *f, hap_tensor *g, double eps)
{
    hap_op_call o = {.op = HAP_OP_norm_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 7;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.in[5] = f;
    o.in[6] = g;
    o.n_attr = 1;
    o.attr[0].f = eps;
    call(r, &o);
}

void(op_norm_bwd_params)(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
                         hap_tensor *c, hap_tensor *d, double eps)
{
    hap_op_call o = {.op = HAP_OP_norm_bwd_params};
    o.n_out = 2;
    o.out[0] = y;
    o.out[1] = y1;
    o.n_in = 4;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.n_attr = 1;
    o.attr[0].f = eps;
    call(r, &o);
}

void(op_top_gates)(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t k)
{
    hap_op_call o = {.op = HAP_OP_top_gates};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].i = k;
    call(r, &o);
}

void(op_top_gates_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t k)
{
    hap_op_call o = {.op = HAP_OP_top_gates_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    o.n_attr = 1;
    o.attr[0].i = k;
    call(r, &o);
}

void(op_expert_slots)(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t capacity)
{
    hap_op_call o = {.op = HAP_OP_expert_slots};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].i = capacity;
    call(r, &o);
}

void(op_expert_slots_bwd)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_expert_slots_bwd};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_dispatch)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_dispatch};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_combine)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_combine};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_dispatch_dw)(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b)
{
    hap_op_call o = {.op = HAP_OP_dispatch_dw};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 2;
    o.in[0] = a;
    o.in[1] = b;
    call(r, &o);
}

void(op_reshape)(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints shape)
{
    hap_op_call o = {.op = HAP_OP_reshape};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].v = shape;
    call(r, &o);
}

void(op_transpose)(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints perm)
{
    hap_op_call o = {.op = HAP_OP_transpose};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].v = perm;
    call(r, &o);
}

void(op_split)(hap_rank *r, int n, hap_tensor *const *ys, hap_tensor *x, int64_t dim,
               hap_ints sizes)
{
    hap_op_call o = {.op = HAP_OP_split};
    for (o.n_out = 0; o.n_out < n && o.n_out < HAP_MAX_OUT; o.n_out++)
        o.out[o.n_out] = ys[o.n_out];
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 2;
    o.attr[0].i = dim;
    o.attr[1].v = sizes;
    call(r, &o);
}

void(op_concat)(hap_rank *r, hap_tensor *y, int n, hap_tensor *const *xs, int64_t dim)
{
    hap_op_call o = {.op = HAP_OP_concat};
    o.n_out = 1;
    o.out[0] = y;
    for (o.n_in = 0; o.n_in < n && o.n_in < HAP_MAX_IN; o.n_in++)
        o.in[o.n_in] = xs[o.n_in];
    o.n_attr = 1;
    o.attr[0].i = dim;
    call(r, &o);
}

void(op_slice)(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t dim, int64_t start, int64_t stop)
{
    hap_op_call o = {.op = HAP_OP_slice};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 3;
    o.attr[0].i = dim;
    o.attr[1].i = start;
    o.attr[2].i = stop;
    call(r, &o);
}

void(op_pad)(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t dim, int64_t before, int64_t after,
             double value)
{
    hap_op_call o = {.op = HAP_OP_pad};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 4;
    o.attr[0].i = dim;
    o.attr[1].i = before;
    o.attr[2].i = after;
    o.attr[3].f = value;
    call(r, &o);
}

void(op_expand)(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints shape)
{
    hap_op_call o = {.op = HAP_OP_expand};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].v = shape;
    call(r, &o);
}

void(op_full)(hap_rank *r, hap_tensor *y, hap_ints shape, double value, hap_dtype dtype)
{
    hap_op_call o = {.op = HAP_OP_full};
    o.n_out = 1;
    o.out[0] = y;
    o.n_attr = 3;
    o.attr[0].v = shape;
    o.attr[1].f = value;
    o.attr[2].i = (int64_t)dtype;
    call(r, &o);
}

void(op_sgd)(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, double lr_scale, double wd)
{
    hap_op_call o = {.op = HAP_OP_sgd};
    o.n_out = 1;
    o.out[0] = a;
    o.n_in = 3;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.n_attr = 2;
    o.attr[0].f = lr_scale;
    o.attr[1].f = wd;
    call(r, &o);
}

void(op_momentum)(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, hap_tensor *d,
                  double lr_scale, double mu, bool nesterov, double wd)
{
    hap_op_call o = {.op = HAP_OP_momentum};
    o.n_out = 2;
    o.out[0] = a;
    o.out[1] = b;
    o.n_in = 4;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.n_attr = 4;
    o.attr[0].f = lr_scale;
    o.attr[1].f = mu;
    o.attr[2].i = nesterov;
    o.attr[3].f = wd;
    call(r, &o);
}

void(op_adam)(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, hap_tensor *d,
              hap_tensor *e, double lr_scale, double beta1, double beta2, double eps, double wd,
              bool decoupled)
{
    hap_op_call o = {.op = HAP_OP_adam};
    o.n_out = 3;
    o.out[0] = a;
    o.out[1] = b;
    o.out[2] = c;
    o.n_in = 5;
    o.in[0] = a;
    o.in[1] = b;
    o.in[2] = c;
    o.in[3] = d;
    o.in[4] = e;
    o.n_attr = 6;
    o.attr[0].f = lr_scale;
    o.attr[1].f = beta1;
    o.attr[2].f = beta2;
    o.attr[3].f = eps;
    o.attr[4].f = wd;
    o.attr[5].i = decoupled;
    call(r, &o);
}

void(op_sumsq)(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    hap_op_call o = {.op = HAP_OP_sumsq};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    call(r, &o);
}

void(op_clip_scale)(hap_rank *r, hap_tensor *y, hap_tensor *x, double max_norm)
{
    hap_op_call o = {.op = HAP_OP_clip_scale};
    o.n_out = 1;
    o.out[0] = y;
    o.n_in = 1;
    o.in[0] = x;
    o.n_attr = 1;
    o.attr[0].f = max_norm;
    call(r, &o);
}
