// The work list of tile kernels (tile_gemm.h), as host and kernels see it.

#ifndef HAP_RUNTIME_CUDA_TILE_LIST_H
#define HAP_RUNTIME_CUDA_TILE_LIST_H

#include <stdint.h>

// What an entry of the list is, as bits.
enum {
    TILE_RIGHT = 1,   // the second block's tile lies right of the first; else below it
    TILE_SIGNALS = 2, // behind its stores
    TILE_PART = 4,    // the sums of its k go to a slot, and no further
    TILE_SUMS = 8,    // what other members made of the same is added (tile_sums)
    TILE_DROPS = 16,  // of a sum, or of what is sent: this member's part goes nowhere else
    TILE_SENDS = 32,  // it goes to its member, box by box, and signals there (tile_sums)
    TILE_ALL = 64     // a sum goes to all members, and signals there
};

// Two tiles, or a part of their k. A tile outside of its place is none: it neither stores nor
// signals.
typedef struct tile_entry {
    int32_t row, col;    // of its place, of the first tile
    int32_t kind, place; // of tile_call.places; 0 where there are none
    int32_t rows, cols;  // of the place; or the rows' end of a range of its tiles
    int32_t from, steps; // of k, 64 each; 0 steps and a row behind the last: no tile
    int32_t slot, slots; // TILE_PART: its slot; else it adds the parts in slots slot, slot + 1, …
    int32_t wait, waits; // tile_call.waits[wait], …, so many: before a is read; TILE_SUMS, what
                         // others made; TILE_SENDS, before it is sent
    int32_t signal, tally; // the tile counts tile_shape.parts at that tally; who brings it to
    int32_t count, raise;  // `count` takes it back to 0 and raises the flag to number + raise
} tile_entry;

// Until that flag has come to number + until.
typedef struct tile_wait {
    int32_t flag, until;
} tile_wait;

// A run of bytes, in steps of 16, that the kernel's movers bring to a member, all of them beside
// the first tiles: once that member's flag `credit` here has come to the launch's number. Then its
// flag `signal` is raised to number + raise.
typedef struct tile_push {
    const char *from;
    char *to;
    uint32_t *flags; // the member's, as they are mapped here
    int64_t bytes;
    int32_t credit, signal, tally, raise;
} tile_push;

// What is made of the value v that is rounded, and of what lies there (`with`, `with2`).
typedef enum {
    TILE_NONE,
    TILE_GELU_TANH, // of v
    TILE_GELU_ERF,
    TILE_GELU_TANH_SLOPE, // v times the slope at with
    TILE_GELU_ERF_SLOPE,
    TILE_SILU_TIMES,  // silu(v) with
    TILE_TIMES_SILU,  // v silu(with)
    TILE_GATED_SLOPES // v is the gradient of silu(with) with2: two results, of with and of with2
} tile_activation;

// Slots of sums: at most so many, a cluster's each; flags before them, so many numbers a slot.
enum { TILE_SLOTS = 256, TILE_SLOT_FLAGS = 8 * 32 };

// Flags lie TILE_FLAG_APART numbers from each other and only grow: each launch has a number, from
// which those that it waits for and those to which it raises flags are counted.
enum { TILE_FLAG_APART = 32, TILE_MEMBERS = 8 };

#endif
