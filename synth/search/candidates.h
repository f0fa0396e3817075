// The pool of a synthesis: searches, the plans they gave, simulated, and the best of them. Inside
// synth only: candidates.c searches and simulates, explore.c decides what to search, synthesize.c
// makes the result.
//
// Plans are simulated without pairs and, where that may make them the best, with them too. What is
// searched next follows the former alone, so that a synthesis with pairs sees every plan that one
// without would see.

#ifndef HAP_SYNTH_CANDIDATES_H
#define HAP_SYNTH_CANDIDATES_H

#include "synth/search/known_sets.h"
#include "synth/search/synth.h"
#include "synth/space/space.h"

// One plan that was simulated.
typedef struct candidate {
    syn_program *program;
    syn_program *paired; // the same plan with pairs, neither fused nor placed; NULL: none
    double
        paired_alone;  // the step before rows are fused, with the pairs, if any; HUGE_VAL: unknown
    double sec_paired; // as simulated, if that fits; else HUGE_VAL
    cost_timeline timeline;
    double sec;
    double share;  // of the fullest class's capacity: live bytes at most, each buffer for itself
    bool fits;     // as settled, or far enough below every capacity to be sure enough until it is
    bool settled;  // whether it fits was asked of the arena, or is known without
    double filled; // of the fullest class's capacity: what its arena takes; 0: not asked
    bool rolled;   // with loops
    bool placed;   // and with an arena
    bool searched_locally; // as far as its strategy allows
    hb_arena *arena;       // its space and program
    syn_space *space;
    double additive; // without memory prices
    bool exact;      // additive is the optimum of space
    bool priced;     // memory had a price
    bool behind;     // too slow for a higher price, though it does not fit
    double hope;     // seconds of a plan that nearly fitted, at a lower price; 0, HUGE_VAL: none
    syn_choice choice;
    double lower; // proved of the search's value, memory prices included
} candidate;

// A mesh, the cuts in play on it, and what they cost.
typedef struct board {
    syn_mesh *mesh;
    syn_partitions *partitions;
    syn_costs *costs;
    HB_VEC(uint64_t) tried;         // candidate partitions that were searched
    HB_VEC(struct solved *) solved; // searches and what they chose
    double price;                   // on memory, that the last plan wanted
    double best, best_price;        // seconds of the fastest plan that fits, 0: none; its price
    syn_lead lead;                  // among few layers: that plan's
    double quickest;                // of the fastest, whether it fits or not; 0: none
    double near; // the least of all, longer where they are far from fitting; 0: none
    double baseline[SYN_MAX_STRATEGIES]; // seconds; < 0: none that fits, or not asked for yet
    bool asked[SYN_MAX_STRATEGIES];
    ms_warm *warm[SYN_MAX_STRATEGIES];
    const ms_tile *repeats[SYN_MAX_STRATEGIES];
} board;

typedef struct pool {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const cost_model *m;
    const syn_options *opt;
    board *b; // the one that is searched
    double begin, deadline;
    hb_stop *stop;    // pool_out_of_time of this pool; never, once it is gone
    candidate best;   // fastest without pairs that fits
    candidate paired; // fastest with pairs that fits
    // Of the meshes with the fastest plans that fit: each one's, of no strategy but `auto`; none
    // while nothing wants them.
    candidate of_mesh[SYN_FINISHED];
    int n_of_mesh, most_of_mesh;
    const candidate *held;    // must not be forgotten either; NULL: none
    const hb_arena *aside[2]; // nor what lies in these
    double enough;            // least paired_alone of those that fit; 0: none
    candidate smallest;       // least share, for the message when nothing fits
    // [with pairs][in two segments] least ratio of an arena's peak to the live bytes that was seen;
    // 0 none
    double waste[2][2];
    struct syn_end near; // among few layers: the fastest that nearly fits, with pairs if it has any
    double quickest; // seconds of the fastest that was simulated, whether it fits or not; 0 none
    double unfit;    // of the fastest that did not fit; 0: all did
    hb_str why;
    double baseline[SYN_MAX_STRATEGIES]; // < 0: none that fits, or not asked for yet
    bool asked[SYN_MAX_STRATEGIES];      // whether the baseline's plan within memory was looked for
    syn_others others;
    double *with_sec, *without_sec; // of others; NULL: of no interest
    bool careful, all_careful;      // every candidate is settled at once; since exploration began
    // Nothing fits otherwise: plans that are too large are simulated without anything in flight,
    // too, and prices on memory rise to the end.
    bool spare;
    bool doubtful; // a plan was rejected by its certificate: leaders are placed and proved at once
    hb_str rejected;  // the checker's last words, if a plan was
    bool thrifty;     // memory has a price although there is enough
    bool alone;       // a set of devices is searched as if there were no others
    bool looking;     // at a set of fewer devices, for the first time
    bool other_forms; // collectives that hide are simulated in other forms, too
    bool no_put;      // no one-sided puts, whatever memory costs
    const struct syn_least_times *least_times; // for bounds of sets of devices; NULL: not made yet
    const struct syn_kinds **kinds;            // by strategy, of all boards; NULL: not made yet
    HB_VEC(board *) boards;                    // the first n_whole of them over all devices
    int n_whole;
    HB_VEC(hb_arena *) arenas; // of candidates that may still be wanted
    int n_solved, n_states;
    double work;    // states of all searches
    double spared;  // states of looks at sets of devices that were left
    bool cut_short; // fewer devices were not tried, for its sake
} pool;

