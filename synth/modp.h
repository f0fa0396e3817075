// Part 2 of the certificate (docs/theory.md section 6): a run modulo p = 2^61 - 1.
//
// The record is run on all its ranks in one process, the graph itself on one rank, both on a
// *shrunken* graph (modp_shrink.c) with the hand-written meanings of modp_points.c, modp_stats.c,
// modp_dense.c and modp_moe.c. Every home, the loss and the saved gradients must be equal element
// by element.

#ifndef HAP_SYNTH_MODP_H
#define HAP_SYNTH_MODP_H

#include "synth/record.h"

// False if an element differs or the record cannot be run; *why is one sentence naming the first
// such tensor or call. Different seeds draw different inputs and hash keys.
bool syn_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, uint64_t seed,
              hb_str *why);

// How many elements such a run would hold at most, over all ranks: for callers who have a limit.
int64_t syn_modp_size(const ir_graph *g, const ir_factors *f, const record *r);

#endif
