// What plans the variants of one step: of a step as it is, of few of its layers, of a set of
// devices.
//
//     planner p = planner_of(a, step, m, o);
//     p.effort = &effort;
//     planner_variants(&p);          on all devices
//     planner_sets(&p);              on some
//     planner_rest(&p);              what was left for later, so that each had its turn
//
// Its parts: variants.c, few_layers.c.

#ifndef HAP_SYNTH_PLANNER_H
#define HAP_SYNTH_PLANNER_H

#include <math.h>

#include "ir/variant.h"
#include "synth/search/known_sets.h"
#include "synth/search/synth.h"

typedef struct wish {
    int64_t chunks;
    const bool *again;
    uint64_t kinds; // of the blocks: sets of as many blocks of each kind have the same
    double sec;
    bool done;
} wish;

// Where a search among few layers ended.
typedef struct ending {
    int64_t chunks;
    const bool *again;
    double sec[2]; // of plans without pairs, with them; HUGE_VAL: none
    syn_lead lead;
} ending;

// What planning a variant has come to.
struct look {
    double sec;      // of the fastest plan that fits; HUGE_VAL: none
    double quickest; // of all that were simulated, whether they fit or not
    double share;    // of memory that the leanest of these takes
    bool tight;      // memory shaped the fastest that fits
};

// What all planners of a step have done.
struct effort {
    double work;    // states of all searches
    bool cut_short; // something was left out, for its sake
};

// A variant whose search with memory first waits for others: what it has come to without.
struct waiting {
    int64_t chunks;
    const bool *again;
    struct look first;
};

// A variant that was planned.
struct seen {
    int64_t chunks;
    const bool *again;
    double sec;      // of the fastest plan that fits; HUGE_VAL: none
    double quickest; // of all that were simulated, whether they fit or not; 0: none
    double share;    // of memory that the leanest of these takes
    bool loose;      // not with every effort
};

typedef struct planner {
    hb_arena *a;
    ir_graph *step;
    const cost_model *m;
    const syn_options *o;
    syn_result best;
    bool any; // best is a result
    // Of a large step, in whose best plans states are fixed last of all: the next behind the best;
    // ended NULL: none is near.
    bool large;
    syn_result next;
    // The best plan without pairs, which alone decides what is planned next: pairs only add plans.
    const syn_program *plain; // NULL: none fits
    double plain_sec;
    struct look last; // of the variant planned last, in the better of two orders
    int vain;         // variants, one behind the other, that memory first did not help
    struct effort *effort;
    HB_VEC(struct seen) seen;
    bool others_first; // such a search of what is planned next may wait
    HB_VEC(struct waiting) waiting;
    const struct planner *all; // of a set of devices alone: what was found on all; NULL
    int no_gain;               // variants in a row that the set alone plans no better
    double quickest;           // of all that were simulated, whether they fit or not; 0: none
    // Of the plan that took least: share of the fullest memory, bytes of all memory on its devices,
    // and what its forward pass saved.
    double least_share, least_capacity, lean_bytes;
    int64_t lean_chunks;
    const bool *lean_again;
    bool loose;          // other variants may fit: none is worth every effort yet
    double begin, spent; // when it began; seconds of the searches alone, for the report
    double most_work;    // of a search; 0: any number
    double turn_end;     // work at which another number of micro-batches has its turn; 0: none has
    HB_VEC(int64_t) later;          // numbers that had wishes left then
    HB_VEC(struct planner *) alone; // of sets of devices, as far as they came in their turns
    HB_VEC(wish) wishes;
    uint64_t *kind;    // of each block of the step: ops and sizes
    const ir_graph *g; // that is planned
    ir_again parts;
    // That graph with its factors, and what it is: the next search may be of the same.
    struct making {
        hb_arena *arena; // NULL: none was made
        int64_t chunks;
        const bool *again;
        const ir_factors *f; // NULL: there is no such variant
        bool stays;          // a plan is of it
    } made;
    // Among few layers: where the plans ended that are to be planned whole.
    HB_VEC(ending) endings;
    bool beside;   // baselines of what is planned next, or of nearly that, were beside a plan
    bool kept;     // the whole takes about what few layers promised
    bool hopeless; // with any memory they take longer than what is to be beaten
    double bar;    // seconds of a plan on other devices, to be beaten; 0: none
    syn_known_sets known[2];    // of searches without memory first and with it
    double old_best, old_leads; // the fastest without memory first: without pairs, in all; 0: none
} planner;

static inline bool planner_fits(const planner *p)
{
    return p->plain != NULL;
}

// Seconds that a further plan must beat.
static inline double planner_to_beat(const planner *p)
{
    double own = planner_fits(p) ? p->plain_sec : HUGE_VAL;
    return p->bar > 0 ? fmin(own, p->bar) : own;
}

// Of a step that is planned for less than o->worth seconds alone.
planner planner_of(hb_arena *a, ir_graph *step, const cost_model *m, const syn_options *o);
// Seconds of the limit that are left: all that happens counts, graphs of variants and baselines
// too.
double planner_time_left(const planner *p);
bool planner_is_over(const planner *p);
// Is so large a share of the work that is allowed done, and a plan there?
bool planner_is_tired(const planner *p, double share);
// Is there work left to fix states in a plan?
bool planner_may_finish(const planner *p, const syn_result *r);
int64_t planner_chunks(const ir_graph *g);              // micro-batches, 1: there are none
int planner_count(const planner *p, const bool *again); // of the blocks computed again
const bool *planner_again(const planner *p); // the blocks that the best plan computes again
// What is wished for of so many micro-batches, with these blocks computed again.
wish *planner_wish(planner *p, int64_t chunks, const bool *again);
// Plans one variant, and where memory binds once more with memory first; with a lead as the search
// was that ended there. True if it is the best so far.
bool planner_plan(planner *p, int64_t chunks, const bool *again, const syn_lead *lead);
// What waited for other variants, of which one may be so quick that it is no longer worth it.
void planner_plan_waiting(planner *p);
// What of the options is asked for, or all that may fit.
void planner_variants(planner *p);
// Where memory binds, a set of devices wants other micro-batches, recomputation and memory prices
// than all of them: the sets that may be quicker, each planned as if there were no others.
void planner_sets(planner *p);
// Each number of micro-batches, on all devices and on a set of them, has a share of the work first;
// then what these turns left is planned.
void planner_rest(planner *p);

#endif
