// Copies between rows of different lengths.

#ifndef HAP_RUNTIME_CUDA_COPY_ROWS_H
#define HAP_RUNTIME_CUDA_COPY_ROWS_H

#include "cuda/kernels/cuda_ops.h"

#ifdef __cplusplus
extern "C" {
#endif

// y[rows, cols] = x, rows ly and lx elements apart; types may differ.
const char *cuda_copy_rows(cudaStream_t s, hap_dtype y_type, void *y, int64_t ly, hap_dtype x_type,
                           const void *x, int64_t lx, int64_t rows, int64_t cols);

#ifdef __cplusplus
}
#endif

#endif
