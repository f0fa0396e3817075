// The passes of cuda_fuse (cuda_fuse.h) over a recorded step. Each leaves a list that gives the
// same values; unless `exact`, some with a rounding less.

#ifndef HAP_RUNTIME_CUDA_PASSES_H
#define HAP_RUNTIME_CUDA_PASSES_H

#include "cuda/fuse/cuda_list.h"

// Attention reads and writes the layouts of the matmuls around it: transposes of heads, splits of
// a packed query, key and value, and the concat of their gradients leave the list
// (cuda_fuse_heads.c).
void cuda_fuse_heads(hap_rank *r, cuda_record *c);
// Products of what one tensor holds are one matmul (cuda_fuse_gemms.c).
void cuda_fuse_gemms(hap_rank *r, cuda_record *c);
// hap_partial of a small tensor that ops read: they read the operand, or zeros that are made once
// (cuda_fuse_update.c).
void cuda_fuse_partials(hap_rank *r, cuda_record *c);
// Sums of squares, what adds them up, and updates are few chains (cuda_fuse_update.c).
void cuda_fuse_update(hap_rank *r, cuda_record *c);
// Updates write the copies that casts make of parameters (cuda_fuse_copies.c).
void cuda_fuse_copies(hap_rank *r, cuda_record *c);
// A matmul whose columns are split is a matmul a part, after those (cuda_fuse_heads.c): of another
// shape, for which cuBLASLt may add in another order. So it is not exact.
void cuda_fuse_splits(hap_rank *r, cuda_record *c);
// A gated MLP's product, and its gradients, end the linear before them (cuda_fuse_gated.c).
void cuda_fuse_gated(hap_rank *r, cuda_record *c);
// Calls that one kernel runs (cuda_fuse_chains.c).
void cuda_fuse_chains(hap_rank *r, cuda_record *c, bool exact);

#endif
