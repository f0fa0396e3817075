// Attention in a recorded step: which operands are heads, and where these lie.

#ifndef HAP_RUNTIME_CUDA_HEADS_H
#define HAP_RUNTIME_CUDA_HEADS_H

#include "cuda/fuse/cuda_list.h"

bool cuda_is_attention(const cuda_call *e);
// The role in attention of operand (or output) `slot` of a call; -1 if it has none.
int cuda_head_role(const hap_op_call *op, bool out, int slot);
// The strides of an attention call's operand, to be read or set.
cuda_head_at *cuda_head_at_of(hap_rank *r, cuda_record *c, int call, int role);
// Heads of t, [b, h, s, e], that lie as [b, s, h, e] in rows of ld elements.
cuda_head_at cuda_heads_by_position(const hap_tensor *t, int64_t ld);
// Every reader of t from call `from` on, until t is written again, is attention that knows t as an
// operand with a role. *last is the last of them.
bool cuda_attention_reads(const cuda_record *c, int from, const hap_tensor *t, int *last);
// Attention in calls from..last that reads t finds it in the place of `to`, in rows of ld elements.
void cuda_heads_go(hap_rank *r, cuda_record *c, int from, int last, const hap_tensor *t,
                   const hap_tensor *to, int64_t ld);

#endif
