// What the kernels of tile_kernel.cuh take, and who launches which.

#ifndef HAP_RUNTIME_CUDA_TILE_ARGS_H
#define HAP_RUNTIME_CUDA_TILE_ARGS_H

#include <cuda.h>
#include <stdbool.h>

#include "cuda/device/cuda_error.h"
#include "cuda/kernels/tile_list.h"

#ifdef __cplusplus
extern "C" {
#endif

// A matrix, for sm_90a by a map, for the kernels of mma.sync by its first row and the elements from
// one to the next.
typedef union tile_matrix {
    CUtensorMap map;
    struct {
        char *data;
        int64_t apart;
    } rows;
} tile_matrix;

// Operands and result of a range of rows. Boxes of the maps, as the kernel loads and stores them: a
// by half a tile's rows, b by half its columns, 64 k each; 64 columns by 32 k where rows are steps
// of k; results 64 rows by 128 bytes.
typedef struct tile_place {
    tile_matrix a, b, y;
    const void *bias;
    char *to;      // boxes that are sent
    int32_t depth; // k
} tile_place;

// By a map, or box by box from rows.data on.
typedef struct tile_part {
    tile_matrix at;
    uint32_t *flags; // of its member
} tile_part;

typedef struct tile_args {
    tile_place one;
    const tile_place *places; // on the device; NULL: `one` is all
    const tile_part *parts;   // on the device: this member's is the result of sums, others' slots
    int members, me;          // of sums
    bool boxes; // others' slots are boxes; behind the parts are results at all members
    tile_matrix before, with, with2;
    const tile_entry *list;
    int entries, arrivals; // how often a tile counts
    float *sums;           // of columns, [rows / 64, n]
    int activation;
    bool wide, bias_is_wide, has_bias, has_before, has_with, has_with2; // wide: f32
    const tile_wait *waits;
    const tile_push *pushes;
    int n_pushes;
    uint32_t *flags, *tallies, *late;
    uint32_t number;
    const uint32_t *number_at; // NULL: `number`
    uint32_t *slot_flags;      // TILE_SLOT_FLAGS a slot
    float *slots;              // two tiles a slot
    uint64_t patience;         // ns
} tile_args;

// The map of a matrix of `rows` rows of `cols` elements, `apart` elements from each other, in
// boxes.
const char *tile_map(CUtensorMap *map, const void *p, bool wide, int64_t rows, int64_t cols,
                     int64_t apart, int box_cols, int box_rows);

// a_t, b_t: rows of the operand are steps of k.
typedef const char *tile_launch(const tile_args *p, bool a_t, bool b_t, int clusters,
                                cudaStream_t s);
tile_launch tile_launch_128x256, tile_launch_128x192, tile_launch_128x128, tile_launch_192x192,
    tile_launch_256x128, tile_launch_turns_128x128, tile_launch_turns_128x192;
tile_launch tile_mma_128x256, tile_mma_128x192, tile_mma_128x128, tile_mma_192x192,
    tile_mma_256x128;

#ifdef __cplusplus
}
#endif

#endif
