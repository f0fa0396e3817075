// Numbers of the CUDA runtime that planning depends on. Folders see no runtime, so they stand here
// once more: runtime/cuda/device/cuda_limits.h (of turns: core/put_turns.h) says what each is,
// tests/runtime/limits_test.c compares the two.

#ifndef HAP_IR_RUNTIME_LIMITS_H
#define HAP_IR_RUNTIME_LIMITS_H

enum {
    IR_CUDA_WARP_COLUMNS = 1024,
    IR_CUDA_MIDDLE_COLUMNS = 2048,
    IR_CUDA_MIDDLE_THREADS = 256,
    IR_CUDA_ROW_THREADS = 512,
    IR_CUDA_NORM_COLUMNS = 16384,
    IR_CUDA_NORM_VECTOR = 8,
    IR_CUDA_ADDED_ROWS = 1024,
    IR_CUDA_ADDED_COLUMNS = 1 << 17,
    IR_CUDA_MAX_CHAIN = 64,
    IR_CUDA_SMALL = 1 << 16,
    IR_CUDA_SPARE = 1 << 30,
    IR_CUDA_TURN = 1 << 20,
    IR_CUDA_VECTOR = 16,
    IR_CUDA_ROUND = 64,
    IR_CUDA_WORTH = 1000000000,
    IR_CUDA_TILE_MIN = 100000000,
    IR_CUDA_SHADOWS = 16,
    IR_CUDA_COLUMN_PARTS = 264,
    IR_CUDA_MOST_SUMS = 4,
    IR_CUDA_NUMBER_PARTS = 264,
    IR_CUDA_HEAD_ROWS = 64,
    IR_CUDA_HEAD_KEYS = 128,
    IR_CUDA_HEAD_WIDTH = 128,
    IR_CUDA_HEAD_SCORES = 256,
    IR_CUDA_HEAD_ROOM = 2048,
    IR_CUDA_CONV_TIMES = 2,
    IR_CUDA_CONV_ROOM = 64,
    IR_CUDA_EXPERT_ROWS = 64,
    IR_CUDA_EXPERT_PAIR = 256,
    IR_CUDA_EXPERT_COLUMNS = 256,
    IR_CUDA_EXPERT_ENTRY = 64,
    IR_TURN_MEMBERS = 16
};

#endif
