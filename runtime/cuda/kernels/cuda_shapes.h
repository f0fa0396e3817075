// Sizes of shards, and checks of a call's operands.

#ifndef HAP_RUNTIME_CUDA_SHAPES_H
#define HAP_RUNTIME_CUDA_SHAPES_H

#include "cuda/device/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

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

#ifdef __cplusplus
}
#endif

#endif
