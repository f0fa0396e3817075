// Which kernel runs a row. Every op of the table has one (tests/ir/op_cuts_test.c walks the
// table).

#include "core/comm.h"
#include "cpu/ops_kernels.h"
#include "cpu/ops_lowprec.h"
#include "hap/pointwise.h"

#define POINT(op, args) [HAP_OP_##op] = cpu_point,
static cpu_kernel *const kernels[HAP_N_OPS] = {
    HAP_POINTS_1(POINT) HAP_POINTS_2(POINT) // what ops.def has a formula for
        [HAP_OP_linear] = cpu_linear,
    [HAP_OP_linear_dw] = cpu_linear_dw,
    [HAP_OP_matmul] = cpu_matmul,
    [HAP_OP_sdpa] = cpu_sdpa,
    [HAP_OP_sdpa_bwd] = cpu_sdpa_bwd,
    [HAP_OP_conv] = cpu_conv,
    [HAP_OP_conv_transposed] = cpu_conv_transposed,
    [HAP_OP_conv_dw] = cpu_conv_dw,
    [HAP_OP_max_pool] = cpu_max_pool,
    [HAP_OP_max_pool_bwd] = cpu_max_pool_bwd,
    [HAP_OP_embedding] = cpu_embedding,
    [HAP_OP_embedding_bwd] = cpu_embedding_bwd,
    [HAP_OP_gather] = cpu_gather,
    [HAP_OP_gather_bwd] = cpu_gather_bwd,
    [HAP_OP_add] = cpu_binary,
    [HAP_OP_sub] = cpu_binary,
    [HAP_OP_mul] = cpu_binary,
    [HAP_OP_div] = cpu_binary,
    [HAP_OP_where] = cpu_where,
    [HAP_OP_eq] = cpu_compare,
    [HAP_OP_ne] = cpu_compare,
    [HAP_OP_lt] = cpu_compare,
    [HAP_OP_le] = cpu_compare,
    [HAP_OP_gt] = cpu_compare,
    [HAP_OP_ge] = cpu_compare,
    [HAP_OP_logical_and] = cpu_compare,
    [HAP_OP_logical_or] = cpu_compare,
    [HAP_OP_logical_not] = cpu_logical_not,
    [HAP_OP_cast] = cpu_cast,
    [HAP_OP_gelu] = cpu_gelu,
    [HAP_OP_gelu_bwd] = cpu_gelu,
    [HAP_OP_dropout] = cpu_dropout,
    [HAP_OP_sum] = cpu_sum,
    [HAP_OP_row_sum] = cpu_row_sum,
    [HAP_OP_row_max] = cpu_row_max,
    [HAP_OP_row_m2] = cpu_row_m2,
    [HAP_OP_row_sq] = cpu_row_sq,
    [HAP_OP_row_expsum] = cpu_row_expsum,
    [HAP_OP_cumsum] = cpu_cumsum,
    [HAP_OP_row_dot] = cpu_row_dot,
    [HAP_OP_softmax_apply] = cpu_softmax_apply,
    [HAP_OP_softmax_bwd] = cpu_softmax_bwd,
    [HAP_OP_log_softmax_apply] = cpu_log_softmax_apply,
    [HAP_OP_log_softmax_bwd] = cpu_log_softmax_bwd,
    [HAP_OP_target_logit] = cpu_target_logit,
    [HAP_OP_nll_sum] = cpu_nll_sum,
    [HAP_OP_count] = cpu_count,
    [HAP_OP_ce_bwd] = cpu_ce_bwd,
    [HAP_OP_norm_apply] = cpu_norm_apply,
    [HAP_OP_norm_bwd_stats] = cpu_norm_bwd_stats,
    [HAP_OP_norm_bwd] = cpu_norm_bwd,
    [HAP_OP_norm_bwd_params] = cpu_norm_bwd_params,
    [HAP_OP_batch_m2] = cpu_batch_m2,
    [HAP_OP_batch_apply] = cpu_batch_apply,
    [HAP_OP_batch_bwd_stats] = cpu_batch_bwd_stats,
    [HAP_OP_batch_bwd] = cpu_batch_bwd,
    [HAP_OP_rms_apply] = cpu_norm_apply,
    [HAP_OP_rms_bwd_stats] = cpu_norm_bwd_stats,
    [HAP_OP_rms_bwd] = cpu_norm_bwd,
    [HAP_OP_rms_bwd_params] = cpu_norm_bwd_params,
    [HAP_OP_rotary] = cpu_rotary,
    [HAP_OP_top_gates] = cpu_top_gates,
    [HAP_OP_top_gates_bwd] = cpu_top_gates_bwd,
    [HAP_OP_expert_slots] = cpu_expert_slots,
    [HAP_OP_expert_slots_bwd] = cpu_expert_slots_bwd,
    [HAP_OP_dispatch] = cpu_dispatch,
    [HAP_OP_combine] = cpu_combine,
    [HAP_OP_dispatch_dw] = cpu_dispatch_dw,
    [HAP_OP_top_index] = cpu_top_index,
    [HAP_OP_expert_linear] = cpu_expert_linear,
    [HAP_OP_expert_linear_dw] = cpu_expert_linear_dw,
    [HAP_OP_to_rooms] = cpu_to_rooms,
    [HAP_OP_from_rooms] = cpu_from_rooms,
    [HAP_OP_room_linear] = cpu_room_linear,
    [HAP_OP_room_linear_dw] = cpu_room_linear_dw,
    [HAP_OP_reshape] = cpu_reshape,
    [HAP_OP_transpose] = cpu_transpose,
    [HAP_OP_split] = cpu_split,
    [HAP_OP_concat] = cpu_concat,
    [HAP_OP_slice] = cpu_slice,
    [HAP_OP_pad] = cpu_pad,
    [HAP_OP_expand] = cpu_expand,
    [HAP_OP_full] = cpu_full,
    [HAP_OP_sgd] = cpu_sgd,
    [HAP_OP_momentum] = cpu_momentum,
    [HAP_OP_adam] = cpu_adam,
    [HAP_OP_sumsq] = cpu_sumsq,
    [HAP_OP_clip_scale] = cpu_clip_scale,
};

bool hap_cpu_has(hap_op_id op)
{
    return (unsigned)op < HAP_N_OPS && kernels[op];
}

const char *hap_cpu_run(const hap_step_state *s, const hap_op_call *c)
{
    if (!hap_cpu_has(c->op)) return cpu_fail("not supported: no kernel of op %d", (int)c->op);
    if (!cpu_is_narrow(c) || cpu_moves_bytes(c->op)) return kernels[c->op](s, c);
    return cpu_run_narrow(kernels[c->op], s, c);
}

void hap_cpu_op(hap_rank *r, const hap_op_call *c)
{
    const char *why = cpu_is_narrow(c) ? cpu_narrow_reserve(r) : NULL;
    double start = r->opt.pace ? hap_seconds() : 0;
    if (!why) why = hap_cpu_run(hap_step(r), c);
    if (r->opt.pace) r->own_sec += hap_seconds() - start;
    if (why) hap_fatal(r, "%s", why);
}
