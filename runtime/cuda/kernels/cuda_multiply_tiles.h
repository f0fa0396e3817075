// One matmul by the tile kernel (tile_gemm.h), beside cuBLASLt's algorithms, which cuda_multiply.c
// times against it.
//
// It holds the processors that it finds until its list is done, while a collective of the library
// wants some: so programs of several ranks keep to cuBLASLt, but for --cuda tiles=all.

#ifndef HAP_RUNTIME_CUDA_MULTIPLY_TILES_H
#define HAP_RUNTIME_CUDA_MULTIPLY_TILES_H

#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/tile_ways.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cuda_tiled {
    const tile_shape *shape; // NULL: none
    tile_entry *list;        // on the device
    int entries;
    bool shares; // parts of k
} cuda_tiled;

// The up to `most` ways of the least price, with their lists; none where the kernel does not take
// the matmul, or by --cuda tiles=off. p.adds is not looked at. *room: device memory of lists that
// share k, allocated where it is NULL; the caller's.
const char *cuda_tiled_ways(cuda_context *x, const cuda_gemm *p, const void *a, const void *b,
                            const void *bias, void *y, int most, void **room, cuda_tiled *to,
                            int *n);
const char *cuda_tiled_run(cuda_context *x, const cuda_tiled *w, const cuda_gemm *p, const void *a,
                           const void *b, const void *bias, void *y, void *room);
void cuda_tiled_free(cuda_tiled *w);
// This program has ranks beside this one: cuda_multiply.c.
void cuda_multiply_ranks(cuda_context *x);

#ifdef __cplusplus
}
#endif

#endif
