// How many heads of attention's backward pass one call of cuDNN takes.
//
// Its ordered kernel (the sums of dq in a fixed order) leaves a part of dq for every tile of keys:
// a workspace quadratic in the sequence. So a call takes as many heads as CUDA_HEAD_ROOM allows.
// Where not even the query heads of one key head have room, all heads go at once to the kernel that
// adds to dq as it comes: a workspace linear in the sequence, bits that differ from run to run.
// The planner counts the same calls (synth/passes/workspace.h); tests/runtime/limits_test.c
// compares.

#ifndef HAP_RUNTIME_CUDA_HEAD_SPLIT_H
#define HAP_RUNTIME_CUDA_HEAD_SPLIT_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/device/cuda_limits.h"

typedef struct cuda_head_split {
    int64_t b, hk; // samples and key heads of a call; they divide those of all
    bool ordered;
} cuda_head_split;

// The largest divisor of n that is at most `most`.
static inline int64_t cuda_divisor(int64_t n, int64_t most)
{
    int64_t d = most < n ? most : n;
    while (d > 1 && n % d)
        d--;
    return d;
}

// b samples of hk key heads, each with `group` query heads of q queries and k keys, e wide.
static inline cuda_head_split cuda_heads_at_once(int64_t b, int64_t hk, int64_t group, int64_t q,
                                                 int64_t k, int64_t e)
{
    int64_t tiles = (k + CUDA_HEAD_TILE - 1) / CUDA_HEAD_TILE;
    int64_t most = ((int64_t)CUDA_HEAD_ROOM << 20) / (tiles * group * q * e * 4); // key heads
    if (most < 1) return (cuda_head_split){b, hk, false};
    if (most < hk) return (cuda_head_split){1, cuda_divisor(hk, most), true};
    return (cuda_head_split){cuda_divisor(b, most / hk), hk, true};
}

#endif
