// What the kernels of tile_kernel.cuh take, and who launches which.

#ifndef HAP_RUNTIME_CUDA_TILE_KERNEL_H
#define HAP_RUNTIME_CUDA_TILE_KERNEL_H

#include <cuda.h>
#include <stdbool.h>

#include "cuda/device/cuda_error.h"
#include "cuda/kernels/tile_list.h"

#ifdef __cplusplus
extern "C" {
#endif

// Boxes of the maps, as the kernel loads and stores them: a by half a tile's rows, b by half its
// columns, 64 k each; 64 columns by 32 k where rows are steps of k; results 64 rows by 128 bytes.
typedef struct tile_args {
    CUtensorMap a, b, y, before, with;
    const tile_entry *list;
    int entries;
    int m, n;
    const void *bias;
    float *sums; // of columns, [rows / 64, n]
    int activation;
    bool wide, bias_is_wide, has_before, has_with; // wide: f32
    uint32_t *flags, epoch, *late;
    uint32_t *slot_flags; // TILE_SLOT_FLAGS a slot
    float *slots;         // two tiles a slot
    uint64_t patience;    // ns
} tile_args;

// a_t, b_t: rows of the operand are steps of k.
typedef const char *tile_launch(const tile_args *p, bool a_t, bool b_t, int clusters,
                                cudaStream_t s);
tile_launch tile_launch_128x256, tile_launch_128x192, tile_launch_128x128, tile_launch_192x192,
    tile_launch_256x128, tile_launch_turns_128x128, tile_launch_turns_128x192;

#ifdef __cplusplus
}
#endif

#endif
