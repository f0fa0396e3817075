// The pool of a synthesis: the boards that are searched, the plans that searches gave, and the best
// of them.

#ifndef HAP_SYNTH_POOL_H
#define HAP_SYNTH_POOL_H

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
    double filled; // of the fullest class's capacity: what its arena takes, at most if it fits and
                   // nobody measures that; 0: not asked
    bool in_order_less;    // with collectives started in the program's order it holds less
    bool rolled;           // with loops
    bool placed;           // and with an arena
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
    double named;                   // of the fastest of a strategy but `auto`, likewise
    double near; // the least of all, longer where they are far from fitting; 0: none
    double baseline[SYN_MAX_STRATEGIES]; // seconds; < 0: none that fits, or not asked for yet
    bool asked[SYN_MAX_STRATEGIES];
    ms_warm *warm[SYN_MAX_STRATEGIES];
    const ms_tile *repeats[SYN_MAX_STRATEGIES];
} board;

// A plan in which states were fixed.
struct fixed_plan {
    double sec;
    const syn_mesh *mesh;
};

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
    // Of the meshes with the fastest plans that fit: each one's, of no strategy but `auto`, and
    // that of searches in which transfers may hide; none while nothing wants them.
    candidate of_mesh[SYN_FINISHED];
    int n_of_mesh, most_of_mesh;
    candidate of_strategy; // the fastest that fits of a strategy but `auto`; none likewise
    candidate of_all;      // the fastest of `auto` that fits on all devices; none likewise
    // The best where the exploration ended, and before it proposed other strategies' plans; none
    // where a plan is finished.
    candidate explored, of_auto;
    candidate rival;  // near the best, of other searches: the one that takes least when it wins
    double rival_sec; // what it takes then
    const candidate *held;    // must not be forgotten either; NULL: none
    const hb_arena *aside[2]; // nor what lies in these
    const candidate *also;    // nor the n_also plans here
    int n_also;
    const hb_arena *whole; // nor the best plan on all devices, while others are looked at
    double enough;         // least paired_alone of those that fit; 0: none
    candidate smallest;    // least share, for the message when nothing fits
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
    bool measure;     // how many bytes an arena takes, not only whether it fits
    bool no_put;      // no one-sided puts, whatever memory costs
    const struct syn_least_times *least_times; // for bounds of sets of devices; NULL: not made yet
    const struct syn_kinds **kinds;            // by strategy, of all boards; NULL: not made yet
    struct syn_listed *listed;                 // of all boards
    HB_VEC(board *) boards;                    // the first n_whole of them over all devices
    int n_whole;
    bool far_ahead;            // one machine is, of all devices, by first plans
    HB_VEC(hb_arena *) arenas; // of candidates that may still be wanted
    int n_solved, n_states;
    double work; // states of all searches
    HB_VEC(struct fixed_plan) fixed;
    double fixing;    // of these, of searches with states fixed and for pairs
    double ahead;     // seconds of the best plan that is finished already; HUGE_VAL: none is
    double spared;    // states of looks at sets of devices that were left, of equal proposals
    double most_work; // states; 0: any number
    bool only_leads;  // a plan that would not lead is no matter: it is not placed
    // Of what a plan loses to collectives that hide, and in waiting, the most that other forms and
    // small buckets made up for lately: a share, 1 at first.
    double won_by_forms, won_by_buckets;
    bool cut_short; // fewer devices were not tried, for its sake
} pool;

// Of best and paired the faster one.
static inline candidate *pool_leader(pool *p)
{
    bool paired = p->paired.program && (!p->best.program || p->paired.sec < p->best.sec);
    return paired ? &p->paired : &p->best;
}

#endif
