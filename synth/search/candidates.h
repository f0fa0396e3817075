// The pool of a synthesis (pool.h) as it grows: which of the plans that searches gave are kept.
// Inside synth only: explore.c decides what to search, searches.c does, simulated.c makes plans of
// choices, settle.c says whether a plan fits, synthesize.c makes the result.
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

double pool_price_of(const pool *p, const syn_space *s); // on memory, as of search_options
// Where a search among few layers ended, to begin there among all.
syn_lead pool_lead_of(pool *p, const syn_space *s);
double pool_best_known(const pool *p); // of this variant of the step or another; 0: none
// For the best, without pairs and with them; fills sec_paired.
void pool_offer(pool *p, candidate *c);
// Frees what belongs to no candidate that is still in play; one and two may be NULL.
void pool_forget(pool *p, const candidate *one, const candidate *two);
// What is left becomes the caller's; the arenas of these, too, are still in play.
void pool_keep_all(pool *p, candidate *one, candidate *two);
// Makes equal conversions once, in a candidate that is the plan and in what the pool knows of it;
// and its pairs anew: p->paired, if that is the fastest.
void pool_share_moves(pool *p, candidate *c);
void pool_search_locally(pool *p,
                         candidate *c); // integer moves of a rolled one, on tables of its own
void pool_pick_forms(pool *p,
                     candidate *c); // collectives in other forms, where what these need fits
board *pool_board_of(const pool *p, const syn_mesh *mesh);

#endif