double pool_now(void); // seconds
bool pool_out_of_time(const pool *p);

// Would a plan (program NULL: there is none) be another if there were more memory? One that takes a
// little longer on fewer devices, where all that was faster fits, was chosen for that.
bool pool_memory_binds(const pool *p, const candidate *plan);

typedef struct search_options {
    syn_strategy strategy;
    const syn_options *opt;
    const double *weight;   // by class
    double comm;            // w_M
    double price;           // on memory: steps' time for a full one
    double gap;             // near enough to the additive optimum
    const syn_slack *slack; // transfers that may hide; NULL: none
    bool corners; // within memory: where prices change nothing, back from the leanest plan
    double beat;  // seconds, 0: none. A search known to take as long is left: no program, HUGE_VAL
} search_options;
// One search at the cuts of p->b. False if there is no plan at all; p->why then.
bool pool_search(pool *p, const search_options *s, candidate *out);
int pool_states(const syn_space *s); // of all its variables: the work of one search
// Lowers and simulates one choice of a space that lies in `arena`.
candidate pool_simulate(pool *p, hb_arena *arena, syn_space *space, const syn_choice *choice);
// Seconds that a plan's collectives take from the computing that hides them.
double pool_taken(const pool *p, const syn_program *prog);
// The best plan with collectives in other forms, by what they take from the computing that hides
// them; and so all that is simulated from now on. Whether one is better.
bool pool_other_forms(pool *p);
double pool_price_of(const pool *p, const syn_space *s); // on memory, as of search_options
// Where a search among few layers ended, to begin there among all.
syn_lead pool_lead_of(pool *p, const syn_space *s);
double pool_best_known(const pool *p); // of this variant of the step or another; 0: none
// For the best, without pairs and with them; fills sec_paired.
void pool_offer(pool *p, candidate *c);
candidate *pool_leader(pool *p); // of best and paired the faster one
// As pool_search, and when the plan does not fit, with a price on memory: rising until a plan fits
// or more does not help, then half way back. keep, if not NULL, stays in memory.
bool pool_search_within_memory(pool *p, const search_options *s, const candidate *keep,
                               candidate *out);
// Makes equal conversions once, in a candidate that is the plan and in what the pool knows of it;
// and its pairs anew: p->paired, if that is the fastest.
void pool_share_moves(pool *p, candidate *c);
void pool_roll(candidate *c);                  // finds loops; prices again
void pool_place(candidate *c);                 // rolls, places every buffer
void pool_settle(pool *p, candidate *c);       // does it fit, by its arena or what others wasted?
double pool_overflow(const syn_program *prog); // of the fullest class; <= 0 if it fits
// Frees what belongs to no candidate that is still in play; one and two may be NULL.
void pool_forget(pool *p, const candidate *one, const candidate *two);
// What is left becomes the caller's; the arenas of these, too, are still in play.
void pool_keep_all(pool *p, candidate *one, candidate *two);
board *pool_board_of(const pool *p, const syn_mesh *mesh);

#endif
