// Predicted seconds of a plan of stages: each stage by the simulator of plans, their slots and
// messages by costmodel/slots.h.

#ifndef HAP_SYNTH_PRICE_STAGES_H
#define HAP_SYNTH_PRICE_STAGES_H

#include "synth/plan/staged.h"

// Fills seconds of stages and ports and predicted_sec. Programs are priced and have an order.
//
// A stage's step is cut where its timeline goes from one part to the next, so that a single stage
// whose slots stand one after the other takes what syn_simulate says. A message goes over the
// network: its latency and what the busiest machine of either end sends or gets, each receiver its
// own part, all that hold a part sending as much of it. Ports do not share network links, nor with
// collectives inside stages.
void syn_price_stages(hb_arena *a, syn_staged *p);

#endif
