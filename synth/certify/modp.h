// Part 2 of the certificate (docs/theory.md section 6): a proof modulo p = 2^61 - 1, call by call.
//
// The record is walked. A buffer holds a value of the graph (modp_graph.c) in a state: cut as
// declared, on every other axis the same everywhere, or a partial sum or maximum. A call must make
// a value of the graph from those its operands hold. Random numbers are drawn for the operands, on
// *shrunken* sizes (modp_shrink.c); every kept rank (modp_ranks.c) is given its parts, computes
// them by the hand-written meanings of modp_points.c, modp_stats.c, modp_dense.c, modp_conv.c and
// modp_moe.c, and the parts left must make up what one rank computes (modp_call.c). That is how the
// result's buffers lie from then on, until their bytes are written (modp_bytes.c). At the end every
// home, the loss and the saved gradients hold the graph's next values, whole. Nothing here looks at
// formulas, terms or reducers of the op table.
//
// What follows: by induction over the calls, every rank computes the graph. A call is a function of
// operands, tables and attributes alone; calls that are equal in op, attributes, declared dims,
// tables and states are proved once, so that the layers of a model cost what one does. Why small
// sizes and few ranks suffice, for which patterns of calls (modp_pattern.c refuses the others), and
// with what chance of an error: docs/theory.md section 6, "Small sizes".

#ifndef HAP_SYNTH_MODP_H
#define HAP_SYNTH_MODP_H

#include "synth/certify/record.h"

// For every synthesized plan and every checked program. False if something differs or the record
// cannot be run; *why is one sentence naming the first such call or tensor. *ran is false where
// views keep sizes so large that it was left out (then true is returned).
bool syn_check_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, bool *ran,
                    hb_str *why);

// The same without a limit; different seeds draw different inputs and hash keys.
bool syn_modp(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, uint64_t seed,
              hb_str *why);

// The oracle of shrinking, for tests: all sizes and all ranks as they are, and no pattern refused.
bool syn_modp_exact(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r,
                    uint64_t seed, hb_str *why);

#endif
