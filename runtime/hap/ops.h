// One function a row of the op table. Generated from ir/ops.def by opsgen; do not edit.
//
// Outputs first, then operands, then attributes. An operand in [ ] may be NULL. Rows that
// write in place take operands only. Sizes in attributes are global. Letters of the formula:
// docs/theory.md, section 1.

#ifndef HAP_OPS_H
#define HAP_OPS_H

#include "hap/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum hap_op_id {
    HAP_OP_linear,
    HAP_OP_linear_dw,
    HAP_OP_matmul,
    HAP_OP_sdpa,
    HAP_OP_sdpa_bwd,
    HAP_OP_embedding,
    HAP_OP_embedding_bwd,
    HAP_OP_add,
    HAP_OP_sub,
    HAP_OP_mul,
    HAP_OP_div,
    HAP_OP_where,
    HAP_OP_eq,
    HAP_OP_ne,
    HAP_OP_lt,
    HAP_OP_le,
    HAP_OP_gt,
    HAP_OP_ge,
    HAP_OP_logical_and,
    HAP_OP_logical_or,
    HAP_OP_logical_not,
    HAP_OP_cast,
    HAP_OP_neg,
    HAP_OP_scale,
    HAP_OP_add_scalar,
    HAP_OP_pow_scalar,
    HAP_OP_exp,
    HAP_OP_log,
    HAP_OP_sqrt,
    HAP_OP_rsqrt,
    HAP_OP_tanh,
    HAP_OP_tanh_bwd,
    HAP_OP_sigmoid,
    HAP_OP_sigmoid_bwd,
    HAP_OP_relu,
    HAP_OP_relu_bwd,
    HAP_OP_gelu,
    HAP_OP_gelu_bwd,
    HAP_OP_silu,
    HAP_OP_silu_bwd,
    HAP_OP_dropout,
    HAP_OP_sum,
    HAP_OP_row_sum,
    HAP_OP_row_max,
    HAP_OP_row_m2,
    HAP_OP_row_expsum,
    HAP_OP_row_dot,
    HAP_OP_softmax_apply,
    HAP_OP_softmax_bwd,
    HAP_OP_log_softmax_apply,
    HAP_OP_log_softmax_bwd,
    HAP_OP_target_logit,
    HAP_OP_nll_sum,
    HAP_OP_count,
    HAP_OP_ce_bwd,
    HAP_OP_norm_apply,
    HAP_OP_norm_bwd_stats,
    HAP_OP_norm_bwd,
    HAP_OP_norm_bwd_params,
    HAP_OP_top_gates,
    HAP_OP_top_gates_bwd,
    HAP_OP_expert_slots,
    HAP_OP_expert_slots_bwd,
    HAP_OP_dispatch,
    HAP_OP_combine,
    HAP_OP_dispatch_dw,
    HAP_OP_reshape,
    HAP_OP_transpose,
    HAP_OP_split,
    HAP_OP_concat,
    HAP_OP_slice,
    HAP_OP_pad,
    HAP_OP_expand,
    HAP_OP_full,
    HAP_OP_sgd,
    HAP_OP_momentum,
    HAP_OP_adam,
    HAP_OP_sumsq,
    HAP_OP_clip_scale,
    HAP_N_OPS
} hap_op_id;

// linear: *k,kn + [n] -> *n ; *k,nk + [n] -> *n
// trans 0: y = a b + c; trans 1: y = a b' + c. Leading dims of a are rows.
void op_linear(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
               int64_t trans);
#define op_linear(r, ...) op_linear(hap_line(r, __LINE__), __VA_ARGS__)

