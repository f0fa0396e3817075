// Chains of rows (fuse/cuda_record.h): one kernel, or few, for calls that follow each other. c: the
// n calls in their order. Bit k of `unread`: nobody outside the chain reads the first output of
// call k, so that it need not be written. *done unless the kernels do not take these calls.

#ifndef HAP_RUNTIME_CUDA_CHAINS_H
#define HAP_RUNTIME_CUDA_CHAINS_H

#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_MAX_UPDATES = 1023 }; // that are joined to one, at most; other calls: CUDA_MAX_CHAIN

// What an update writes in place, the parameter and its state; 0 of other ops. It may write a copy
// of the parameter behind these (cuda_fuse_copies.c).
static inline int cuda_update_places(hap_op_id op)
{
    return op == HAP_OP_adam ? 3 : op == HAP_OP_momentum ? 2 : op == HAP_OP_sgd ? 1 : 0;
}

typedef const char *cuda_chain_kernel(cuda_context *x, const hap_op_call *const *c, int n,
                                      unsigned unread, bool *done);
cuda_chain_kernel cuda_norm_chain;     // ((norm_apply,) add,) row_sum, row_m2, norm_apply (, cast)
cuda_chain_kernel cuda_norm_bwd_chain; // (add,) norm_bwd_stats, norm_bwd (, norm_bwd_params)
                                       // (, add) (, cast) (, sum)
cuda_chain_kernel cuda_slope_chain;    // gelu_bwd or its like, sum of its columns
cuda_chain_kernel cuda_sums_chain;     // sums of the columns of tensors of one shape
cuda_chain_kernel cuda_ce_chain;       // row_max, row_expsum (, ce_bwd)
cuda_chain_kernel cuda_cast_chain;     // casts between floats
cuda_chain_kernel cuda_update_chain;   // sgd, momentum, adam, each at rates of its own
cuda_chain_kernel cuda_squares_chain;  // sumsq, add of numbers, in any order
cuda_chain_kernel cuda_lookup_chain;   // embedding_bwd, add
cuda_chain_kernel
    cuda_adds_chain; // linear, add in the place of its other operand: one rounding less
cuda_chain_kernel cuda_parts_chain; // linear, split: a product a part

// sdpa or sdpa_bwd on operands that lie at[role]; the statistics are dense.
const char *cuda_attention_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at);

#ifdef __cplusplus
}
#endif

#endif
