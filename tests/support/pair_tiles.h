// A list of tiles for a pair (hap_tiles), drawn at random: any form, groups of its own, sums where
// own tiles end, all-reduces by rows, stores, parts of k.

#ifndef HAP_TESTS_PAIR_TILES_H
#define HAP_TESTS_PAIR_TILES_H

#include <string.h>

#include "core/pair.h"
#include "tests/support/pair_via.h"

enum { PAIR_TILES_GROUPS = 64 };

// below(n): a number of [0, n). n: members; chunk: room for PAIR_TILES_GROUPS.
static inline hap_pair_tiles pair_tiles_draw(int64_t (*below)(int64_t), hap_coll_kind kind, int n,
                                             int64_t (*chunk)[3])
{
    static const int forms[][3] = {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent) {rows, cols, turns},
#include "hap/tiles.def"
    };
    const int *form = forms[below(sizeof forms / sizeof *forms)];
    const bool by_rows = kind == HAP_ALL_REDUCE && below(3) > 0;
    const bool sums = by_rows || (kind == HAP_REDUCE_SCATTER && below(3) > 0);
    hap_pair_tiles t = {.said = true, .rows = form[0], .cols = form[1]};
    t.how = (form[2] ? HAP_TILE_TURNS : 0u) | (sums ? HAP_TILE_SUMS : 0u) |
            (by_rows ? HAP_TILE_BY_ROWS : 0u) | (below(2) ? HAP_TILE_FIRST : 0u);
    if ((sums || kind == HAP_ALL_GATHER) && below(2)) t.how |= HAP_TILE_STORES;
    if (kind == HAP_ALL_GATHER && !form[2] && below(2)) t.how |= HAP_TILE_PARTS;
    const int first = sums ? 1 : 0, members = kind == HAP_ALL_REDUCE && !by_rows ? 1 : n;
    for (int own = 0; own <= first; own++) { // with sums: own ones in a second round, behind
        const int from = t.n_chunks;
        for (int d = own ? 0 : first; d < (own ? 1 : members); d++)
            for (int64_t k = 1 + below(3); k > 0; k--) {
                int at = t.n_chunks++, to = from + (int)below(at - from + 1);
                memcpy(chunk[at], chunk[to], sizeof *chunk);
                chunk[to][0] = d, chunk[to][1] = 1 + below(4), chunk[to][2] = 0;
            }
    }
    for (int k = 0; k < t.n_chunks && kind == HAP_ALL_GATHER && !(t.how & HAP_TILE_STORES); k++) {
        int64_t via = below(n);
        if (pair_via_fits((const int64_t(*)[3])chunk, t.n_chunks, k, via)) chunk[k][2] = via;
    }
    t.chunk = (const int64_t(*)[3])chunk;
    return t;
}

#endif
