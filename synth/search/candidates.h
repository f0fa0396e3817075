// The pool of a synthesis (pool.h) as it grows: searches, and the plans they gave, simulated.
// Inside synth only: explore.c decides what to search, settle.c whether a plan fits, synthesize.c
// makes the result.
//
// Plans are simulated without pairs and, where that may make them the best, with them too. What is
// searched next follows the former alone, so that a synthesis with pairs sees every plan that one
// without would see.

#ifndef HAP_SYNTH_CANDIDATES_H
#define HAP_SYNTH_CANDIDATES_H

#include "synth/search/pool.h"

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
// Share of the step: a plan that loses less to its transfers has nothing to hide.
double pool_least_waits(const pool *p);
// The best plan with collectives in other forms, by what they take from the computing that hides
// them; and so all that is simulated from now on. Whether one is better.
bool pool_other_forms(pool *p);
double pool_price_of(const pool *p, const syn_space *s); // on memory, as of search_options
// Where a search among few layers ended, to begin there among all.
syn_lead pool_lead_of(pool *p, const syn_space *s);
double pool_best_known(const pool *p); // of this variant of the step or another; 0: none
// For the best, without pairs and with them; fills sec_paired.
void pool_offer(pool *p, candidate *c);
// As pool_search, and when the plan does not fit, with a price on memory: rising until a plan fits
// or more does not help, then half way back. keep, if not NULL, stays in memory.
bool pool_search_within_memory(pool *p, const search_options *s, const candidate *keep,
                               candidate *out);
// Frees what belongs to no candidate that is still in play; one and two may be NULL.
void pool_forget(pool *p, const candidate *one, const candidate *two);
// What is left becomes the caller's; the arenas of these, too, are still in play.
void pool_keep_all(pool *p, candidate *one, candidate *two);
// Makes equal conversions once, in a candidate that is the plan and in what the pool knows of it;
// and its pairs anew: p->paired, if that is the fastest.
void pool_share_moves(pool *p, candidate *c);
board *pool_board_of(const pool *p, const syn_mesh *mesh);

#endif
