// Stages of a pipeline as sequences of work and messages, played in time.
//
// Each stage does its items in order. An item takes its seconds; then, if it has a port, it sends
// or waits for a message. A send costs the stage nothing more; the message leaves when the port has
// done with those before it, and takes the port's seconds. Ports do not slow each other down.
//
// Linear in the items. False, if stages wait for each other in a circle: then *stage is one of them
// and *item what it waits at.

#ifndef HAP_COSTMODEL_SLOTS_H
#define HAP_COSTMODEL_SLOTS_H

#include <stdbool.h>

#include "ir/base/arena.h"

typedef struct cost_item {
    double sec;
    int port; // -1: none
    bool send;
    int message; // its number, from 0 on, ascending on each port
} cost_item;

typedef struct cost_stage {
    int n;
    const cost_item *item;
    double *end;              // by item: when it has ended; filled, if not NULL
    double busy, waits, ends; // filled: seconds of work, of waiting for messages; when all is done
} cost_stage;

bool cost_play_stages(hb_arena *a, int n_stages, cost_stage *stage, int n_ports,
                      const double *port_sec, double *total, int *at_stage, int *at_item);

#endif
