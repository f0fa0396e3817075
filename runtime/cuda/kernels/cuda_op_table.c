// Which kernel runs an op (tests/ir/op_rows_test.c: every op has one).

#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_ops.h"
#include "cuda/kernels/cuda_shadow.h"
#include "hap/pointwise.h"

#define POINT(op, args) [HAP_OP_##op] = cuda_point,
static cuda_kernel *const kernels[HAP_N_OPS] = {
    HAP_POINTS_1(POINT) HAP_POINTS_2(POINT) // what ops.def has a formula for
        [HAP_OP_linear] = cuda_linear,
    [HAP_OP_linear_dw] = cuda_linear_dw,
    [HAP_OP_matmul] = cuda_matmul,
    [HAP_OP_sdpa] = cuda_sdpa,
    [HAP_OP_sdpa_bwd] = cuda_sdpa_bwd,
    [HAP_OP_conv] = cuda_conv,
    [HAP_OP_conv_transposed] = cuda_conv_transposed,
    [HAP_OP_conv_dw] = cuda_conv_dw,
    [HAP_OP_max_pool] = cuda_max_pool,
    [HAP_OP_max_pool_bwd] = cuda_max_pool_bwd,
    [HAP_OP_embedding] = cuda_embedding,
    [HAP_OP_embedding_bwd] = cuda_embedding_bwd,
    [HAP_OP_gather] = cuda_gather,
    [HAP_OP_gather_bwd] = cuda_gather_bwd,
    [HAP_OP_add] = cuda_binary,
    [HAP_OP_sub] = cuda_binary,
    [HAP_OP_mul] = cuda_binary,
    [HAP_OP_div] = cuda_binary,
    [HAP_OP_where] = cuda_where,
    [HAP_OP_eq] = cuda_compare,
    [HAP_OP_ne] = cuda_compare,
    [HAP_OP_lt] = cuda_compare,
    [HAP_OP_le] = cuda_compare,
    [HAP_OP_gt] = cuda_compare,
    [HAP_OP_ge] = cuda_compare,
    [HAP_OP_logical_and] = cuda_compare,
    [HAP_OP_logical_or] = cuda_compare,
    [HAP_OP_logical_not] = cuda_logical_not,
    [HAP_OP_cast] = cuda_cast,
    [HAP_OP_gelu] = cuda_gelu,
    [HAP_OP_gelu_bwd] = cuda_gelu,
    [HAP_OP_dropout] = cuda_dropout,
    [HAP_OP_sum] = cuda_sum,
    [HAP_OP_row_sum] = cuda_row_reduce,
    [HAP_OP_row_max] = cuda_row_reduce,
    [HAP_OP_row_m2] = cuda_row_reduce,
    [HAP_OP_row_sq] = cuda_row_reduce,
    [HAP_OP_row_expsum] = cuda_row_reduce,
    [HAP_OP_row_dot] = cuda_row_reduce,
    [HAP_OP_cumsum] = cuda_cumsum,
    [HAP_OP_softmax_apply] = cuda_softmax,
    [HAP_OP_softmax_bwd] = cuda_softmax,
    [HAP_OP_log_softmax_apply] = cuda_softmax,
    [HAP_OP_log_softmax_bwd] = cuda_softmax,
    [HAP_OP_target_logit] = cuda_target_logit,
    [HAP_OP_nll_sum] = cuda_nll_sum,
    [HAP_OP_count] = cuda_count,
    [HAP_OP_ce_bwd] = cuda_ce_bwd,
    [HAP_OP_norm_apply] = cuda_norm_apply,
    [HAP_OP_norm_bwd_stats] = cuda_norm_bwd_stats,
    [HAP_OP_norm_bwd] = cuda_norm_bwd,
    [HAP_OP_norm_bwd_params] = cuda_norm_bwd_params,
    [HAP_OP_batch_m2] = cuda_batch_m2,
    [HAP_OP_batch_apply] = cuda_batch_apply,
    [HAP_OP_batch_bwd_stats] = cuda_batch_bwd_stats,
    [HAP_OP_batch_bwd] = cuda_batch_bwd,
    [HAP_OP_rms_apply] = cuda_norm_apply,
    [HAP_OP_rms_bwd_stats] = cuda_norm_bwd_stats,
    [HAP_OP_rms_bwd] = cuda_norm_bwd,
    [HAP_OP_rms_bwd_params] = cuda_norm_bwd_params,
    [HAP_OP_rotary] = cuda_rotary,
    [HAP_OP_top_gates] = cuda_top_gates,
    [HAP_OP_top_gates_bwd] = cuda_top_gates_bwd,
    [HAP_OP_expert_slots] = cuda_expert_slots,
    [HAP_OP_expert_slots_bwd] = cuda_expert_slots_bwd,
    [HAP_OP_dispatch] = cuda_dispatch,
    [HAP_OP_combine] = cuda_combine,
    [HAP_OP_dispatch_dw] = cuda_dispatch_dw,
    [HAP_OP_top_index] = cuda_top_index,
    [HAP_OP_expert_linear] = cuda_expert_linear,
    [HAP_OP_expert_linear_dw] = cuda_expert_linear_dw,
    [HAP_OP_to_rooms] = cuda_to_rooms,
    [HAP_OP_from_rooms] = cuda_from_rooms,
    [HAP_OP_room_linear] = cuda_room_linear,
    [HAP_OP_room_linear_dw] = cuda_room_linear_dw,
    [HAP_OP_reshape] = cuda_reshape,
    [HAP_OP_transpose] = cuda_transpose,
    [HAP_OP_split] = cuda_split,
    [HAP_OP_concat] = cuda_concat,
    [HAP_OP_slice] = cuda_slice,
    [HAP_OP_pad] = cuda_pad,
    [HAP_OP_expand] = cuda_expand,
    [HAP_OP_full] = cuda_full,
    [HAP_OP_sgd] = cuda_sgd,
    [HAP_OP_momentum] = cuda_momentum,
    [HAP_OP_adam] = cuda_adam,
    [HAP_OP_sumsq] = cuda_sumsq,
    [HAP_OP_clip_scale] = cuda_clip_scale,
};

