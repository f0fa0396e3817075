// Every number that the solver was given by hand: name, value, unit and meaning, and how it was
// chosen. None changes a result where the solver ends: they decide how long it takes, and when it
// gives up (MS_TOO_LARGE). tests/house/constants.sh finds those that stand elsewhere.
//
//   [set]    as first chosen, not varied since
//   [tried]  changed after solving the examples' problems (bench/minsum_bench.c)
//   [size]   room of a table
//   [float]  rounding of doubles

#ifndef HAP_SOLVER_LIMITS_H
#define HAP_SOLVER_LIMITS_H

// clang-format off
// --- linear programs (lp.c) ---
#define LP_NAME_LENGTH  255 // characters: GLPK takes no longer name [size]
#define LP_PIVOTS       4   // times rows + columns: pivots of a simplex; 0.94 was the most of 841 [tried]
#define LP_PIVOTS_LEAST 100 // pivots more, for the smallest [set]
#define LP_EXACT        150 // rows + columns: exact arithmetic: 240 take 1 s, 430 12 s [tried]

// --- elimination (ms_eliminate.c, ms_order.c, ms_grid.c, ms_table.c) ---
#define MS_LANES       4         // doubles: rows of tables are padded to, one AVX2 vector [size]
#define MS_MOST_LOOPS  60        // variables that an eliminated one meets, bits of a mask [size]
#define MS_MAX_CELLS   (1 << 28) // doubles: 2 GiB of tables, if the caller names no limit [set]
#define MS_CHEAP_ORDER 1e6       // additions: less time than finding a better order takes [tried]
#define MS_STALE_ORDER 2.0       // times its work when made: a cached order is made anew [set]
#define MS_HUB_DEGREE  48        // neighbours: a variable with more is a hub and goes last [set]
#define MS_MOST_HUBS   64        // hubs, bits of a mask [size]
#define MS_LOG_UNIT    1024      // parts of log2: sizes of tables are compared as integers [set]
#define MS_TRANSPOSE   16        // rows of a block that is transposed at once: a cache line [set]
#define MS_FIRST_SLOTS 256       // of a hash table; it doubles [size]

// --- reduction (ms_reduce.c) ---
#define MS_GROWTH       3.0 // times: a table may grow by so much over the two it replaces [set]
#define MS_INSERT_SORT  24  // integers: longer lists go to qsort [set]
#define MS_MEMO_CELLS   4e6 // cells of tables: a memo that has more begins anew [tried]
#define MS_MOSTLY_TRIED 16  // where more than a 16th of all is listed, all are walked [set]

// --- pipelines (pipeline.c) ---
#define PL_MAX_STAGES 64        // of a plan; ir/stages.h has as many [size]
#define PL_MAX_CELLS  (1 << 24) // sets of units x layers x widths: more is too large [set]
#define PL_MAX_TRIES  32        // bottlenecks, each twice as far from the one before [size]
#define PL_GAPS       3         // places that share a gap: bottlenecks, plans, ways of a state [set]
#define PL_SAME_TIME  1e-9      // share: bottlenecks so near each other are one [float]

// --- repeated layers (ms_tile.c, ms_search.c) ---
#define MS_TILE_SIDE    2    // layers kept on each side of the cut [set]
#define MS_TILE_LEAST   8    // layers: fewer are solved as they are [set]
#define MS_TILE_RUNS    16   // runs of equal blocks in one problem [size]
#define MS_TILE_MIDDLE  5    // blocks around the middle that say how runs correspond [set]
#define MS_TILE_SPREAD  3    // blocks by which such edges may disagree [set]
#define MS_TILE_BATCH   4    // sweeps between two looks at the bound [set]
#define MS_TILE_BATCHES 16   // such batches at most [set]
#define MS_TILE_CREEP   0.05 // of what is missing: a batch that gains less is the last [set]
#define MS_TILE_DEEPER  4    // times: where few layers were hard, so many get one round [set]

// --- bound and value (ms_search.c) ---
#define MS_MET         1e-10 // of the bound: a value so near it is the minimum [float]
#define MS_NOISE       1e-13 // of the largest number: rounding in messages [float]
#define MS_ROUNDING    1e-9  // of the bound: sums in another order [float]
#define MS_MANY_STATES 2000  // states: with more, elimination is not planned before the bound [set]
#define MS_PLAIN_WORK  2e6   // additions: a problem that takes less is eliminated as it is [set]
#define MS_FIRST_WORK  2e6   // additions of an elimination in the first round [set]
#define MS_WORK_GROWTH 4     // times more from round to round [set]
#define MS_MOST_WORK   5e8   // additions of one elimination, the last: about half a second [tried]
#define MS_MOST_GROWN  16    // work grows up to MS_MOST_WORK / 16 [set]
#define MS_NEAR_WORK   8e6   // additions, up to which work grows where a gap is allowed [tried]
#define MS_ROUND_CREEP 0.05  // of what is missing: a round that gains less, at most work, is the last [set]
#define MS_HARD_WORK   1e7   // additions then, where fewer layers were hard [set]
#define MS_ROUNDS      8     // of passes and eliminations [tried]
#define MS_PASSES      96    // of messages in a round [set]
#define MS_BATCH       8     // passes between two looks at the bound [set]
#define MS_CREEP       5e-5  // of the bound: a batch that gains less is the last [tried]
#define MS_DESCENTS    8     // rounds of the best state, variable by variable [set]
#define MS_ROOM_NEAR   8     // times a room: what is missing so little is tried whole [set]
#define MS_LITTLE      1e-4  // of the bound: what is missing so little is open [tried]
#define MS_LITTLE_WORK 3.2e7 // additions: once an elimination for it takes more; 2.6e8 took 2 s [tried]
#define MS_STILL_LARGE 0.9   // of the states that were too many: as many are not tried again [set]
#define MS_MUCH_MORE   16    // times the work that did not do: then they are [set]
#define MS_ROOMS 1e-6, 1e-4, 1e-3, 1e-2 // of the bound: rooms above it, in turn [set]
// clang-format on

#endif
