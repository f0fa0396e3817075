// The order of a plan's slots, and how many micro-batches are under way in each stage.

#ifndef HAP_SYNTH_STAGE_ORDERS_H
#define HAP_SYNTH_STAGE_ORDERS_H

#include "synth/plan/staged.h"

// The order of 1F1B with so many micro-batches under way: depth - 1 forward, then one forward and
// one backward in turn, then what is left; weight gradients that are apart behind each backward.
void syn_order_1f1b(hb_arena *a, syn_program *p, int depth);

// Chooses orders, sets the depth of every stage's graph and places its ring; prices the plan.
// Tried: 1F1B, and what cost_order_slots finds at several depths, as far as memory allows. Of those
// within SYN_DEPTH_NEAR of the fastest, the one with the least under way. most: by stage, how many
// may be under way; 0, or NULL: no limit but memory's.
void syn_choose_orders(hb_arena *a, syn_staged *p, const int *most);

#endif
