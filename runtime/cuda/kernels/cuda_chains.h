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
    switch ((int)op) {
#define HAP_JOIN_UPDATE(op, places)                                                                \
case HAP_OP_##op:                                                                                  \
    return places;
#include "hap/joins.def"
    default:
        return 0;
    }
}

typedef const char *cuda_chain_kernel(cuda_context *x, const hap_op_call *const *c, int n,
                                      unsigned unread, bool *done);
#define HAP_CHAIN(name, kernel) cuda_chain_kernel cuda_##kernel##_chain;
#include "hap/joins.def"

// sdpa or sdpa_bwd on operands that lie at[role]; the statistics are dense.
const char *cuda_attention_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at);
// rotary on heads [b, s, h, e] that lie at[CUDA_Q] and turn in place: in[0] is out[0].
const char *cuda_rotary_at(cuda_context *x, const hap_op_call *c, const cuda_head_at *at);

#ifdef __cplusplus
}
#endif

#endif
