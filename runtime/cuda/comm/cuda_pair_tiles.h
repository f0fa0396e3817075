// Pairs by a tile kernel: all tiles of a pair's matmuls in one launch (cuda_pair_list.h), in place
// of a matmul a chunk. What members tell one another is the same, so each decides by itself;
// but for an all-reduce, on which all ranks agree.
//
// Bits are those of the matmuls by that kernel, rounded as the calls round them, and added in the
// order of members: the same run after run, whatever the chunks are.
//
// While such a kernel waits it holds its processors. So it waits for parts alone that depend on
// nothing of this device but what is behind it: pairs that are `alone`, with no other collective
// under way, of which this rank might still have to add parts, on processors, before others go on.
// In other pairs, and where `sums` is not said, a producer's kernel waits for nothing.
//
//     consumer        parts come by copy engines of others, which wait for nothing of this rank but
//                     credits that it gives when its compute stream comes to the pair
//     sums            parts of this member's rows come when another's kernel has made them, and
//                     its copy engine waits for that kernel. All clusters of a kernel run at a
//                     time, each takes its tiles in the order of the list, and tiles for others
//                     come first in it: so each kernel makes those whatever others do. Streams of
//                     transfers have another priority than the compute stream, so that no transfer
//                     stands behind the kernel in a queue of the device. An all-reduce's sums are
//                     sent behind all that, to rows that no other kernel writes then
//     stores          a kernel waits for a credit that another's compute stream gives when it comes
//                     to the pair, as the copy engine does, before it stores what it has made, or a
//                     consumer's rows, which it sends before it waits for others'; sums as above.
//                     All ranks do so or none: each has flags of its own for its parts
//
// A wait that takes longer than 30 s ends the job with a message (cuda_put_late).

#ifndef HAP_RUNTIME_CUDA_PAIR_TILES_H
#define HAP_RUNTIME_CUDA_PAIR_TILES_H

#include "core/rank.h"
#include "cuda/comm/cuda_pair_list.h"
#include "cuda/comm/cuda_put.h"

struct tile_shape;

// How a pair runs. All members have the same groups: the program's list's (hap_pair_listed), or its
// chunks.
typedef struct cuda_pair_way {
    const struct tile_shape *shape; // NULL: its matmuls group by group
    bool sums;                      // are added in the kernel
    bool listed;                    // its groups are those of the list
    bool stores;                    // HAP_TILE_STORES; by all ranks, in one form
    bool parts;                     // HAP_TILE_PARTS
} cuda_pair_way;

typedef struct cuda_pair_tiled cuda_pair_tiled;

// Ways in which this rank can run the pair by tiles, at the groups that p has: the program's own
// form first, others by their price; at most `most`. With `stores` that form alone, whose kernel
// stores what it makes where it goes.
int cuda_pair_ways(hap_rank *r, const hap_pair *p, bool alone, bool stores, int most,
                   cuda_pair_way *way);
// The pair's list and maps on the device, made where they are first asked for; NULL: not while a
// step is captured.
const cuda_pair_tiled *cuda_pair_tiled_of(hap_rank *r, const hap_pair *p, cuda_pair_way way);
// Where `owner` has what `sender` made of its rows, as it lies in this rank's memory.
char *cuda_pair_slot(const hap_rank *r, const hap_pair *p, int owner, int sender);
const cuda_pair_list *cuda_pair_list_of(const cuda_pair_tiled *t);
// On the compute stream.
void cuda_pair_tiles_run(hap_rank *r, const cuda_pair_tiled *t, cuda_put *put);

// The way that is kept for pairs like this one on all ranks, by what the program says of them;
// NULL: none yet. A way that is put stays.
const cuda_pair_way *cuda_pair_way_of(hap_rank *r, const hap_pair *p, bool alone);
void cuda_pair_way_put(hap_rank *r, const hap_pair *p, bool alone, cuda_pair_way way);

void cuda_pair_tiles_end(hap_rank *r);

#endif
