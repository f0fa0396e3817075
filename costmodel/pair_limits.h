// Numbers of the search for the chunks of an overlapped pair (overlap_search.c): name, value, unit
// and meaning, and how chosen. tests/house/constants.sh finds those that stand elsewhere.
//
//   [set]    as first chosen, not varied since; tests/costmodel/overlap_search_test.c compares the
//            search with all chunkings of small grids
//   [tried]  changed after such comparisons
//   [size]   room of a table

#ifndef HAP_COSTMODEL_PAIR_LIMITS_H
#define HAP_COSTMODEL_PAIR_LIMITS_H

// clang-format off
#define COST_MAX_CHUNKS        24   // chunks of a pair [size]
#define COST_MAX_PAIR_RANKS    16   // members of a pair, but of an all-reduce's [size]
#define COST_PAIR_KNOWN        256  // times of rows that are kept, a power of two [tried]
#define COST_PAIR_MAX_SPLIT    6    // chunks of one member's rows [size]
#define COST_PAIR_UNITS        16   // of a chunk: what is moved from one to another at once [set]
#define COST_PAIR_WHOLE_UNITS  24   // of an all-reduce's rows, which its chunks share [tried]
#define COST_PAIR_WHOLE_CHUNKS 8    // chunks of an all-reduce [set]
#define COST_PAIR_WHOLE_QUICK  4    // the same in a quick search [set]
#define COST_PAIR_WHOLE_BEND   0.5  // growth from one chunk to the next, a step of two [set]
#define COST_PAIR_WHOLE_WORSE  1.02 // times the best: more chunks than lose so much are left [set]
#define COST_PAIR_LIST_PARTS   8    // of each member, of a list of tiles with sums [tried]
#define COST_PAIR_LIST_PLAIN   4    // parts of a member at which forms of tiles are compared [tried]
#define COST_PAIR_LIST_FORMS   2    // of those so many are searched [tried]
#define COST_PAIR_STORES       1    // 1: lists of sums by stores are planned; all-gathers lose [set]
#define COST_PAIR_PARTS        1    // 1: lists of all-gathers have parts of k [set]
#define COST_TILE_CLUSTERS     160  // of a device: processors by two [size]
#define COST_PAIR_ORDERS       6    // passes over orders of chunks; a quick search has one [set]
#define COST_PAIR_ROUNDS       3    // of relays, orders and sizes in turn [set]
#define COST_PAIR_GAIN         1e-3 // of the time: a round that gains less is the last [set]
#define COST_PAIR_FEW_MEMBERS  6    // with fewer, layers begin at every distance, else at two [set]
// clang-format on

#endif
