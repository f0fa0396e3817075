// An oracle for placements: runs a program's instructions over memory in which every 256 bytes
// remember who wrote them, for every class, twice (what one step leaves behind must not hurt the
// next).
//
// It derives nothing from live intervals. Empty string: every read found what was written for it,
// no collective's bytes were touched in flight, and the invariants of synth/plan/program.h about
// offsets and families hold.

#ifndef HAP_TESTS_ARENA_REPLAY_H
#define HAP_TESTS_ARENA_REPLAY_H

#include "synth/plan/program.h"

hb_str replay_arena(hb_arena *a, const syn_program *p);
// Loops are in order and disjoint, their repetitions alike, each slot one buffer or always a new
// one.
hb_str replay_loops(hb_arena *a, const syn_program *p);

#endif
