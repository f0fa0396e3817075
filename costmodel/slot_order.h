// Orders of slots: which part of which micro-batch each stage of a pipeline does next.
//
// Found by playing the stages in time, each doing what it can: a backward part whose gradient is
// there, else a forward part whose value is there, if no more than `depth` micro-batches are under
// way then; what begins earlier, if neither is there. Weight gradients that are apart fill the time
// until then. With enough depth this is eager 1F1B, or with weight gradients apart, zero-bubble;
// with equal stages, no seconds of messages and depth S - s in stage s of S it is 1F1B.

#ifndef HAP_COSTMODEL_SLOT_ORDER_H
#define HAP_COSTMODEL_SLOT_ORDER_H

#include <stdbool.h>

#include "ir/graph.h"

typedef struct cost_pipe_stage {
    double before, forward, backward, weights; // seconds: ahead of the micro-batches, of a part
    bool apart;                                // weight gradients are a part of their own
    int depth;                                 // most micro-batches under way, from 1 on
} cost_pipe_stage;

typedef struct cost_pipe_port { // up: behind a forward half, ahead of a later stage's; down: so
                                // back
    int from, to;
    double sec;
} cost_pipe_port;

typedef struct cost_slot { // forward (IR_SLOT), backward or weight gradients of micro-batch m
    int m;
    ir_turn turn;
} cost_slot;

// order[s]: the 2 x micro parts of stage s (3 x, if apart), in arena a; under_way[s]: how many
// micro-batches are at most under way there, until all their parts are done. idle: weight gradients
// fill a gap of at least so many of their own seconds; 0: any. Ports go up or down between any
// stages. O(slots x (log stages + ports)).
void cost_order_slots(hb_arena *a, int n_stages, const cost_pipe_stage *stage, int n_ports,
                      const cost_pipe_port *port, int micro, double idle, cost_slot **order,
                      int *under_way);

#endif
