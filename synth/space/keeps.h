// What tensors may be kept in: a state, and perhaps a second copy.

#ifndef HAP_SYNTH_KEEPS_H
#define HAP_SYNTH_KEEPS_H

#include "synth/space/space.h"

// Of a tensor that is a variable; empty where the strategy and the pins leave nothing.
syn_keeps *syn_keeps_build(hb_arena *a, const syn_space *s, int tensor);

#endif
