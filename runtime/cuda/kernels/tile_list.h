// The work list of tile kernels (tile_gemm.h), as host and kernels see it.

#ifndef HAP_RUNTIME_CUDA_TILE_LIST_H
#define HAP_RUNTIME_CUDA_TILE_LIST_H

#include <stdint.h>

// What an entry of the list is, as bits.
enum {
    TILE_RIGHT = 1,  // the second block's tile lies right of the first; else below it
    TILE_WAITS = 2,  // before its operands are read
    TILE_SIGNALS = 4 // behind its stores
};

// Two tiles. A tile outside of y is none: it neither stores nor signals.
typedef struct tile_entry {
    int32_t row, col; // of y, of the first tile
    int32_t kind;
    int32_t wait, until; // until flag `wait` has counted `until` in each epoch
    int32_t signal;      // the flag at which each tile counts tile_shape.parts
} tile_entry;

typedef enum { TILE_NONE, TILE_GELU_TANH, TILE_GELU_ERF } tile_activation;

// Flags lie TILE_FLAG_APART numbers from each other and only count up: in epoch e (1, 2, …) a wait
// ends when the flag has reached e * until. Writers that are not on this device's memory raise them
// with release at system scope; what tiles count is released to the device and to copies behind it.
enum { TILE_FLAG_APART = 32 };

#endif
