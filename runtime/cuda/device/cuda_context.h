// What CUDA kernels share: the stream, the workspace, the step's numbers on the device, traps.
//
// Everything of a rank that computes goes through one stream in the order of the program, so one
// workspace serves all rows. It grows only outside graph capture (cuda_room.h): the first pass of
// the step runs uncaptured and finds the size. Kernels read what changes from step to step
// (cuda_step) from device memory, so that a captured step can be replayed.

#ifndef HAP_RUNTIME_CUDA_CONTEXT_H
#define HAP_RUNTIME_CUDA_CONTEXT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#    define _Noreturn [[noreturn]]
extern "C" {
#endif

#include "core/tensor.h"
#include "cuda/device/cuda_room.h"

// hap_step_state, on the device.
typedef struct cuda_step {
    double lr;
    int64_t step;
    uint64_t seed;
} cuda_step;

// What a kernel found wrong with its data, in memory that the host sees. The first one stays.
typedef struct cuda_trap {
    int set, op, line;
    int64_t value, limit;
} cuda_trap;

// What is made where a call first asks for it: none of it in a step that was rehearsed. Who makes
// a plan or takes memory also waits for the device; nothing else in a step does.
typedef enum { CUDA_BEFORE, CUDA_IN_STEPS, CUDA_PHASES } cuda_phase;
typedef struct cuda_made {
    int plans;       // cuBLASLt's and cuDNN's
    int allocations; // of device memory
    int graphs;
} cuda_made;

struct cuda_dense;     // cuda_dense.c
struct cuda_attention; // cuda_cudnn.cpp
struct cuda_shadows;   // cuda_shadow.c
struct cuda_columns;   // cuda_columns.cu

typedef struct cuda_context {
    cudaStream_t stream;
    int sms;                  // that the stream may use; 0: all
    struct cuda_green *green; // cuda_green.c: what the stream belongs to, if it may not use all
    cuda_room work;
    bool capturing, tf32;
    int graphs; // that there are, of all programs
    cuda_phase phase;
    cuda_made made[CUDA_PHASES];
    cuda_step *step; // device
    cuda_trap *trap; // host memory, mapped
    int64_t *found;  // device: of cuda_find
    int line;        // of the call being made, for traps
    struct cuda_dense *dense;
    struct cuda_attention *attention;
    bool no_cudnn, missed_cudnn; // the library was not found; a head that it takes came
    struct cuda_shadows *shadows;
    int64_t shadow_bytes;
    struct cuda_columns *columns;
} cuda_context;

// NULL, or why not. The device must be current. sms: as in hap_places.
const char *cuda_context_start(cuda_context *x, int sms);
void cuda_context_end(cuda_context *x);
const char *cuda_context_set(cuda_context *x, const hap_step_state *s); // on the stream
// Workspace of one row: valid until the next row asks. NULL with *why set if it cannot be had.
void *cuda_work(cuda_context *x, int64_t bytes, const char **why);
// NULL, or what a trap says. Call after the stream has been waited for.
const char *cuda_trapped(const cuda_context *x);

// One row of the op table on this rank's shards: launches, does not wait. NULL, or why not.
typedef const char *cuda_kernel(cuda_context *x, const hap_op_call *c);
const char *hap_cuda_run(cuda_context *x, const hap_op_call *c);

// Where a tensor of heads, [b, h, s, e], has them: elements between samples, heads, positions; the
// last dim is dense.
typedef struct cuda_head_at {
    int64_t b, h, s;
} cuda_head_at;
enum { CUDA_Q, CUDA_K, CUDA_V, CUDA_Y, CUDA_DY, CUDA_DQ, CUDA_DK, CUDA_DV, CUDA_HEAD_ROLES };
cuda_head_at cuda_heads_dense(const hap_tensor *t);

const char *cuda_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *cuda_said(cudaError_t e, const char *call); // NULL if e is success
#define CUDA_TRY(e)                                                                                \
    do {                                                                                           \
        const char *why_ = (e);                                                                    \
        if (why_) return why_;                                                                     \
    } while (0)
#define CUDA_CALL(e) CUDA_TRY(cuda_said((e), #e))

// --- one dim of a shard ---
// A dim is outer blocks of `block` entries; this rank holds [first, first + part) of each, in units
// of the dim's last index.
typedef struct cuda_axis {
    int64_t outer, block, first, part;
} cuda_axis;
cuda_axis cuda_axis_of(const hap_tensor *t, int dim);
int64_t cuda_axis_size(const cuda_axis *a); // global

// --- sizes and checks ---
int64_t cuda_entries(const hap_tensor *t, int from, int to);
const char *cuda_want(const hap_tensor *t, hap_dtype type, const char *what);
const char *cuda_want_floats(const hap_op_call *c); // f32, bf16 or f16, every one that is there
const char *cuda_same_elements(const hap_op_call *c);
bool cuda_same_shape(const hap_tensor *a, const hap_tensor *b);
bool cuda_is_float(hap_dtype t);
static inline const hap_tensor *cuda_in(const hap_op_call *c, int i)
{
    return i < c->n_in ? c->in[i] : NULL;
}

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

// --- random numbers: as cpu/ops_kernels.h defines them, on the device (cuda_kernels.cuh) ---

// --- rows ---
#define CUDA_ROW(name) const char *cuda_##name(cuda_context *x, const hap_op_call *c)
CUDA_ROW(linear);
CUDA_ROW(linear_dw);
CUDA_ROW(matmul);
CUDA_ROW(sdpa);
CUDA_ROW(sdpa_bwd);
CUDA_ROW(embedding);
CUDA_ROW(embedding_bwd);
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
CUDA_ROW(row_reduce); // row_sum row_max row_m2 row_expsum row_dot
CUDA_ROW(softmax);    // softmax_apply softmax_bwd log_softmax_apply log_softmax_bwd
CUDA_ROW(nll_sum);
CUDA_ROW(count);
CUDA_ROW(ce_bwd);
CUDA_ROW(norm_apply);
CUDA_ROW(norm_bwd_stats);
CUDA_ROW(norm_bwd);
CUDA_ROW(norm_bwd_params);
CUDA_ROW(top_gates);
CUDA_ROW(top_gates_bwd);
CUDA_ROW(expert_slots);
CUDA_ROW(expert_slots_bwd);
CUDA_ROW(dispatch);
CUDA_ROW(combine);
CUDA_ROW(dispatch_dw);
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
// A stream whose kernels stay on about `sms` of the current device's SMs (x->sms: on how many), and
// its end.
const char *cuda_green_start(cuda_context *x, int sms);
void cuda_green_end(cuda_context *x);

const char *cuda_dense_start(cuda_context *x);
void cuda_dense_end(cuda_context *x);

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
    bool causal;
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

#ifdef __cplusplus
}
#endif

#endif
