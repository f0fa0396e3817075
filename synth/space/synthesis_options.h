// What a synthesis is asked for.

#ifndef HAP_SYNTH_SYNTHESIS_OPTIONS_H
#define HAP_SYNTH_SYNTHESIS_OPTIONS_H

#include <stdio.h>

#include "synth/plan/program.h"
#include "synth/space/pins.h"
#include "synth/space/strategy.h"

typedef enum { SYN_MESH_AUTO, SYN_MESH_FLAT, SYN_MESH_MACHINES } syn_mesh_choice;

bool syn_mesh_parse(hb_str s, syn_mesh_choice *out); // "auto", "flat", "machine"

struct record;            // synth/certify/record.h
struct syn_known_sets;    // synth/search/known_sets.h
struct syn_known_choices; // synth/search/known_choices.h
struct syn_move_prices;   // synth/price/move_prices.h

// Where the search among few layers (ir/fold.h) ended: the search among all begins there.
typedef struct syn_lead {
    const struct syn_mesh *mesh;             // on which devices, on one axis or two
    const struct syn_partitions *partitions; // its cuts, of the folded step's sets
    const double *weight;                    // by class of the mesh
    double price;                // on memory: seconds for a full one of each class; 0: none
    bool memory_first;           // as the search was that ended there
    syn_strategy strategy;       // whose plan it was
    const struct syn_lead *next; // another one, which is looked at, too; NULL: none
} syn_lead;

// Weight gradients of a stage: among the others, behind them (which are sent first), or as a part
// of the slot of its own behind them.
typedef enum { SYN_WEIGHTS_AMONG, SYN_WEIGHTS_LAST, SYN_WEIGHTS_APART } syn_weight_gradients;

typedef struct syn_options {
    syn_strategy strategy;
    syn_mesh_choice mesh;
    bool keep_grads;
    bool no_pairs;                   // collectives and products follow each other
    bool baselines;                  // also simulate the other strategies, for the report
    double time_limit_sec;           // 0: none
    double effort;                   // times the usual work of the search: 1 and more
    int first_draw;                  // of the numbers that are drawn near a finished plan
    double most_work;                // states of a search, as if time were up; 0: any number
    int64_t small_param;             // parameters with fewer elements stay R (65536)
    int64_t copy_bytes;              // tensors of at least this size may hold a second copy (1 MiB)
    const syn_pins *pins;            // NULL: none
    const volatile int *interrupted; // Ctrl-C: return the best so far
    int64_t micro_batches;           // syn_plan: so many; 0: its choice
    const bool *again;               // syn_plan: blocks to compute again; NULL: its choice
    bool vary_chunks, vary_blocks; // syn_plan: chosen after few layers, too, where there is a plan
    bool after_few; // few of the layers were searched first: devices and variants were chosen there
    double worth;   // syn_plan: seconds that a plan must beat; 0: none
    const syn_lead *lead;         // NULL: none
    const struct pool *ended;     // a result's: states are fixed in its plan, no more; NULL: none
    bool all_devices;             // none is left out
    bool brief;                   // starting ratios alone, without what makes a plan better still
    const bool *devices;          // by rank of the cluster: these alone, all; NULL: any
    struct syn_known_sets *known; // of devices, from other variants of the step; NULL: none
    struct syn_known_choices *choices; // of other searches of the step; NULL: none
    struct syn_move_prices
        *prices;                  // of collectives, from other searches on the cluster; NULL: none
    syn_weight_gradients weights; // of a stage: when they are made; of a plan of stages: or later
    bool wary;                    // of few layers: workspace counts, as far as it is known
    // Where memory binds: states may lie where it is free, workspace counts from the first plan.
    bool memory_first;
    bool loose; // what fits with nothing in flight alone does not count (another variant may)
    const char *dump_after; // letters of passes behind which plans are printed (passes.h); NULL
    FILE *log;              // NULL, or where every plan that is simulated gets a line
    void (*progress)(
        void *ctx); // NULL, or called for each of them, to show that the search goes on
    void *progress_ctx;
    // NULL, or told of those that variants may be made of; then plans are looked for over memory
    // prices as well (syn_plan).
    void (*simulated)(void *ctx, const syn_program *p, double sec);
    void *simulated_ctx;
    // NULL, or told of plans that were dropped: they did not pass the certificate, in the checker's
    // words. A bug of the planner or of the checker.
    void (*rejected)(void *ctx, hb_str why);
    void (*before_check)(void *ctx, struct record *r); // tests alone: spoils what is checked
    void *check_ctx;
} syn_options;
syn_options syn_default_options(void);
// States of searches that are the usual work, times the effort that is asked for.
double syn_work(const syn_options *o);

#endif
