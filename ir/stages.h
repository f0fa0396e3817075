// Stages: a step cut by layers into graphs that run on devices of their own.
//
// Every node belongs to one stage:
//     forward    that of its layer; what stands between layers, that of the layer before. What is
//                made of inputs and constants alone is made in every stage that reads it; what is
//                made of a parameter alone and is less (a cast), at the parameter's home
//     backward   that of the node it differentiates
//     update     that of its parameter, whose home is the first stage that reads it
// A value that is made in one stage and read in another goes through a *port*: a `send` behind what
// makes it, a `recv` ahead of what reads it first. So activations go up, their gradients down; a
// parameter that two stages read is sent from its home at the start of the step, its other gradient
// comes back behind the last micro-batch; and sums over all parameters (the norm of the gradients)
// go from stage to stage.
//
// With micro-batches the slot of a stage is two, forward (IR_SLOT) and backward (IR_SLOT_BACK): a
// stage does other micro-batches in between (node.turn). A port of a slot has a message for each of
// them, numbered by attribute `first` (node.step); others have one.
//
//     int n = ir_layers(a, step, NULL);
//     ir_stages *s = ir_stages_cut(a, variant, 2, (const int[]){0, 6}, d);   // layers 0-5, 6-

#ifndef HAP_IR_STAGES_H
#define HAP_IR_STAGES_H

#include "ir/graph.h"

enum { IR_MAX_STAGES = 64 };

typedef struct ir_port { // its number: where it stands in the list
    hb_str name;         // of the value
    int from, to;        // stages
    ir_turn turn;        // where its send and recv stand
    int sent, received;  // the value, as tensor of graph[from] and graph[to]
    int send, recv;      // their nodes
} ir_port;

typedef struct ir_stages {
    int n;
    ir_graph **graph;
    HB_VEC(ir_port) ports;
} ir_stages;

// How many layers a step has: its blocks (ir_blocks) or, where fewer than two repeat, the runs of
// the forward pass that begin with a dense op on a parameter. by_node, if not NULL: room for a
// layer of each node; -1 of those that are of no layer, and of all that are not forward.
int ir_layers(hb_arena *a, const ir_graph *g, int *by_node);
// Cuts a step or a variant of it (variant.h) into n stages; stage s begins with layer first[s],
// ascending from 0. g shares strings and initial values with the result. NULL after an error was
// added to d.
ir_stages *ir_stages_cut(hb_arena *a, const ir_graph *g, int n, const int *first, hb_diag *d);

#endif
