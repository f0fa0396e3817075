// Buffers that may share bytes.

#ifndef HAP_SYNTH_ARENA_ALIAS_H
#define HAP_SYNTH_ARENA_ALIAS_H

#include "synth/plan/liveness.h"

// Puts views on their operands, all-reduces and sums in place, where the bytes allow it.
void arena_alias(arena_live *l);
// A sum that a collective reads lies in the symmetric segment: so does what it is added up in.
void arena_sums(syn_program *p);

#endif
