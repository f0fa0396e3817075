// The declared space of one search: what shardings every node may take, what states every tensor
// may be kept in, and what every choice costs. One mesh axis or two, jointly; candidate partitions
// and class weights are given.
//
// Variables, as docs/theory.md section 5 says:
//     node      its sharding: none, one factor by one cut, or a set of partial operands
//     tensor    (parameters, inputs, constants, values with several consumers) the state it is kept
//     in, and for
//               parameters and large saved values a second copy
// Every cost is unary (op time, memory) or pairwise (conversions), so the additive optimum is found
// by min-sum elimination (solver/minsum.h). Tables are shared between equal nodes: equal layers
// have equal table pointers.

#ifndef HAP_SYNTH_SPACE_H
#define HAP_SYNTH_SPACE_H

#include "solver/minsum.h"
#include "synth/price/costs.h"
#include "synth/space/kinds.h"
#include "synth/space/partitions.h"
#include "synth/space/synthesis_options.h"

// The states one kind of tensor can have, and what moving between them costs.
typedef struct syn_states {
    int n;
    syn_state *s; // s[0] is R on every axis
    int n_ax[SYN_MAX_AXES];
    syn_axis_state *ax[SYN_MAX_AXES]; // states of each axis alone; ax[a][0] is R
    int16_t *of;   // [n_ax[0]][n_ax[1]] the state that two of them make, -1 if there is none
    double *cost;  // [n][n] weighted seconds along the best path, +inf if there is none
    int16_t *via;  // [n][n] next state on the path
    double *bytes; // [n] local bytes weighted by the memory prices, 0 without them
} syn_states;

typedef struct syn_sharding {
    syn_node_cut cut;
    uint16_t in[IR_MAX_IN], out[IR_MAX_OUT]; // states, as indices into the tensors' lists
} syn_sharding;

typedef struct syn_shardings {
    int n;
    syn_sharding *sharding;
    double *cost; // weighted seconds, with what the optimizer state's memory costs
    double *sec;  // [n][classes of the mesh] seconds of the op alone
} syn_shardings;

// What a tensor variable may be: kept in `state`, and in a second copy (-1 none).
typedef struct syn_keep {
    int16_t state, copy;
} syn_keep;

typedef struct syn_keeps {
    int n;
    syn_keep *keep;
    double *cost;
} syn_keeps;

typedef struct syn_space {
    hb_arena *arena;
    const ir_graph *g;
    const ir_factors *f;
    const cost_model *m;
    const syn_mesh *mesh;
    syn_costs *costs;
    const syn_partitions *partitions;
    syn_strategy strategy;
    const syn_options *opt;
    const syn_kinds *kinds;
    const double *weight;         // by class of the mesh, sums to 1
    double weight_comm;           // w_M
    const syn_slack *slack;       // what may hide; NULL: nothing
    const double *memory_price;   // by class: seconds per byte, NULL none
    syn_states **states;          // by tensor
    syn_shardings **shardings;    // by node
    syn_keeps **keeps;            // by tensor; NULL where the tensor is no variable
    int *node_var, *tensor_var;   // variable of the min-sum problem, -1
    syn_states **states_of;       // by kind of tensor
    syn_shardings **shardings_of; // by kind of node
    syn_keeps **keeps_of;         // by kind of kept tensor
    int (*uses)[2];               // all uses sorted by tensor: {node, operand}
    int *first_use;               // by tensor, n_tensors + 1 entries: range in uses
    ms_problem problem;
} syn_space;

typedef struct syn_choice {
    int *sharding;   // by node
    syn_keep *keep;  // by tensor; {-1, -1} where it is no variable
    double additive; // the search's value
} syn_choice;

#endif
