// Rows by the matrices of their experts by the tile kernel of sm_90a (tile_kernel.cuh): bf16 in,
// sums in f32. How many rows an expert has is known to the device alone, so a kernel writes the
// list.
//
//     y[row, n] = sum over k of x[row, k] w[e, k, n]        tile_experts_rows
//     w[e, k, n] = sum over rows of x[row, k] y[row, n]     tile_experts_dw
//
// Rows are gathered first: those of each expert lie one behind the other, from a multiple of
// TILE_EXPERT_ROWS on, with zeros up to the next one. Of such places there are at most `rows` and
// TILE_EXPERT_ROWS for each expert. Results are stored where the rows of y are.

#ifndef HAP_RUNTIME_CUDA_TILE_EXPERTS_H
#define HAP_RUNTIME_CUDA_TILE_EXPERTS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/device/cuda_limits.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { TILE_EXPERT_ROWS = CUDA_EXPERT_ROWS };

typedef struct tile_experts {
    const void *x, *w; // x [*, k]; w [held, k, n] or, trans, [held, n, k]; of dw the result
    void *y;           // [*, n]; of dw an operand
    int64_t rows, k, n, held;
    bool trans, wide;                 // wide: dw is f32, not bf16
    const int *x_row, *y_row, *first; // on the device: the rows of x and y by expert; expert e has
                                      // those from first[e] on, first[held] is behind the last
    int sms;
} tile_experts;

// NULL if the kernel takes it on this device, else why not.
const char *tile_experts_why_not(const tile_experts *v, bool dw);
// Bytes on the device, of no content before or behind.
int64_t tile_experts_room(const tile_experts *v, bool dw);
const char *tile_experts_rows(const tile_experts *v, void *room, cudaStream_t stream);
const char *tile_experts_dw(const tile_experts *v, void *room, cudaStream_t stream);

#ifdef __cplusplus
}
#endif

#endif
