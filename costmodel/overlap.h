// An overlapped pair: a matmul (one or more matmuls that share their rows) beside the transfer of
// its operand (*consumer*: an all-gather or all-to-all before it) or of its result (*producer*: a
// reduce-scatter, all-to-all or all-reduce behind it), in chunks of rows.
//
// A chunk is {distance, weight, via}. Consumer: rows that came from coordinate (me - distance) mod
// n; producer: rows that go to coordinate (me + distance) mod n; distance 0 are the own rows, which
// need no transfer. Chunks of one distance share its rows: of a coordinate with most rows, M, in
// proportion to their weights, part k ends at floor(M (w_1 + ... + w_k) / sum); others have of a
// part what they have rows for, so that parts are as large on all ranks and small ones end early.
// Chunks are worked on in their order on every rank,
// and messages leave in that order. A *whole* pair (all-reduce) has distance 0 only: its chunks are
// parts of all rows, each reduced over all ranks when the last of them has made it.
//
//      consumer, n = 3, chunks {0,1} {1,1} {2,1}       producer {1,1} {2,1} {0,1}
//      matmul   |--0--|  |--1--|..|--2--|             |--1--|--2--|--0--|
//      transfer  |----1----|----2----|                       |--1--|..|--2--| + add
//
// A negative weight, -w, is w and joins the chunk to the one before: the product of both is one,
// once all its rows are there, of as few ranges of rows as they are; their messages are what they
// were. A whole pair has none.
//
// Via, of a consumer: who has more rows than coordinate (own + via) sends these to that one alone,
// which passes them on once they have come; 0: straight. Chunks of distance `via` that they are in
// stand before.
//
// A link is busy with so many messages at once (`copies`), which share it; what leaves a rank and
// what arrives at one each take their time, and where ranks have unequal rows, those who send to
// one rank at a time share its link (pair_links.h). A matmul beside a transfer and the transfer go
// on at their slower rates (contention), rank by rank.

#ifndef HAP_COSTMODEL_OVERLAP_H
#define HAP_COSTMODEL_OVERLAP_H

#include "costmodel/cost.h"
#include "costmodel/pair_limits.h"

// A pair as one list of tiles (runtime/hap/runtime.h, hap_tiles): one kernel, whose clusters of two
// processors take two tiles at a time, in the order of the chunks, from each member's first row on.
//
//     consumer   tiles of others' rows wait for the parts that bring them
//     producer   a chunk is sent once its tiles are made. `sums`: own tiles come last, and each
//     waits
//                at its end for what the others made of its rows. `by_rows`, an all-reduce: members
//                have even shares of the rows, and their sums then go to all others. `stores`:
//                tiles and sums by rows leave as they are made, by the kernel, or a consumer's rows
//                from its begin on, whose first tiles end behind that
typedef struct cost_tile_form {
    int rows, cols, turns; // of a tile; two warpgroups in turns
} cost_tile_form;
enum {
#define HAP_TILE_FORM(rows, cols, turns, parts, percent) COST_TILE_##rows##x##cols##_##turns,
#include "runtime/hap/tiles.def"
    COST_TILE_FORMS
};
extern const cost_tile_form cost_tile_forms[COST_TILE_FORMS];
double cost_tile_flops(void); // of a processor, a cycle, at the peak

typedef struct cost_pair_tiles {
    const cost_tile_form *form;
    bool sums, by_rows, stores;
    bool parts; // a consumer's last tiles, which do not come out even, may be shared by their k
    int n_ops;
    const int64_t *cols, *k;      // of results, by kind and op; of operands, by kind
    int clusters[CL_MAX_CLASSES]; // by kind
    double cycle[CL_MAX_CLASSES]; // by kind: seconds
    double flag, made; // seconds: from a part's end to its tiles; from tiles to their part
} cost_pair_tiles;

