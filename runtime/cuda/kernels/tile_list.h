// The work list of tile kernels (tile_gemm.h), as host and kernels see it.

#ifndef HAP_RUNTIME_CUDA_TILE_LIST_H
#define HAP_RUNTIME_CUDA_TILE_LIST_H

#include <stdint.h>

// What an entry of the list is, as bits.
enum {
    TILE_RIGHT = 1,   // the second block's tile lies right of the first; else below it
    TILE_WAITS = 2,   // before its operands are read
    TILE_SIGNALS = 4, // behind its stores
    TILE_PART = 8     // the sums of its k go to a slot, and no further
};

// Two tiles, or a part of their k. A tile outside of y is none: it neither stores nor signals.
typedef struct tile_entry {
    int32_t row, col; // of y, of the first tile
    int32_t kind;
    int32_t wait, until; // until flag `wait` has counted `until` in each epoch
    int32_t signal;      // the flag at which each tile counts tile_shape.parts
    int32_t from, steps; // of k, 64 each; 0 steps and a row behind the last: no tile
    int32_t slot, slots; // TILE_PART: its slot; else it adds the parts in slots slot, slot + 1, …
} tile_entry;

// Of the value that is rounded, or, times that value, the slope at the value that lies there.
typedef enum {
    TILE_NONE,
    TILE_GELU_TANH,
    TILE_GELU_ERF,
    TILE_GELU_TANH_SLOPE,
    TILE_GELU_ERF_SLOPE
} tile_activation;

// Slots of sums: at most so many, a cluster's each; flags before them, so many numbers a slot.
enum { TILE_SLOTS = 256, TILE_SLOT_FLAGS = 8 * 32 };

// Flags lie TILE_FLAG_APART numbers from each other and only count up: in epoch e (1, 2, …) a wait
// ends when the flag has reached e * until. Writers that are not on this device's memory raise them
// with release at system scope; what tiles count is released to the device and to copies behind it.
enum { TILE_FLAG_APART = 32 };

#endif
