// Strategies: what a search may choose. A strategy is one row of the table in strategy.c, and this
// is all that sets it apart; docs/how_to_strategy.md adds one.
//
// Row 0 searches for the best plan. The others, the baselines, are what people do by hand: the same
// search, with less to choose from.

#ifndef HAP_SYNTH_STRATEGY_H
#define HAP_SYNTH_STRATEGY_H

#include "ir/graph.h"
#include "synth/plan/search_limits.h"
#include "synth/plan/state.h"
#include "synth/space/partitions.h"

typedef int syn_strategy; // a row of the table
enum { SYN_AUTO = 0 };
extern const int syn_n_strategies; // rows

// Of a factor class: is it the batch, is it a dim of an input, of a parameter?
typedef struct syn_class_facts {
    bool batch, of_input, of_param;
} syn_class_facts;

// Of a state in which an input, a constant or a value might be kept.
typedef struct syn_keep_facts {
    bool cut;          // on some axis
    bool by_batch;     // and by nothing but the batch
    bool feeds_update; // the tensor is an operand of the update
} syn_keep_facts;

// Of a form that a node might have.
typedef struct syn_form_facts {
    const ir_node *node;
    bool large_update;                 // updates in place a parameter that is not small
    int cuts, batch_cuts;              // on how many axes it cuts a factor, the batch
    bool reads_partial, makes_partial; // of its operands or outputs, any
} syn_form_facts;

// What a tensor is to those whose parameters are no object of collectives.
typedef enum {
    SYN_PART_VALUE,
    SYN_PART_PARAM, // a parameter, or a view or cast of one
    SYN_PART_GRAD   // a parameter's complete gradient
} syn_part;

// Which parameters may be kept cut: those of small_param elements and more, or any.
typedef enum { SYN_CUT_NONE, SYN_CUT_LARGE, SYN_CUT_ANY } syn_cut_params;

typedef struct syn_strategy_row {
    const char *name;
    int n_start; // starting ratios, the first one first
    syn_starting_ratio start[SYN_N_STARTING_RATIOS];
    // What may be cut and kept; NULL: whatever can be.
    bool (*may_cut)(const syn_class_facts *c);
    bool (*may_keep)(const syn_keep_facts *k);
    syn_cut_params params;
    unsigned prefer_cut; // 1 << ir_tensor_kind: kept in the states with most cuts
    // The rule of forms; NULL: all. A node has those of its forms that rank highest, all if none
    // ranks above 0.
    int (*rank)(const syn_form_facts *f);
    // Which single moves there are; NULL: all.
    bool (*may_move)(syn_part part, const syn_axis_state *from, const syn_axis_state *to);
    bool buckets;   // small all-reduces travel together
    bool multi_hop; // a conversion may be several moves
    bool one_axis;  // on flat meshes alone
    bool proposed;  // what it does is a proposal of the whole search, on every set of devices
} syn_strategy_row;

const syn_strategy_row *syn_strategy_of(syn_strategy s);
// The first that has the same to choose from: another starting ratio is all that tells them apart.
syn_strategy syn_strategy_like(syn_strategy s);
const char *syn_strategy_name(syn_strategy s); // "auto", "dp-even", ...
bool syn_strategy_parse(hb_str s, syn_strategy *out);
syn_strategy syn_strategy_named(const char *name); // of a name that is in the table
hb_str syn_strategy_names(hb_arena *a);            // "auto, dp-even, ..."

#endif
