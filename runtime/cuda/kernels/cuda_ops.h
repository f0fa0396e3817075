// Kernels of ops, and the parts that they share: moving bytes, matmuls' library, attention's, sums
// of columns that are put off.

#ifndef HAP_RUNTIME_CUDA_OPS_H
#define HAP_RUNTIME_CUDA_OPS_H

#include "cuda/device/cuda_limits.h"
#include "cuda/device/cuda_room.h"
#include "cuda/kernels/cuda_shapes.h"

#ifdef __cplusplus
extern "C" {
#endif

#include "core/tensor.h"

// One op of the table on this rank's shards: launches, does not wait. NULL, or why not.
typedef const char *cuda_kernel(cuda_context *x, const hap_op_call *c);
const char *hap_cuda_run(cuda_context *x, const hap_op_call *c);

// Where a tensor of heads, [b, h, s, e], has them: elements between samples, heads, positions; the
// last dim is dense.
typedef struct cuda_head_at {
    int64_t b, h, s;
} cuda_head_at;
enum { CUDA_Q, CUDA_K, CUDA_V, CUDA_Y, CUDA_DY, CUDA_DQ, CUDA_DK, CUDA_DV, CUDA_HEAD_ROLES };
cuda_head_at cuda_heads_dense(const hap_tensor *t);

// --- moving bytes (cuda_move.cu) ---
typedef struct cuda_strided {
    int rank;
    int64_t size[HAP_MAX_RANK + 2], to[HAP_MAX_RANK + 2], from[HAP_MAX_RANK + 2]; // elements
} cuda_strided;
// y[…] = x[…] for strides in elements of elem bytes.
const char *cuda_copy_strided(cudaStream_t s, void *y, const void *x, const cuda_strided *m,
                              int64_t elem);
const char *cuda_copy(cudaStream_t s, void *y, const void *x, int64_t bytes);
const char *cuda_fill(cudaStream_t s, hap_tensor *y, double value);
// Entries of `walked` and where the other tensor has them: along each dim, global index + shift. If
// into: walked is read and written to `other`; else `walked` is written. Entries that `other` does
// not hold get *pad, or stay if pad is NULL.
typedef struct cuda_remap {
    int dim;
    int64_t shift;
    bool into;
    const double *pad;
} cuda_remap;
const char *cuda_move_remapped(cudaStream_t s, hap_tensor *walked, hap_tensor *other,
                               const cuda_remap *m);
// Index of t's first NaN, or infinity, -1 if there is none; waits for the stream.
const char *cuda_find(cuda_context *x, const hap_tensor *t, bool nan, int64_t *first);
const char *cuda_add_into(cudaStream_t s, hap_dtype type, void *y, const void *x, int64_t n);

// --- rows ---
#define CUDA_ROW(name) const char *cuda_##name(cuda_context *x, const hap_op_call *c)
CUDA_ROW(linear);
CUDA_ROW(linear_dw);
CUDA_ROW(matmul);
CUDA_ROW(sdpa);
CUDA_ROW(sdpa_bwd);
CUDA_ROW(conv);
CUDA_ROW(conv_transposed);
CUDA_ROW(conv_dw);
CUDA_ROW(max_pool);
CUDA_ROW(max_pool_bwd);
CUDA_ROW(embedding);
CUDA_ROW(embedding_bwd);
CUDA_ROW(gather);
CUDA_ROW(gather_bwd);
CUDA_ROW(target_logit);
CUDA_ROW(binary);
CUDA_ROW(compare);
CUDA_ROW(where);
CUDA_ROW(logical_not);
CUDA_ROW(cast);
CUDA_ROW(point); // of ops.def's formulas
CUDA_ROW(gelu);  // gelu gelu_bwd
CUDA_ROW(dropout);
CUDA_ROW(sum);
CUDA_ROW(row_reduce); // row_sum row_max row_m2 row_sq row_expsum row_dot
CUDA_ROW(cumsum);
CUDA_ROW(softmax); // softmax_apply softmax_bwd log_softmax_apply log_softmax_bwd
CUDA_ROW(nll_sum);
CUDA_ROW(count);
CUDA_ROW(ce_bwd);
CUDA_ROW(norm_apply); // and rms_apply; so the three below
CUDA_ROW(norm_bwd_stats);
CUDA_ROW(norm_bwd);
CUDA_ROW(norm_bwd_params);
CUDA_ROW(batch_m2);
CUDA_ROW(batch_apply);
CUDA_ROW(batch_bwd_stats);
CUDA_ROW(batch_bwd);
CUDA_ROW(rotary);
CUDA_ROW(top_gates);
CUDA_ROW(top_gates_bwd);
CUDA_ROW(expert_slots);
CUDA_ROW(expert_slots_bwd);
CUDA_ROW(dispatch);
CUDA_ROW(combine);
CUDA_ROW(dispatch_dw);
CUDA_ROW(top_index);
CUDA_ROW(expert_linear);
CUDA_ROW(expert_linear_dw);
CUDA_ROW(to_rooms);
CUDA_ROW(from_rooms);
CUDA_ROW(room_linear);
CUDA_ROW(room_linear_dw);
CUDA_ROW(reshape);
CUDA_ROW(transpose);
CUDA_ROW(expand);
CUDA_ROW(split);
CUDA_ROW(slice);
CUDA_ROW(pad);
CUDA_ROW(concat);
CUDA_ROW(full);
CUDA_ROW(sgd);
CUDA_ROW(momentum);
CUDA_ROW(adam);
CUDA_ROW(sumsq);
CUDA_ROW(clip_scale);

// --- parts with state of their own ---
const char *cuda_dense_start(cuda_context *x);
void cuda_dense_end(cuda_context *x);
const char *cuda_tiles_start(cuda_context *x);
void cuda_tiles_end(cuda_context *x);

// Sums of columns that are put off (cuda_columns.cu): all are done; whether one goes to these
// bytes; none is any more.
const char *cuda_columns_settle(cuda_context *x);
bool cuda_columns_open(const cuda_context *x, const void *p, int64_t bytes);
void cuda_columns_forget(cuda_context *x);
void cuda_columns_end(cuda_context *x);

// Attention of bf16 and f16 heads by cuDNN. `usable` says whether a call is one that cuDNN takes;
// others run on the kernels of cuda_sdpa.cu.
typedef struct cuda_heads {
    int64_t b, hq, hk, q, k, e, d; // local sizes
    hap_dtype type;
    bool causal, bottom; // bottom: the last query sees the last key, not the first the first
    float scale;
    cuda_head_at at[CUDA_HEAD_ROLES];
} cuda_heads;
const char *cuda_cudnn_start(cuda_context *x);
void cuda_cudnn_end(cuda_context *x);
bool cuda_cudnn_usable(cuda_context *x, const cuda_heads *h, bool backward);
const char *cuda_cudnn_forward(cuda_context *x, const cuda_heads *h, const void *q, const void *k,
                               const void *v, void *o, void *lse);
typedef struct cuda_head_grads {
    const void *dout, *q, *k, *v, *o, *lse;
    void *dq, *dk, *dv;
} cuda_head_grads;
const char *cuda_cudnn_backward(cuda_context *x, const cuda_heads *h, const cuda_head_grads *g);

// Convolutions (cuda_conv.cu) by cuDNN: not taken, they run on the kernels there, and nothing was
// read or written. *added: the bias, too. An image or a result that it makes may lie channels last.
typedef struct cuda_windows {
    int64_t b, g, c, o, h, w, i, j, p, q; // local sizes; g, c and o: of groups
    int64_t stride[2], padding[2], dilation[2];
} cuda_windows;
typedef struct cuda_conv_tensors {
    hap_tensor *image, *weight, *result; // of conv: operands and output
    hap_tensor *bias;                    // of conv, or NULL
    bool relu;                           // the result is relu of conv
} cuda_conv_tensors;
const char *cuda_cudnn_conv(cuda_context *x, const cuda_windows *v, const hap_op_call *c,
                            const cuda_conv_tensors *t, bool *taken, bool *added);
void cuda_convs_end(cuda_context *x);
// Bytes of workspace that a convolution of `bytes` of operands and output may take.
static inline int64_t cuda_conv_room(int64_t bytes)
{
    return CUDA_CONV_TIMES * bytes + ((int64_t)CUDA_CONV_ROOM << 20);
}

#ifdef __cplusplus
}
#endif

#endif
