// Packing of rectangles: bytes by time. Knows units, chunks and spans; no program.
//
// A unit gets one base address. Its chunk k lies at base + k * size and is taken during its spans
// (positions of the step, ends included; sorted, disjoint). Two chunks may share bytes if none of
// their spans meet. A repeated buffer is one unit: one chunk if its members follow each other, a
// chunk a member if they are all saved.
//
//     arena_pack *k = arena_pack_new(a, n, unit);       // which chunks meet in time: once
//     int64_t peak = arena_pack_place(k, size, base);   // for each class: its sizes
//
// Sizes are multiples of the alignment, so bases are too. Size 0: base 0, takes nothing.

#ifndef HAP_SYNTH_ARENA_PACK_H
#define HAP_SYNTH_ARENA_PACK_H

#include "ir/base/arena.h"

typedef struct arena_span {
    int from, to;
} arena_span;

typedef struct arena_chunk {
    int n;
    const arena_span *span;
} arena_chunk;

typedef struct arena_unit {
    bool always; // all chunks are taken all the time; spans are not looked at
    int n_chunks;
    const arena_chunk *chunk;
} arena_unit;

typedef struct arena_pack arena_pack;

arena_pack *arena_pack_new(hb_arena *a, int n_units, const arena_unit *unit);
// size: bytes of one chunk, by unit. Fills base by unit; returns the bytes needed.
int64_t arena_pack_place(arena_pack *k, const int64_t *size, int64_t *base);
// The same, but the first placement found that needs at most `enough` will do.
int64_t arena_pack_within(arena_pack *k, const int64_t *size, int64_t enough, int64_t *base);
// Most bytes taken at one position: no placement needs less.
int64_t arena_pack_bound(const arena_pack *k, const int64_t *size);

#endif
