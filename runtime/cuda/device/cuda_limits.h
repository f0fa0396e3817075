// Numbers of this backend that plans depend on. The planner, which sees no runtime, has them once
// more (ir/runtime_limits.h); tests/runtime/limits_test.c compares the two.

#ifndef HAP_RUNTIME_CUDA_LIMITS_H
#define HAP_RUNTIME_CUDA_LIMITS_H

enum {
    CUDA_MASKS = 4,               // of axes: bits
    CUDA_WARP_COLUMNS = 1024,     // of rows that a warp takes, at most
    CUDA_ROW_WARPS = 8,           // such rows a block
    CUDA_MIDDLE_COLUMNS = 2048,   // of rows that a small block takes, at most
    CUDA_MIDDLE_THREADS = 256,    // of that block
    CUDA_ROW_THREADS = 512,       // of a block that takes a wider row
    CUDA_NORM_COLUMNS = 16384,    // of rows that a norm's chain takes, at most
    CUDA_NORM_VECTOR = 8,         // and a multiple of it: each begins at a multiple of 16 bytes
    CUDA_ADDED_ROWS = 1024,       // of a tensor whose rows are added in turn, at most,
    CUDA_ADDED_COLUMNS = 1 << 17, // and columns, at least
    CUDA_FUSION_OPS = 12,         // of a fusion that runs as a kernel, at most
    CUDA_MAX_CHAIN = 64,          // calls that are joined to one, at most
    CUDA_SMALL = 1 << 16,       // bytes: tensors up to so many may leave the arena (16 MiB in all)
    CUDA_SPARE = 1 << 30,       // bytes of larger ones that may, in all, on a full device
    CUDA_SPARE_KEEP = 1536,     // MiB of the device that these leave free, as NCCL takes some late
    CUDA_SPARE_LEAVE = 4096,    // MiB that more of them do
    CUDA_ROWS = 1 << 30,        // bytes of inputs that come ahead of their step, at most
    CUDA_ROWS_LEAVE = 1 << 28,  // bytes of the device that stay free where they have a copy there
    CUDA_TURN = 1 << 20,        // bytes: pieces of messages between which others are sent, at least
    CUDA_STORES_MOST = 8 << 20, // bytes of a collective that members store in each other's memory
    CUDA_PORT_BLOCKS = 8,       // of a message between stages: processors that it holds, at most
    CUDA_PORT_HELD = 6,         // processors that two receives and a send are taken to hold
    CUDA_VECTOR = 16,           // bytes: rows that are no multiple of it are odd
    CUDA_ROUND = 64,            // elements: extents that are odd are rounded up to a multiple
    CUDA_WORTH = 1000000000,    // matmuls under so many multiplications run as they are
    CUDA_TILE_MIN = 100000000,  // multiplications of a matmul that a tile kernel takes, at least
    CUDA_TILES_WORTH = 99,      // % of a matmul's time under which a tile kernel takes it (H200s)
    CUDA_PAIR_WORTH = 96,       // % of a pair's time as planned under which it runs another way:
                                // so much clocks in turns and between pauses differ (H200s)
    CUDA_SHADOWS = 16,          // padded copies at a time, at most
    CUDA_COLUMN_PARTS = 264,    // of rows whose columns are summed, at most
    CUDA_MOST_SUMS = 4,         // tensors whose columns are summed at once
    CUDA_NUMBER_PARTS = 264,    // of a tensor that is summed to one number, at most
    CUDA_HEAD_ROWS = 64,        // queries, and keys, of attention by cuDNN, at least: a tile's
    CUDA_HEAD_KEYS = 128,       // keys of a tile of its ordered backward pass
    CUDA_HEAD_WIDTH = 128,      // of its heads, at most
    CUDA_HEAD_SCORES = 256,     // MiB of scores that pass may write of one head
    CUDA_HEAD_ROOM = 2048,      // MiB of them that one call may
    CUDA_HEADS_BUSY = 90,       // % of processors that are to have some in the last round of heads
    CUDA_HEADS_TURNS = 4,       // of a block that takes heads that share keys, at least
    CUDA_HEADS_WAIT = 20,       // s: a block that waits longer for another one ends the job
    CUDA_CONV_TIMES = 2,        // bytes of workspace a byte of a convolution's tensors, at most:
    CUDA_CONV_ROOM = 64,        // them in another layout; and MiB beside
    CUDA_EXPERT_ROWS = 64,      // rows of an expert are rounded up to so many
    CUDA_EXPERT_PAIR = 256,     // rows of a cluster's tiles of them,
    CUDA_EXPERT_COLUMNS = 256,  // and columns
    CUDA_EXPERT_ENTRY = 64,     // bytes of their entry in the list
    CUDA_LAST_ROOM = 32         // MiB through which images that lie channels last are turned
};

// Whether `sum` over leading dims adds the rows in turn, a thread a column: few rows, and columns
// for all threads of a device. Then a kernel that makes the rows in their order can add them up.
static inline int cuda_adds_in_turn(long long rows, long long cols)
{
    return rows > 1 && rows <= CUDA_ADDED_ROWS && cols >= CUDA_ADDED_COLUMNS;
}

// Threads that take a row of the last dim.
static inline int cuda_row_threads(long long cols)
{
    return cols <= CUDA_WARP_COLUMNS     ? 32
           : cols <= CUDA_MIDDLE_COLUMNS ? CUDA_MIDDLE_THREADS
                                         : CUDA_ROW_THREADS;
}

#endif
