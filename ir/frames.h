// A node's index structure before factors are known: every dim of every operand and output as a
// list of the node's letters. Formulas give it directly; views have a C function (frames.c).
// Propagation (factorize.c) aligns the dims with the letters, rules.c reads the result off.

#ifndef HAP_IR_FRAMES_H
#define HAP_IR_FRAMES_H

#include "ir/factor_atoms.h"
#include "ir/formula.h"

enum { IR_MAX_FRAME_LETTERS = 24 };

typedef struct ir_frame_dim {
    int8_t n; // 0: a dim of size 1
    int8_t letter[IR_MAX_LETTERS];
} ir_frame_dim;

typedef struct ir_frame {
    int n; // letters, each of size > 1
    int64_t size[IR_MAX_FRAME_LETTERS];
    bool whole[IR_MAX_FRAME_LETTERS];
    bool window[IR_MAX_FRAME_LETTERS]; // of windows: whole in all nodes
    int atom[IR_MAX_FRAME_LETTERS];    // set by factorize.c
    bool flat; // reshape: operand and output agree as one sequence; no letters
    int8_t term[IR_MAX_IN];
    int n_terms;
    ir_frame_dim in[IR_MAX_IN][IR_MAX_RANK], out[IR_MAX_OUT][IR_MAX_RANK];
} ir_frame;

void ir_frame_of(hb_arena *a, const ir_graph *g, int node, ir_frame *f);

#endif
