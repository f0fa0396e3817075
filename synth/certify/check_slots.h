// Slots of a stage that are proved by some of them.
//
// A stage does the same calls in each micro-batch, but for the place of the ring, what messages are
// numbered, and what the first or the last does besides. In its order (syn_program) parts of other
// micro-batches stand between what makes a value and what reads it. So a stage is right in the
// order it has if
//
//     1. it is right in one order of few micro-batches, a first, a last and one between, in which
//        parts of each kind stand between any two parts of another micro-batch, and a place of the
//        ring is used again; or one after the other, if one is under way at a time;
//     2. in its own order every part of every micro-batch is done once, each kind in ascending
//        order, a micro-batch's parts one behind the other, its first when its place is free;
//     3. places of the ring do not overlap each other, nor what is not in the ring.
//
// For a part changes what others of its kind left, sums, which are in ascending order in both; its
// place, which by 2 and 3 is no other's; and bytes that are the same in all micro-batches: what it
// breaks there for a part behind it, it breaks in 1.

#ifndef HAP_SYNTH_CHECK_SLOTS_H
#define HAP_SYNTH_CHECK_SLOTS_H

#include "synth/plan/program.h"

// The program with few micro-batches in the order of 1; itself where it has no more.
const syn_program *syn_few_slots(hb_arena *a, const syn_program *p);
// 2 and 3. False: *why is one sentence.
bool syn_check_slots(hb_arena *a, const syn_program *p, hb_str *why);

#endif
