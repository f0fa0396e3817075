// Where a stage (ir/stages.h) sends and receives what goes once a step. Other programs stay as they
// are.

#ifndef HAP_SYNTH_PORT_ORDER_H
#define HAP_SYNTH_PORT_ORDER_H

#include "synth/plan/program.h"

// What comes in before the micro-batches, and what is made of it alone (a cast, a conversion),
// stands before its first reader: in the slot, done in the first micro-batch alone, so that the
// message is under way meanwhile. Linear. Waits follow their starts closely.
void syn_receive_late(syn_program *p);
// In a backward part: first what is sent and all that it needs, then what is left: the gradients of
// weights. So the stage below goes on meanwhile, for the memory of what they are made of. apart:
// what is left is a part of the slot of its own (IR_SLOT_WEIGHTS). Waits follow their starts
// closely. Linear.
void syn_gradients_first(syn_program *p, bool apart);
// Behind the micro-batches: first what other stages wait for, last what waits for them. Linear.
void syn_send_first(syn_program *p);

#endif
