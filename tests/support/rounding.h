// How far rounding moves each tensor of a step. Where terms cancel, what is left may be noise: its
// size then says nothing about how well it was computed, the size of the terms does. That size is
// measured: the step runs again with every value off by up to one rounding of its own, so that a
// sum moves by roundings of its terms, and what is made of it by what they have become.
//
//     double *move = rounding_moves(arena, g, before, after);
//     |other - after| <= ROUNDINGS * move[tensor]      whatever the order of its sums

#ifndef HAP_TESTS_ROUNDING_H
#define HAP_TESTS_ROUNDING_H

#include "tests/support/interp.h"

// Room for other orders of summing, whose roundings add up. OpenBLAS's kernels for Nehalem,
// Sandybridge, Haswell, Zen and SkylakeX take at most 1.8 of the 16 in training steps cut at
// random.
enum { ROUNDINGS = 16 };

// By tensor: the most that any element moved. before: the step's homes; after: all its values.
double *rounding_moves(hb_arena *a, const ir_graph *g, const interp *before, const interp *after);

#endif