typedef struct cost_pair {
    bool consumer, whole;
    bool back, late;     // of a whole pair, see pair_whole.h
    int copies;          // messages of a rank under way at a time, each to another member
    int n;               // ranks; whole: any number, others at most COST_MAX_PAIR_RANKS
    const int64_t *rows; // by coordinate: that came from it or go to it; whole: rows[0], all
    int n_kinds;         // ranks of one kind take the same time for the same rows
    const int *kind;     // by coordinate; whole: not read
    bool by_receiver;    // a message is one of who gets it (a consumer's columns of others' rows),
                         // who never passes it on; else of who sends it
    // Seconds of the matmul on some rows, of a link with one message of some rows (whole: of the
    // all-reduce of some rows, or of one of its two ways; kind 0), from a rank of a kind. Asked
    // once for each number of rows. A part of a matmul takes no less than its share of the whole:
    // large matmuls may be slower by the flop as they heat the device, which parts do as well.
    double (*matmul)(void *ctx, int kind, int64_t rows);
    double (*message)(void *ctx, int kind, int64_t rows);
    void *ctx;
    const double *after; // producer: by coordinate, seconds of adding all its rows (whole: [0], its
                         // share of all rows), range by range once all parts of it are there;
                         // NULL: none
    const cost_contention *beside; // by kind
    double gap;   // seconds by which every chunk but the first lengthens the matmul, or what its
                  // rows take beyond their share of all rows, whichever is more
    double flag;  // seconds from a message's end until its receiver goes on
    double ahead; // of a whole pair `back`: seconds from when the link is free of a message until
                  // that has come
    double launch_overhead; // seconds that the pair takes beyond its matmuls and transfers
    // cost_pair_search: of unequal rows, and where crowded > 1 (not if quick), chunks are chosen by
    // what they take as all else says, together with what they take where matmuls are done in the
    // share `quickest` of their seconds and a producer's messages take `crowded` times as long
    // beside them; quickest 0: by the former alone.
    double quickest, crowded;
    const cost_pair_tiles *tiles; // NULL: chunk by chunk. No chunk is joined then
    bool quick;                   // cost_pair_search: looks at a few groupings only
    double doubt; // seconds that one more matmul must bring to be worth it: what gaps may vary by
} cost_pair;

typedef struct cost_pair_time {
    double total;                // until all matmuls, transfers and sums of all ranks are done
    double end[CL_MAX_CLASSES];  // by kind: until its last matmul is done
    double busy[CL_MAX_CLASSES]; // by kind: matmuls alone, gaps and contention included
    double own[CL_MAX_CLASSES];  // by kind, consumer: of these what needs no transfer, at least
    double transfer;             // of the busiest link, and the sums behind it
} cost_pair_time;

int cost_pair_matmuls(int (*chunk)[3], int n); // joined chunks are one
double cost_pair_seconds(const cost_pair *p, int (*chunk)[3], int n_chunks, cost_pair_time *t);
// What cost_pair_search chooses by, least first: seconds with `doubt` and, see there, `crowded`. To
// compare chunks of one pair.
double cost_pair_choice(const cost_pair *p, int (*chunk)[3], int n_chunks);
// Matmuls on a class beside the transfer of a form.
cost_contention cost_pair_contention(const cl_class *c, cost_form form);
// Whether a pair of `matmuls` calls is clearly faster than its members one after the other: what
// the slowest rank's matmul takes and the collective in its best form.
bool cost_pair_pays(const cost_pair *p, cl_kind kind, double total, int matmuls, double matmul,
                    double transfer);
// The transfer in one piece, and the matmul before or behind it.
double cost_pair_sequential(const cost_pair *p);
// The best chunking of a family: own rows first (consumer) or last, the others by distance, the
// first, the last and all between split alike in up to 6 parts, or joined, equal, growing or
// shrinking; whole: 2 to 8 such parts. Then rows move from part to part by small steps, and chunks
// of unequal rows to other places or, where who has most would send more than anybody gets, by way
// of others. Returns the number of chunks, at most max; 0: none is faster
// than the sequence.
int cost_pair_search(const cost_pair *p, int max, int (*chunk)[3], cost_pair_time *t);

#endif