// linear_dw: *k,*n -> kn
// y[k,n] = sum over rows of a[.,k] b[.,n].
void op_linear_dw(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_linear_dw(r, ...) op_linear_dw(hap_line(r, __LINE__), __VA_ARGS__)

// matmul: *mk,*kn -> *mn ; *mk,*nk -> *mn ; *km,*kn -> *mn
// trans 0: y = a b; 1: y = a b'; 2: y = a' b, for every leading index (size 1 broadcasts).
void op_matmul(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t trans);
#define op_matmul(r, ...) op_matmul(hap_line(r, __LINE__), __VA_ARGS__)

// sdpa: b(gr)qe,bgke,bgkd,[b(gr)qk] -> b(gr)qd,b(gr)q | k e
// y = softmax(scale a b' + mask d) c over keys; head h reads kv head h / r. scale 0 means
// 1/sqrt(e). d: bool (true = attend) or float (added). causal: query i attends keys j <= i. y1 =
// logsumexp of the masked scores, -inf for a row without keys (then y is 0). dropout p acts on
// the weights, not on y1, by the index first + (b, head, i, j).
void op_sdpa(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
             hap_tensor *c, hap_tensor *d, bool causal, double scale, double dropout, int64_t key,
             int64_t first);
#define op_sdpa(r, ...) op_sdpa(hap_line(r, __LINE__), __VA_ARGS__)

// sdpa_bwd: b(gr)qd,b(gr)qe,bgke,bgkd,b(gr)qd,b(gr)q,[b(gr)qk] -> b(gr)qe,bgke,bgkd | k e d
// a = gradient of sdpa's y, b = q, c = k, d = v, e = sdpa's y, f = sdpa's y1, g = mask; y, y1, y2
// = gradients of q, k, v (k and v summed over their r query heads).
void op_sdpa_bwd(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *y2, hap_tensor *a,
                 hap_tensor *b, hap_tensor *c, hap_tensor *d, hap_tensor *e, hap_tensor *f,
                 hap_tensor *g, bool causal, double scale, double dropout, int64_t key,
                 int64_t first);
#define op_sdpa_bwd(r, ...) op_sdpa_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// embedding: vc,* -> *c
// y[., c] = a[b[.], c]; b is i64. Under a cut of v an id outside the own rows gives 0.
void op_embedding(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_embedding(r, ...) op_embedding(hap_line(r, __LINE__), __VA_ARGS__)

// embedding_bwd: *c,* -> vc
// y[v, c] = sum over positions with b = v of a[., c]; n = global size of v.
void op_embedding_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t n);
#define op_embedding_bwd(r, ...) op_embedding_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// add: * + * -> *
// y = a + b, size 1 and missing leading dims broadcast (so do all rows with '*'). y may lie on a
// or b where that has its shape.
void op_add(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_add(r, ...) op_add(hap_line(r, __LINE__), __VA_ARGS__)

// sub: * + * -> *
// y = a - b.
void op_sub(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_sub(r, ...) op_sub(hap_line(r, __LINE__), __VA_ARGS__)

// mul: *,* -> *
// y = a b.
void op_mul(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_mul(r, ...) op_mul(hap_line(r, __LINE__), __VA_ARGS__)

// div: *,* -> *
// y = a / b.
void op_div(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_div(r, ...) op_div(hap_line(r, __LINE__), __VA_ARGS__)

// where: *,*,* -> *
// y = a ? b : c; a is bool.
void op_where(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c);
#define op_where(r, ...) op_where(hap_line(r, __LINE__), __VA_ARGS__)

// eq: *,* -> *
// y = a == b.
void op_eq(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_eq(r, ...) op_eq(hap_line(r, __LINE__), __VA_ARGS__)

// ne: *,* -> *
// y = a != b.
void op_ne(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_ne(r, ...) op_ne(hap_line(r, __LINE__), __VA_ARGS__)

// lt: *,* -> *
// y = a < b.
void op_lt(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_lt(r, ...) op_lt(hap_line(r, __LINE__), __VA_ARGS__)

// le: *,* -> *
// y = a <= b.
void op_le(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_le(r, ...) op_le(hap_line(r, __LINE__), __VA_ARGS__)

// gt: *,* -> *
// y = a > b.
void op_gt(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_gt(r, ...) op_gt(hap_line(r, __LINE__), __VA_ARGS__)

// ge: *,* -> *
// y = a >= b.
void op_ge(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_ge(r, ...) op_ge(hap_line(r, __LINE__), __VA_ARGS__)

// logical_and: *,* -> *
// y = a && b.
void op_logical_and(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_logical_and(r, ...) op_logical_and(hap_line(r, __LINE__), __VA_ARGS__)

// logical_or: *,* -> *
// y = a || b.
void op_logical_or(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_logical_or(r, ...) op_logical_or(hap_line(r, __LINE__), __VA_ARGS__)

// logical_not: * -> *
// y = !x.
void op_logical_not(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_logical_not(r, ...) op_logical_not(hap_line(r, __LINE__), __VA_ARGS__)

// cast: * -> *
// y = x as dtype (float to integer truncates, anything to bool is != 0).
void op_cast(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_dtype dtype);
#define op_cast(r, ...) op_cast(hap_line(r, __LINE__), __VA_ARGS__)

// neg: * -> *
// y = -x.
void op_neg(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_neg(r, ...) op_neg(hap_line(r, __LINE__), __VA_ARGS__)

// scale: * -> *
// y = c x.
void op_scale(hap_rank *r, hap_tensor *y, hap_tensor *x, double c);
#define op_scale(r, ...) op_scale(hap_line(r, __LINE__), __VA_ARGS__)

// add_scalar: * -> *
// y = x + c.
void op_add_scalar(hap_rank *r, hap_tensor *y, hap_tensor *x, double c);
#define op_add_scalar(r, ...) op_add_scalar(hap_line(r, __LINE__), __VA_ARGS__)

// pow_scalar: * -> *
// y = x to the power c.
void op_pow_scalar(hap_rank *r, hap_tensor *y, hap_tensor *x, double c);
#define op_pow_scalar(r, ...) op_pow_scalar(hap_line(r, __LINE__), __VA_ARGS__)

// exp: * -> *
// y = exp(x).
void op_exp(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_exp(r, ...) op_exp(hap_line(r, __LINE__), __VA_ARGS__)

// log: * -> *
// y = log(x).
void op_log(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_log(r, ...) op_log(hap_line(r, __LINE__), __VA_ARGS__)

// sqrt: * -> *
// y = sqrt(x).
void op_sqrt(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_sqrt(r, ...) op_sqrt(hap_line(r, __LINE__), __VA_ARGS__)

// rsqrt: * -> *
// y = 1 / sqrt(x).
void op_rsqrt(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_rsqrt(r, ...) op_rsqrt(hap_line(r, __LINE__), __VA_ARGS__)

// tanh: * -> *
// y = tanh(x).
void op_tanh(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_tanh(r, ...) op_tanh(hap_line(r, __LINE__), __VA_ARGS__)

// tanh_bwd: *,* -> *
// y = a (1 - b^2); a = gradient, b = tanh's output.
void op_tanh_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_tanh_bwd(r, ...) op_tanh_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// sigmoid: * -> *
// y = 1 / (1 + exp(-x)).
void op_sigmoid(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_sigmoid(r, ...) op_sigmoid(hap_line(r, __LINE__), __VA_ARGS__)

// sigmoid_bwd: *,* -> *
// y = a b (1 - b); a = gradient, b = sigmoid's output.
void op_sigmoid_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_sigmoid_bwd(r, ...) op_sigmoid_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// relu: * -> *
// y = max(x, 0).
void op_relu(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_relu(r, ...) op_relu(hap_line(r, __LINE__), __VA_ARGS__)

// relu_bwd: *,* -> *
// y = b > 0 ? a : 0; a = gradient, b = relu's output.
void op_relu_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_relu_bwd(r, ...) op_relu_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// gelu: * -> *
// y = x Phi(x); tanh: the tanh approximation (sqrt(2/pi) (x + 0.044715 x^3)).
void op_gelu(hap_rank *r, hap_tensor *y, hap_tensor *x, bool tanh);
#define op_gelu(r, ...) op_gelu(hap_line(r, __LINE__), __VA_ARGS__)

// gelu_bwd: *,* -> *
// y = a gelu'(b); a = gradient, b = gelu's input.
void op_gelu_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, bool tanh);
#define op_gelu_bwd(r, ...) op_gelu_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// silu: * -> *
// y = x sigmoid(x).
void op_silu(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_silu(r, ...) op_silu(hap_line(r, __LINE__), __VA_ARGS__)

// silu_bwd: *,* -> *
// y = a silu'(b); a = gradient, b = silu's input.
void op_silu_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_silu_bwd(r, ...) op_silu_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// dropout: * -> *
// y = keep ? x / (1 - p) : 0; keep by Philox(seed, step, key) at first + the global element
// index.
void op_dropout(hap_rank *r, hap_tensor *y, hap_tensor *x, double p, int64_t key, int64_t first);
#define op_dropout(r, ...) op_dropout(hap_line(r, __LINE__), __VA_ARGS__)

// sum: @sum
// y = sum over dims (all >= 0); keepdim leaves size 1.
void op_sum(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints dims, bool keepdim);
#define op_sum(r, ...) op_sum(hap_line(r, __LINE__), __VA_ARGS__)

// row_sum: *c -> *
// y = sum over c of x.
void op_row_sum(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_row_sum(r, ...) op_row_sum(hap_line(r, __LINE__), __VA_ARGS__)

// row_max: *c -> *
// y = max over c of x; -inf where this rank has no entry.
void op_row_max(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_row_max(r, ...) op_row_max(hap_line(r, __LINE__), __VA_ARGS__)

// row_m2: *c,* -> *
// y = sum over c of (a - b/n)^2; b = row_sum(a).
void op_row_m2(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_row_m2(r, ...) op_row_m2(hap_line(r, __LINE__), __VA_ARGS__)

// row_expsum: *c,* -> *
// y = sum over c of exp(a - b); b = row_max(a).
void op_row_expsum(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_row_expsum(r, ...) op_row_expsum(hap_line(r, __LINE__), __VA_ARGS__)

// row_dot: *c,*c -> *
// y = sum over c of a b.
void op_row_dot(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_row_dot(r, ...) op_row_dot(hap_line(r, __LINE__), __VA_ARGS__)

// softmax_apply: *c,*,* -> *c
// y = exp(a - b) / c; b = row_max, c = row_expsum.
void op_softmax_apply(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c);
#define op_softmax_apply(r, ...) op_softmax_apply(hap_line(r, __LINE__), __VA_ARGS__)

// softmax_bwd: *c,*c,* -> *c
// y = b (a - c); a = gradient, b = softmax's output, c = row_dot(a, b).
void op_softmax_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c);
#define op_softmax_bwd(r, ...) op_softmax_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// log_softmax_apply: *c,*,* -> *c
// y = a - b - log(c); b = row_max, c = row_expsum.
void op_log_softmax_apply(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c);
#define op_log_softmax_apply(r, ...) op_log_softmax_apply(hap_line(r, __LINE__), __VA_ARGS__)

// log_softmax_bwd: *c,*c,* -> *c
// y = a - exp(b) c; a = gradient, b = log_softmax's output, c = row_sum(a).
void op_log_softmax_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c);
#define op_log_softmax_bwd(r, ...) op_log_softmax_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// target_logit: *c,* -> *
// y = a[., b[.]]; 0 where b = ignore or b lies outside this rank's part of c.
void op_target_logit(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t ignore);
#define op_target_logit(r, ...) op_target_logit(hap_line(r, __LINE__), __VA_ARGS__)

// nll_sum: *,*,*,* ->
// y = sum over rows with d != ignore of a + log(b) - c; a = row_max, b = row_expsum, c =
// target_logit, d = labels.
void op_nll_sum(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                hap_tensor *d, int64_t ignore);
#define op_nll_sum(r, ...) op_nll_sum(hap_line(r, __LINE__), __VA_ARGS__)

// count: * ->
// y = number of entries of x != ignore, as f32.
void op_count(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t ignore);
#define op_count(r, ...) op_count(hap_line(r, __LINE__), __VA_ARGS__)

// ce_bwd: *c,*,*,*, -> *c
// y = e (exp(a - b) / c - [class = d]); rows with d = ignore give 0. a = logits, b = row_max, c =
// row_expsum, d = labels, e = gradient of the summed loss.
void op_ce_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
               hap_tensor *d, hap_tensor *e, int64_t ignore);
#define op_ce_bwd(r, ...) op_ce_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// norm_apply: *c,*,*,[c],[c] -> *c
// y = (a - mean) rstd d + e; mean = b/n, rstd = 1/sqrt(c/n + eps); b = row_sum, c = row_m2; d, e
// weight and bias of c entries.
void op_norm_apply(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                   hap_tensor *d, hap_tensor *e, double eps);
#define op_norm_apply(r, ...) op_norm_apply(hap_line(r, __LINE__), __VA_ARGS__)

// norm_bwd_stats: *c,*c,*,*,[c] -> *,*
// y = sum over c of u, y1 = sum over c of u xhat; u = a e, xhat = (b - mean) rstd. a = gradient,
// b = input, c = row_sum, d = row_m2, e = weight.
void op_norm_bwd_stats(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
                       hap_tensor *c, hap_tensor *d, hap_tensor *e, double eps);
#define op_norm_bwd_stats(r, ...) op_norm_bwd_stats(hap_line(r, __LINE__), __VA_ARGS__)

// norm_bwd: *c,*c,*,*,*,*,[c] -> *c
// y = rstd (u - e/n - xhat f/n); u = a g, xhat as in norm_bwd_stats; a = gradient, b = input, c =
// row_sum, d = row_m2, e, f = the outputs of norm_bwd_stats, g = weight.
void op_norm_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, hap_tensor *c,
                 hap_tensor *d, hap_tensor *e, hap_tensor *f, hap_tensor *g, double eps);
#define op_norm_bwd(r, ...) op_norm_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// norm_bwd_params: *c,*c,*,* -> c,c
// y = sum over rows of a xhat, y1 = sum over rows of a; a = gradient, b = input, c = row_sum, d =
// row_m2.
void op_norm_bwd_params(hap_rank *r, hap_tensor *y, hap_tensor *y1, hap_tensor *a, hap_tensor *b,
                        hap_tensor *c, hap_tensor *d, double eps);
#define op_norm_bwd_params(r, ...) op_norm_bwd_params(hap_line(r, __LINE__), __VA_ARGS__)

// top_gates: *e -> *e | e
// y = a / (sum of the chosen) at the k largest entries of a row, 0 elsewhere; a = probabilities,
// of equal ones the first is the larger. k = 2: the gate values of GShard.
void op_top_gates(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t k);
#define op_top_gates(r, ...) op_top_gates(hap_line(r, __LINE__), __VA_ARGS__)

// top_gates_bwd: *e,*e -> *e | e
// y = (a - sum over chosen of a b / t) / t at the chosen entries, 0 elsewhere; a = gradient, b =
// top_gates' input, t = sum of its chosen entries.
void op_top_gates_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b, int64_t k);
#define op_top_gates_bwd(r, ...) op_top_gates_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// expert_slots: bse -> bsec | s e
// y[b,s,e,c] = a[b,s,e] if token s has slot c of expert e, else 0. A token chooses the experts
// whose entry is not 0, the largest (of equal ones the first) first. In each sequence an expert
// gives its slots in order: to the tokens by s that choose it first, then to those that choose it
// second, ...; who finds none left is dropped. capacity = global size of c. y != 0 is the
// dispatch mask.
void op_expert_slots(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t capacity);
#define op_expert_slots(r, ...) op_expert_slots(hap_line(r, __LINE__), __VA_ARGS__)

// expert_slots_bwd: *c,*c -> *
// y = sum over c of a where b != 0; a = gradient, b = expert_slots' output.
void op_expert_slots_bwd(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_expert_slots_bwd(r, ...) op_expert_slots_bwd(hap_line(r, __LINE__), __VA_ARGS__)

// dispatch: bsec,bsd -> ebcd
// y[e,b,c,d] = sum over s of a[b,s,e,c] b[b,s,d].
void op_dispatch(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_dispatch(r, ...) op_dispatch(hap_line(r, __LINE__), __VA_ARGS__)

// combine: bsec,ebcd -> bsd
// y[b,s,d] = sum over e, c of a[b,s,e,c] b[e,b,c,d].
void op_combine(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_combine(r, ...) op_combine(hap_line(r, __LINE__), __VA_ARGS__)

// dispatch_dw: bsd,ebcd -> bsec
// y[b,s,e,c] = sum over d of a[b,s,d] b[e,b,c,d]: the gradient of dispatch's and combine's first
// operand.
void op_dispatch_dw(hap_rank *r, hap_tensor *y, hap_tensor *a, hap_tensor *b);
#define op_dispatch_dw(r, ...) op_dispatch_dw(hap_line(r, __LINE__), __VA_ARGS__)

// reshape: @reshape
// same bytes, new shape (global sizes).
void op_reshape(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints shape);
#define op_reshape(r, ...) op_reshape(hap_line(r, __LINE__), __VA_ARGS__)

// transpose: @transpose
// dim i of y is dim perm[i] of x.
void op_transpose(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints perm);
#define op_transpose(r, ...) op_transpose(hap_line(r, __LINE__), __VA_ARGS__)

// split: @split
// ys[i] = the i-th run of sizes[i] entries of dim.
void op_split(hap_rank *r, int n, hap_tensor *const *ys, hap_tensor *x, int64_t dim,
              hap_ints sizes);
#define op_split(r, ...) op_split(hap_line(r, __LINE__), __VA_ARGS__)

// concat: @concat
// y = xs one after the other along dim.
void op_concat(hap_rank *r, hap_tensor *y, int n, hap_tensor *const *xs, int64_t dim);
#define op_concat(r, ...) op_concat(hap_line(r, __LINE__), __VA_ARGS__)

// slice: @slice
// y = entries start <= i < stop of dim.
void op_slice(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t dim, int64_t start, int64_t stop);
#define op_slice(r, ...) op_slice(hap_line(r, __LINE__), __VA_ARGS__)

// pad: @pad
// dim gets `before` and `after` entries of value.
void op_pad(hap_rank *r, hap_tensor *y, hap_tensor *x, int64_t dim, int64_t before, int64_t after,
            double value);
#define op_pad(r, ...) op_pad(hap_line(r, __LINE__), __VA_ARGS__)

// expand: @expand
// size 1 and missing leading dims repeated to shape.
void op_expand(hap_rank *r, hap_tensor *y, hap_tensor *x, hap_ints shape);
#define op_expand(r, ...) op_expand(hap_line(r, __LINE__), __VA_ARGS__)

// full: @full
// y = value everywhere.
void op_full(hap_rank *r, hap_tensor *y, hap_ints shape, double value, hap_dtype dtype);
#define op_full(r, ...) op_full(hap_line(r, __LINE__), __VA_ARGS__)

// sgd: *,*,[] -> *
// u = [c] b + wd a; a -= lr lr_scale u. a = parameter, b = gradient, c = clip factor.
void op_sgd(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, double lr_scale, double wd);
#define op_sgd(r, ...) op_sgd(hap_line(r, __LINE__), __VA_ARGS__)

// momentum: *,*,*,[] -> *,*
// u = [d] c + wd a; b = mu b + u; a -= lr lr_scale (nesterov ? u + mu b : b). a = parameter, b =
// momentum, c = gradient, d = clip factor.
void op_momentum(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, hap_tensor *d,
                 double lr_scale, double mu, bool nesterov, double wd);
#define op_momentum(r, ...) op_momentum(hap_line(r, __LINE__), __VA_ARGS__)

// adam: *,*,*,*,[] -> *,*,*
// u = [e] d (+ wd a if not decoupled); b = beta1 b + (1 - beta1) u; c = beta2 c + (1 - beta2)
// u^2; a = a (1 - lr' wd if decoupled) - lr' bhat / (sqrt(chat) + eps), bhat = b / (1 - beta1^t),
// chat = c / (1 - beta2^t), t from 1, lr' = lr lr_scale. a = parameter, b = exp_avg, c =
// exp_avg_sq, d = gradient, e = clip factor.
void op_adam(hap_rank *r, hap_tensor *a, hap_tensor *b, hap_tensor *c, hap_tensor *d, hap_tensor *e,
             double lr_scale, double beta1, double beta2, double eps, double wd, bool decoupled);
#define op_adam(r, ...) op_adam(hap_line(r, __LINE__), __VA_ARGS__)

// sumsq: * ->
// y = sum of x^2.
void op_sumsq(hap_rank *r, hap_tensor *y, hap_tensor *x);
#define op_sumsq(r, ...) op_sumsq(hap_line(r, __LINE__), __VA_ARGS__)

// clip_scale: ->
// y = min(1, max_norm / (sqrt(x) + 1e-6)); x = sum of squares of all gradients.
void op_clip_scale(hap_rank *r, hap_tensor *y, hap_tensor *x, double max_norm);
#define op_clip_scale(r, ...) op_clip_scale(hap_line(r, __LINE__), __VA_ARGS__)

#ifdef __cplusplus
}
#endif

#endif
