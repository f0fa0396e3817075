// Searches of the pool: a choice at the cuts of a board, by what it costs added up, and its plan.

#ifndef HAP_SYNTH_SEARCHES_H
#define HAP_SYNTH_SEARCHES_H

#include "synth/search/candidates.h"

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
// As pool_search, and when the plan does not fit, with a price on memory: rising until a plan fits
// or more does not help, then half way back. keep, if not NULL, stays in memory.
bool pool_search_within_memory(pool *p, const search_options *s, const candidate *keep,
                               candidate *out);

#endif
