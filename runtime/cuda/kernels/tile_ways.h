// Forms of the tile kernel (tile_gemm.h), the lists of their tiles and what they cost. No device is
// asked.

#ifndef HAP_RUNTIME_CUDA_TILE_WAYS_H
#define HAP_RUNTIME_CUDA_TILE_WAYS_H

#include <stdbool.h>

#include "cuda/kernels/tile_list.h"

#ifdef __cplusplus
extern "C" {
#endif

// Forms of the kernel. A block's tile is rows x cols; `parts` times it counts at its flag. Forms in
// turns (parts 1) alone have activations, and they alone no parts of k.
typedef struct tile_shape {
    const char *name;
    int rows, cols, parts, turns;
} tile_shape;
enum {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent) TILE_FORM_##rows##x##cols##_##turns,
#include "hap/tiles.def"
    TILE_SHAPES
};
extern const tile_shape tile_shapes[TILE_SHAPES];

// How those tiles that do not come out even are shared: each `tiles` of them by `clusters`
// clusters, more than they, in equal parts of their k. Few clusters to a share read different k at
// a time, so that the others find operands in L2. {0, 0}: not shared; nor are tiles of forms in
// turns.
typedef struct tile_share {
    int clusters, tiles;
} tile_share;

// Rows of clusters' tiles that a group of the list has: those in flight then make about a square.
int tile_group_rows(int rows, int cols, int clusters);
// The list of all tiles of an m x n result for clusters of `sms` processors, without waits and
// signals: groups of rows, as many that the operands of the tiles in flight are few. Returns the
// entries, which are written if `list` is not NULL.
int tile_list(const tile_shape *s, int64_t m, int64_t n, int64_t k, int sms, tile_share share,
              tile_entry *list);
// The same of rows `from` to `to` of tiles of a place of `rows` x n.
int tile_list_rows(const tile_shape *s, int64_t from, int64_t to, int64_t rows, int64_t n,
                   int64_t k, int sms, tile_entry *list);
// The share of the last `left` entries of a list, by the same small price; {0, 0}: whole they take
// no longer. operands: bytes of all that the list reads.
tile_share tile_share_of(const tile_shape *s, int left, int64_t k, int64_t operands, int sms);
// The list's last entries shared so, where they do not come out even: parts behind all whole tiles,
// what adds them behind the parts. Of n entries; returns how many there are then, at most n and two
// for each cluster, which `list` has room for.
int tile_list_shared(const tile_shape *s, tile_entry *list, int n, int64_t k, int sms,
                     tile_share share);
// How often the entry's tiles count, where they signal.
int tile_arrivals(const tile_shape *s, const tile_entry *e);
int64_t tile_room(const tile_shape *s, int sms);

// Ways to run a matmul, by a small price: what the cluster with most to do takes.
typedef struct tile_way {
    const tile_shape *shape;
    tile_share share;
    double cycles; // of a processor
} tile_way;
// The best `most`, cheapest first; with_parts: also those that share. Returns how many there are.
int tile_ways(int64_t m, int64_t n, int64_t k, int sms, bool with_parts, int most, tile_way *way);

#ifdef __cplusplus
}
#endif

#endif
