// A pair as one list of tiles (kernels/tile_gemm.h): which tile waits for which parts, and behind
// which tiles a part may be sent. Parts, and so all that members tell each other, are those of the
// chunks (core/pair_rows.h): a member that runs its matmuls chunk by chunk goes with one that runs
// a list.
//
//     consumer   tiles chunk by chunk; those of others' rows wait for the parts that bring them
//     producer   tiles chunk by chunk, each chunk's tiles raise its flag. With `sums` this member's
//                own rows come last, wait for what the others made of them, and add that; of an
//                all-reduce by rows (HAP_TILE_BY_ROWS) they then raise their chunks' flags, too
//     stores     (HAP_TILE_STORES) of a consumer: parts have flags of their own, for they come in
//     any
//                order. Of sums: tiles of others' rows wait for the owner's credit, go to its slot
//                and raise a flag there, each chunk's its own; sums by rows go to all, and the
//                list's last entry waits for those of the others
//     parts      (HAP_TILE_PARTS) of a consumer: the last tiles, which would be an uneven round, go
//     to
//                clusters in parts of their k (tile_list_shared)
//
// Tiles lie from the first row of each member's rows on, so chunks do not end where tiles do. A row
// of tiles belongs to the last chunk that it has rows of where it waits, to the first where it is
// made; a part then stands behind its own chunk's tiles and those of the chunk to which its first
// row's tiles belong. With stores all members have tiles of one form, and a row of tiles waits for
// the chunks whose tiles are that row at the others.

#ifndef HAP_RUNTIME_CUDA_PAIR_LIST_H
#define HAP_RUNTIME_CUDA_PAIR_LIST_H

#include "core/pair_rows.h"
#include "cuda/kernels/tile_list.h"

struct tile_shape;

typedef struct cuda_pair_list {
    tile_entry *entry;
    int n_entries, cap_entries;
    tile_wait *wait;
    int n_waits, cap_waits;
    int made[HAP_PAIR_CHUNKS][2]; // producer: chunks behind whose tiles part k is made, -1: none
} cuda_pair_list;

// Rows of the moved tensor that are member m's: a place of the list is op * members + member, row 0
// the first of them.
hap_range cuda_pair_rows(const hap_rank *r, const hap_pair *p, int member);
// The list on this rank. cols: of each op's result; k: of its operand; sms: processors of the
// kernel; how: HAP_TILE_SUMS, _STORES, _PARTS. Tallies are numbered by chunk; what it raises and
// waits for counts from cuda_put_number.
void cuda_pair_list_make(hap_rank *r, const hap_pair *p, const struct tile_shape *s,
                         const int64_t *cols, int64_t k, int sms, unsigned how, cuda_pair_list *to);
void cuda_pair_list_free(cuda_pair_list *l);

#endif
