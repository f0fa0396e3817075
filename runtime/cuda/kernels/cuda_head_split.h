// How many heads of attention's backward pass one call of cuDNN takes.
//
// Its ordered kernel (the sums of dq in a fixed order) writes a 16-bit score for every query and
// key: a workspace quadratic in the sequence, and 1.64 times the time at 32768 tokens on an H200
// (bench/results/2026-11-22-long-h200.txt). So heads with more than CUDA_HEAD_SCORES of them go to
// a kernel of ours (cuda_sdpa_heads.cuh) or, where that cannot, to the one that adds to dq as it
// comes: a workspace linear in the sequence, bits that differ from run to run. Of shorter ones a
// call takes as many heads as CUDA_HEAD_ROOM allows. So whether a run repeats hangs on the length
// and not on the batch. The planner counts the same calls (synth/passes/workspace.h);
// tests/runtime/limits_test.c compares.

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

static inline int64_t cuda_to_tiles(int64_t n, int64_t tile)
{
    return (n + tile - 1) / tile * tile;
}

// b samples of hk key heads, each with `group` query heads of q queries and k keys; none is 0.
static inline cuda_head_split cuda_heads_at_once(int64_t b, int64_t hk, int64_t group, int64_t q,
                                                 int64_t k)
{
    int64_t scores = cuda_to_tiles(q, CUDA_HEAD_ROWS) * cuda_to_tiles(k, CUDA_HEAD_KEYS) * 2;
    int64_t most = ((int64_t)CUDA_HEAD_ROOM << 20) / (scores * group); // key heads
    if (scores > (int64_t)CUDA_HEAD_SCORES << 20 || most < 1)
        return (cuda_head_split){b, hk, false};
    if (most < hk) return (cuda_head_split){1, cuda_divisor(hk, most), true};
    return (cuda_head_split){cuda_divisor(b, most / hk), hk, true};
}

// Bytes of workspace that the kernel of cuda_sdpa_heads.cu wants at most of heads that are too long
// for cuDNN's ordered one: dq in f32, what softmax gives each query, a count for each 64 of them.
static inline int64_t cuda_heads_room(int64_t heads, int64_t q, int64_t e)
{
    int64_t rows = cuda_to_tiles(q, CUDA_HEAD_KEYS);
    return heads * (rows * (e + 2) + rows / CUDA_HEAD_ROWS) * 4 + 4;
}

#endif