// Rows that look for the shadows, or the order, of some operands and outputs themselves: one bit
// each.
static const struct {
    unsigned in, out;
} knows[HAP_N_OPS] = {
    [HAP_OP_linear] = {3, 1},       [HAP_OP_linear_dw] = {3, 1},
    [HAP_OP_row_sum] = {1, 0},      [HAP_OP_row_max] = {1, 0},
    [HAP_OP_row_expsum] = {1, 0},   [HAP_OP_row_m2] = {1, 0},
    [HAP_OP_row_sq] = {1, 0},       [HAP_OP_target_logit] = {1, 0},
    [HAP_OP_ce_bwd] = {1, 1},       [HAP_OP_sum] = {1, 0},
    [HAP_OP_conv] = {7, 1},         [HAP_OP_conv_transposed] = {3, 1},
    [HAP_OP_conv_dw] = {3, 1},      [HAP_OP_max_pool] = {1, 1},
    [HAP_OP_max_pool_bwd] = {3, 1}, [HAP_OP_batch_m2] = {3, 1},
    [HAP_OP_batch_apply] = {31, 1}, [HAP_OP_batch_bwd_stats] = {15, 3},
    [HAP_OP_batch_bwd] = {127, 1},  [HAP_OP_transpose] = {1, 1},
};

// Rows that go over entries one by one, wherever the entries of all operands lie alike.
static bool goes_by_entries(cuda_kernel *k)
{
    return k == cuda_point || k == cuda_gelu || k == cuda_binary || k == cuda_compare ||
           k == cuda_where || k == cuda_logical_not || k == cuda_cast;
}

// Such a row where some operand lies channels last: so do all then, and the result.
static const char *by_entries(cuda_context *x, const hap_op_call *c, bool *done)
{
    hap_tensor *y = c->out[0], at[HAP_MAX_IN];
    hap_op_call there = *c;
    cuda_last shape;
    *done = false;
    if (!cuda_any_last(x, c->in, c->n_in, y->elements, &shape)) return NULL;
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] && c->in[i]->elements != y->elements && c->in[i]->elements != 1) return NULL;
    if (!cuda_may_lie_last(x, y, &shape)) return NULL;
    CUDA_TRY(cuda_all_last(x, c->in, c->n_in, &shape, 0, at, NULL, done));
    if (!*done) return NULL;
    for (int i = 0; i < c->n_in; i++)
        there.in[i] = c->in[i] ? &at[i] : NULL;
    CUDA_TRY(cuda_lie_last(x, y, &shape));
    return kernels[c->op](x, &there);
}

const char *hap_cuda_run(cuda_context *x, const hap_op_call *c)
{
    if ((unsigned)c->op >= HAP_N_OPS || !kernels[c->op])
        return cuda_fail("not supported: no kernel of op %d", (int)c->op);
    bool stays = c->op == HAP_OP_reshape && c->in[0]->data == c->out[0]->data;
    if (stays && c->in[0]->bytes == c->out[0]->bytes) return NULL; // and so do shadows
    if (goes_by_entries(kernels[c->op])) {
        bool done;
        CUDA_TRY(by_entries(x, c, &done));
        if (done) return NULL;
    }
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] && !(knows[c->op].in >> i & 1))
            CUDA_TRY(cuda_will_read(x, c->in[i]->data, c->in[i]->bytes));
    for (int i = 0; i < c->n_out; i++)
        if (!(knows[c->op].out >> i & 1)) cuda_will_write(x, c->out[i]->data, c->out[i]->bytes);
    return kernels[c->op](x, c);
}
