// Orders of slots: which half of which micro-batch each stage of a pipeline does next.
//
// Found by playing the stages in time, each doing what it can: a backward half whose gradient is
// there, else a forward half whose value is there, if no more than `depth` micro-batches are under
// way then; what begins earlier, if neither is there. With enough depth this is eager 1F1B; with
// equal stages, no seconds of messages and depth S - s in stage s of S it is 1F1B.

#ifndef HAP_COSTMODEL_SLOT_ORDER_H
#define HAP_COSTMODEL_SLOT_ORDER_H

#include <stdbool.h>

#include "ir/base/arena.h"

typedef struct cost_pipe_stage {
    double before, forward, backward; // seconds: ahead of the micro-batches, of a half
    int depth;                        // most micro-batches under way, from 1 on
} cost_pipe_stage;

typedef struct cost_pipe_port { // up: behind a forward half, ahead of a later stage's; down: so
                                // back
    int from, to;
    double sec;
} cost_pipe_port;

typedef struct cost_slot {
    int m;
    bool back;
} cost_slot;

// order[s]: the 2 x micro halves of stage s, in arena a; under_way[s]: how many micro-batches are
// at most under way there. Ports go up or down between any stages. O(slots x (stages + ports)).
void cost_order_slots(hb_arena *a, int n_stages, const cost_pipe_stage *stage, int n_ports,
                      const cost_pipe_port *port, int micro, cost_slot **order, int *under_way);

#endif
