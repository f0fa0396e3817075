// Equal conversions of one tensor, made once.

#ifndef HAP_SYNTH_SHARE_MOVES_H
#define HAP_SYNTH_SHARE_MOVES_H

#include "synth/plan/program.h"

// A scheduled program without fusions and pairs in which no tensor is brought into the same state
// twice, where that takes no longer and its live bytes fit; p itself where there is no such thing.
syn_program *syn_with_shared_moves(syn_program *p);

// Its step: takes out the conversions that an earlier one can stand for, if that one's result is
// read again within `reach` instructions of its last use. Returns how many.
int syn_share_moves(syn_program *p, int reach);

#endif
