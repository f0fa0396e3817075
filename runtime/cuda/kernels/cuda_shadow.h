// Padded copies of matrices whose rows are no multiple of 16 bytes (logits of 50257 columns):
// cuBLASLt's quick kernels take none such.
//
// A shadow holds one tensor [rows, cols] of the arena in a buffer of its own, rows `ld` elements
// apart; ld and the rows of the buffer are rounded up, and what lies outside the tensor is 0. While
// a shadow is `truth`, the arena's bytes of the tensor are stale. Rows that `know` shadows
// (cuda_op_table.c) read and write them; before any other call the arena is brought up to date. A
// write to a tensor's bytes ends its shadow, and so does the end of the step; buffers stay for the
// next step. Without memory for a buffer there is no shadow, and matmuls run on what there is.

#ifndef HAP_RUNTIME_CUDA_SHADOW_H
#define HAP_RUNTIME_CUDA_SHADOW_H

#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// Where a tensor's rows lie: its last dim is a row.
typedef struct cuda_rows {
    void *data;
    int64_t ld; // elements between rows
} cuda_rows;

static inline int64_t cuda_round(int64_t n)
{
    return (n + CUDA_ROUND - 1) / CUDA_ROUND * CUDA_ROUND;
}

// For rows that know shadows: where t is to be read.
const char *cuda_rows_of(cuda_context *x, const hap_tensor *t, cuda_rows *r);
// As a shadow, made if there is none; r->data is NULL if it cannot be had.
const char *cuda_rows_padded(cuda_context *x, const hap_tensor *t, cuda_rows *r);
// A shadow for t, about to be written whole, what lies outside t but in its rows included; r->data
// is NULL if it cannot be had. Operands of the same call may lie on t.
const char *cuda_rows_new(cuda_context *x, const hap_tensor *t, cuda_rows *r);

// For all else. A pointer of `bytes` bytes is about to be read, or has none but the arena's truth
// from now on.
const char *cuda_will_read(cuda_context *x, const void *p, int64_t bytes);
void cuda_will_write(cuda_context *x, const void *p, int64_t bytes);
// Both, of all that a call reads and writes.
const char *cuda_call_begins(cuda_context *x, const hap_op_call *c);
void cuda_forget_shadows(cuda_context *x); // all of them: the step ends
// The arena has the truth of all tensors from now on.
const char *cuda_settle_shadows(cuda_context *x);
void cuda_free_shadows(cuda_context *x);

#ifdef __cplusplus
}
#endif

#endif
