// What the CUDA runtime holds beside a program's arena: padded copies of matrices whose rows are no
// multiple of 16 bytes (runtime/cuda/kernels/cuda_shadow.h), and the workspace of the call that
// wants most. It counts against a device's capacity as the arena does. What does not depend on the
// program (driver, libraries, communicators, 64 MiB for cuBLASLt) is in the cluster file's reserve,
// and so are tensors that a fused step moves out of the arena where there is room (at most 1.1
// GiB).
//
// The rules are the runtime's and must follow them (their numbers: ir/runtime_limits.h):
// cuda_padded.cu (which matmuls are rounded up), cuda_shadow.c (when a copy ends, which buffer it
// takes), calls of cuda_work. Workspaces of cuDNN's attention are as asked for by 9.19 on an H200.

#ifndef HAP_SYNTH_WORKSPACE_H
#define HAP_SYNTH_WORKSPACE_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// Fills padded_bytes and work_bytes of a placed program; 0 on CPUs.
void syn_workspace(syn_program *p);
// The same of a program without places: as if a copy ended with the last use of what it copies.
void syn_workspace_expected(syn_program *p);
// The same of one op alone, by class, in these states of its operands and results. A program that
// has the op takes no less, if it pads few matrices (IR_CUDA_SHADOWS).
void syn_workspace_of_op(syn_costs *costs, int node, const syn_state *in, const syn_state *out,
                         int64_t *padded, int64_t *work);

// Workspace of one call of cuDNN's backward attention: b samples of hk key heads, each with `group`
// query heads of q queries and k keys, e wide (cuda_head_split.h says which heads a call takes).
int64_t syn_attention_room(int64_t b, int64_t hk, int64_t group, int64_t q, int64_t k, int64_t e);
// Whether cuDNN has the kernel for it that sums in a fixed order; where it has not, what the
// runtime's own takes of so many query heads, 64 or 128 wide.
bool syn_attention_ordered(int64_t group, int64_t q, int64_t k);
int64_t syn_heads_room(int64_t heads, int64_t q, int64_t e);

static inline int64_t syn_workspace_bytes(const syn_program *p, int c)
{
    return p->padded_bytes[c] + p->work_bytes[c];
}

#endif
