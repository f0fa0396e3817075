// Stages of a pipeline as sequences of work and messages, played in time.
//
// Each stage does its items in order. An item takes its seconds; then, if it has a port, it sends
// or waits for a message. A send costs the stage nothing more; a port carries one message after the
// other, each for its seconds.
//
// Messages that leave a card at the same time share it, and so do those that come to it: each goes
// on at the rate that its busier end leaves it, 1 / (how many there are). What a stage transfers
// inside itself over its card meanwhile counts as far as it fills the time, and goes on as much
// slower. Several stages may have one card: parts of a machine.
//
// O(items log stages). False, if stages wait for each other in a circle: then *stage is one of them
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
    float net;   // share of its seconds that the stage's card is busy with its own transfers
    float shown; // share of them in which the stage does nothing else
} cost_item;

typedef struct cost_stage {
    int n;
    const cost_item *item;
    int card;                 // -1: one that nothing else uses
    double *end;              // by item: when it has ended; filled, if not NULL
    double busy, waits, ends; // filled: seconds of work, of waiting for messages; when all is done
} cost_stage;

typedef struct cost_port {
    double sec;   // of a message that shares no card
    int from, to; // cards that it goes over, -1: one that nothing else uses
} cost_port;

// Cards are numbered from 0, each below n_cards.
bool cost_play_stages(hb_arena *a, int n_stages, cost_stage *stage, int n_ports,
                      const cost_port *port, int n_cards, double *total, int *at_stage,
                      int *at_item);

#endif
