// How rows lie by expert for tile_experts.h, and the list of their tiles, as the device finds them:
// thread by thread, so that a host's compiler takes it too.

#ifndef HAP_RUNTIME_CUDA_TILE_EXPERT_LIST_H
#define HAP_RUNTIME_CUDA_TILE_EXPERT_LIST_H

#include <stdint.h>

#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/tile_list.h"

#ifdef __CUDACC__
#    define TILE_BOTH __host__ __device__
#else
#    define TILE_BOTH
#endif

namespace tile
{
// A cluster's two tiles lie below each other.
enum { EXPERT_PAIR = CUDA_EXPERT_PAIR, EXPERT_TILE_COLS = CUDA_EXPERT_COLUMNS };

struct expert_list {
    const int *x_row, *y_row, *first; // of tile_experts
    int held, cols, group; // cols: of the result; group: of pairs of tiles that share columns
    int down;              // of dw the result's rows, else 0
    int *x_at, *y_at;      // the row of x, of y, at each place, -1: none
    tile_entry *entry;
    int *places, *entries; // how many there are

    TILE_BOTH int count(int e) const { return first[e + 1] - first[e]; }
    // Places of an expert. A gradient without rows is a sum of zeros.
    TILE_BOTH int width(int e) const
    {
        const int n = (count(e) + CUDA_EXPERT_ROWS - 1) / CUDA_EXPERT_ROWS * CUDA_EXPERT_ROWS;
        return n == 0 && down > 0 ? CUDA_EXPERT_ROWS : n;
    }
    TILE_BOTH int across() const { return (cols + EXPERT_TILE_COLS - 1) / EXPERT_TILE_COLS; }
    TILE_BOTH int pairs(int e) const
    {
        return ((down > 0 ? down : count(e)) + EXPERT_PAIR - 1) / EXPERT_PAIR;
    }
    // Entry i of an expert whose places begin at `start`: groups of pairs, column by column, so
    // that the operands of those under way are few.
    TILE_BOTH tile_entry entry_at(int e, int start, int i) const
    {
        const int of_group = group * across(), from = i / of_group * group, left = pairs(e) - from;
        const int high = left < group ? left : group, in = i % of_group;
        const int row = (from + in % high) * EXPERT_PAIR;
        tile_entry t = {};
        t.row = down > 0 ? row : start + row, t.col = in / high * EXPERT_TILE_COLS;
        t.rows = down > 0 ? down : start + width(e), t.cols = cols;
        t.place = e;
        if (down > 0) t.from = start / CUDA_EXPERT_ROWS, t.steps = width(e) / CUDA_EXPERT_ROWS;
        return t;
    }
    // What thread `me` of `all` writes of expert e. steps: of k, where no expert has its own.
    TILE_BOTH void write(int e, int me, int all, int steps) const
    {
        int start = 0, at = 0;
        for (int j = 0; j < e; j++)
            start += width(j), at += pairs(j) * across();
        for (int i = me; i < width(e); i += all) {
            const bool there = i < count(e);
            x_at[start + i] = there ? x_row[first[e] + i] : -1;
            y_at[start + i] = there ? y_row[first[e] + i] : -1;
        }
        const int n = pairs(e) * across();
        for (int i = me; i < n; i += all) {
            tile_entry t = entry_at(e, start, i);
            if (down == 0) t.steps = steps;
            entry[at + i] = t;
        }
        if (me == 0 && e + 1 == held) *places = start + width(e), *entries = at + n;
    }
};

// At most so many places and entries of `rows` rows.
inline int64_t expert_places(int64_t rows, int64_t held)
{
    return (rows / CUDA_EXPERT_ROWS + held) * CUDA_EXPERT_ROWS;
}
inline int64_t expert_entries(int64_t rows, int64_t held, int64_t down, int64_t cols)
{
    const int64_t across = (cols + EXPERT_TILE_COLS - 1) / EXPERT_TILE_COLS;
    return across *
           (down > 0 ? held * ((down + EXPERT_PAIR - 1) / EXPERT_PAIR) : rows / EXPERT_PAIR + held);
}
} // namespace tile

#endif
