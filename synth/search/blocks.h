// Which blocks to compute again: what that would cost and free in one program.
//
// The program may be of any variant of the step (ir/variant.h). Where the forward pass has gone
// through blocks 0 .. j-1 and the backward pass has not come back to them, the values of those that
// are kept lie in memory, beside all else:
//
//     live bytes of blocks not computed again, of the first j  <=  capacity - the rest at that time
//
// for every j and every class. Blocks and times are those of the program at hand; within these, the
// cheapest set of blocks is found exactly up to SYN_BLOCK_GRAINS parts of a capacity
// (knapsack over nested prefixes, label by label).

#ifndef HAP_SYNTH_BLOCKS_H
#define HAP_SYNTH_BLOCKS_H

#include "ir/variant.h"
#include "synth/plan/program.h"

typedef struct syn_blocks {
    int n, n_classes;
    const bool *again; // by block: the program computes it again
    double *sec;       // by block: of doing it again
    double *computing; // of that without communication, which other states may not need
    double *bytes;     // [block][class] that it holds where it is kept
    double *room;      // [j][class], j = 0 .. n: for kept blocks of the first j
    double *capacity;  // [class]
} syn_blocks;

// parts: ir_again_of(p->g). Lives in `a`.
syn_blocks syn_blocks_of(hb_arena *a, const syn_program *p, const ir_again *parts);

// The blocks to compute again so that the program fits in `share` of every capacity, in the least
// time, none if it fits as it is; sec: of them. False if it does not fit with all.
bool syn_blocks_choose(const syn_blocks *b, double share, bool *again, double *sec);

// Does the program fit in `share` of every capacity if just these are computed again?
bool syn_blocks_fit(const syn_blocks *b, double share, const bool *again);

#endif
