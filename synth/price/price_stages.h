// Predicted seconds of a plan of stages: each stage by the simulator of plans, their slots and
// messages by costmodel/slots.h.

#ifndef HAP_SYNTH_PRICE_STAGES_H
#define HAP_SYNTH_PRICE_STAGES_H

#include "synth/plan/staged.h"

// A stage's step is cut where its timeline goes from one part to the next, so that a single stage
// whose slots stand one after the other takes what syn_simulate says. A message goes over the
// network: its latency and what the busiest machine of either end sends or gets, each receiver its
// own part, all that hold a part sending as much of it. Messages of a stage share its network cards
// with each other, as if all its machines had one, with those of stages on other parts of them, and
// with what collectives inside it send over the network meanwhile (costmodel/slots.h). Between
// stages on parts of one machine a message goes over its link, from device to device.
typedef struct syn_stage_prices syn_stage_prices;

// Fills seconds of stages and ports. Programs are priced. Lives in a, as the ports' seconds do.
syn_stage_prices *syn_stage_prices_new(hb_arena *a, syn_staged *p);
// Whether they do share them (as they do, when nothing is said).
void syn_share_cards(syn_stage_prices *x, bool share);
// Plays the stages in the orders that they have now: fills predicted_sec, which it returns, and
// what stages wait. Linear in slots.
double syn_price_orders(syn_stage_prices *x);

// What a stage does when: work of one of its parts (turn), of micro-batch m, cut where it sends or
// receives.
typedef struct syn_stage_piece {
    ir_turn turn;      // BEFORE, AFTER, or a part of the slot
    int m;             // 0 out of micro-batches
    double from, work; // seconds of the stage's own timeline (syn_simulate_in)
    double begin, end; // of the step; behind begin + work it waits for a message
    int port;          // -1: none
    bool send;         // the message leaves at begin + work, or when those before it have left
} syn_stage_piece;
// By stage, in the order of time: n[s] pieces in a.
const syn_stage_piece **syn_stage_pieces(hb_arena *a, const syn_staged *p, int *n);

#endif
