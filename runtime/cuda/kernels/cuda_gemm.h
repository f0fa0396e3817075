// Matmuls of row-major matrices, and what they do about odd extents: cuBLASLt's quick kernels want
// rows of a multiple of 16 bytes, and the number of columns itself to be such a multiple.

#ifndef HAP_RUNTIME_CUDA_PRODUCT_H
#define HAP_RUNTIME_CUDA_PRODUCT_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// y[m,n] = a b (+ y if adds): a is [m,k], or [k,m] if a_t; b is [k,n], or [n,k] if b_t. Rows of a,
// b, y are la, lb, ly elements apart, matrices of a batch step_a, step_b, step_y.
typedef struct cuda_gemm {
    int64_t m, n, k, la, lb, ly, batch, step_a, step_b, step_y;
    bool a_t, b_t, has_bias, adds;
    hap_dtype type, y_type, bias_type;
} cuda_gemm;

// One product of dense matrices.
static inline cuda_gemm cuda_gemm_of(int64_t m, int64_t n, int64_t k, bool a_t, bool b_t,
                                     hap_dtype type, hap_dtype y_type)
{
    cuda_gemm p = {0};
    p.m = m, p.n = n, p.k = k, p.batch = 1;
    p.la = a_t ? m : k, p.lb = b_t ? k : n, p.ly = n;
    p.a_t = a_t, p.b_t = b_t;
    p.type = type, p.y_type = p.bias_type = y_type;
    return p;
}

bool cuda_same_gemm(const cuda_gemm *a, const cuda_gemm *b);

const char *cuda_multiply(cuda_context *x, cuda_gemm p, const void *a, const void *b,
                          const void *bias, void *y);

// The same of one product of tensors taken as matrices, p as of cuda_gemm_of. A large one whose
// columns are no multiple of 16 bytes runs with extents rounded up: operands and result whose rows
// change are shadows (cuda_shadow.h), others get rows more in the workspace.
const char *cuda_multiply_rows(cuda_context *x, cuda_gemm p, const hap_tensor *a,
                               const hap_tensor *b, const void *bias, const hap_tensor *y);

#ifdef __cplusplus
}
#endif

#endif
