// Passes: what is done to a plan between a choice of the search and a finished program, in this
// order. One table (passes.c) names them; `hapc -d LETTERS` prints the plan after each.
//
//     syn_making x = {.arena = a, .space = s, .choice = c, .costs = costs};
//     syn_passes_run(&x, SYN_PASS_LOWER, SYN_PASS_WAIT_EARLY);
//
// A pass may find nothing to do: buckets are the strategy's to want, scratch is spared and flight
// limited where memory is short. Who needs less leaves passes out.

#ifndef HAP_SYNTH_PASSES_H
#define HAP_SYNTH_PASSES_H

#include "synth/passes/bucket.h"
#include "synth/plan/program.h"
#include "synth/price/costs.h"
#include "synth/space/space.h"

typedef enum {
    SYN_PASS_LOWER,
    SYN_PASS_PLACE_WAITS,
    SYN_PASS_BUCKET,
    SYN_PASS_SPARE_SCRATCH,
    SYN_PASS_RAISE_STARTS,
    SYN_PASS_LIMIT_FLIGHT,
    SYN_PASS_WAIT_EARLY,
    SYN_PASS_OVERLAP,
    SYN_PASS_FUSE,
    SYN_PASS_SIMULATE,
    SYN_PASS_SHARE_MOVES,
    SYN_PASS_PICK_FORMS,
    SYN_PASS_ROLL,
    SYN_PASS_MEMORY,
    SYN_N_PASSES
} syn_pass_id;

// A program on its way.
typedef struct syn_making {
    hb_arena *arena;
    syn_costs *costs;
    const syn_space *space;   // lower
    const syn_choice *choice; // lower
    syn_buckets buckets;      // bucket
    bool in_order;            // raise starts: in the program's order
    double enough;            // overlap: pairs are of use if they may bring the step down to this

    syn_program *program;
    double additive;     // as lowered, under the space's weights
    double share;        // of the fullest memory that is live, as scheduled
    bool in_order_less;  // in the program's order it holds less
    syn_program *paired; // the same with pairs, NULL: none
    double paired_sec;   // of its step, or of one that may have pairs; HUGE_VAL: unknown
    double sec;          // as simulated
    cost_timeline timeline;
} syn_making;

typedef struct syn_pass {
    const char *name;
    syn_program *(*run)(syn_making *x); // which program it made or changed
    char letter;
} syn_pass;

extern const syn_pass syn_passes[SYN_N_PASSES];

// All from the first to the last one.
void syn_passes_run(syn_making *x, syn_pass_id first, syn_pass_id last);

#endif
