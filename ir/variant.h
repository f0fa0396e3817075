// Other graphs of the same step, which take less memory: micro-batches and recomputation.
//
// A variant is an ordinary ir_graph that computes what the step computes, so search, certificate,
// emit and runtime know nothing about it:
//     micro-batches K   the batch is cut in time into K equal chunks; what holds the batch is done
//                       chunk by chunk, forward and backward, what sums over it is added up in a
//                       chain, the rest (parameters' casts, the update) is done once
//     recompute       in each block that is asked for, what the backward pass reads of the block is
//                     not kept but computed again, just before, from the block's inputs
// The two go together: each chunk then recomputes its blocks.
//
//     ir_graph *step = ir_build(a, path, &options, d);     // no variant
//     bool again[] = {true, false, true};                  // of ir_blocks(step) == 3
//     ir_graph *v = ir_variant(a, step, 4, again, d);      // 4 chunks, two blocks recomputed
//
// A variant costs about as much time as ir_factorize; `step` stays as it is and is shared in part
// (strings, initial values), so it must live as long. Names: chunk k of fc1 is fc1#k, of fc1'dw it
// is fc1#k'dw, the sum of its chunks up to k fc1#..k'dw and their total fc1'dw; what is computed
// again is NAME'again.

#ifndef HAP_IR_VARIANT_H
#define HAP_IR_VARIANT_H

#include "ir/graph.h"

// NULL after an error was added to d: K does not divide the batch, or there is none. again: by
// block, NULL: none. 1 and none give `step` itself.
ir_graph *ir_variant(hb_arena *a, ir_graph *step, int64_t micro_batches, const bool *again,
                     hb_diag *d);

// Marks the blocks of the forward pass that recomputation can be asked for, in order (node.block);
// their number. 0: nothing repeats.
int ir_blocks(ir_graph *step);
// Blocks by name: "all", "3" the first three, "0,2,5-7" these. NULL after an error was added to d.
bool *ir_blocks_named(hb_arena *a, const ir_graph *step, const char *text, hb_diag *d);

// What recomputation means for a graph with marked blocks, recomputed or not, in chunks or not.
typedef struct ir_again {
    bool *inside; // by tensor: made in a block's forward pass and read there alone, or later than
                  // the forward pass
    bool *freed;  // by tensor: what recomputing its block does not keep, or, where the block is
                  // recomputed, what it makes instead
    bool *redo;   // by node: done twice then, or, where the block is recomputed, the second time
} ir_again;
ir_again ir_again_of(hb_arena *a, const ir_graph *g);

// Bytes of forward values (whole tensors) that are read behind the forward pass, a chunk's.
double ir_saved_bytes(const ir_graph *g);

// The two halves of ir_variant, in the order in which it takes them.
ir_graph *ir_recompute(hb_arena *a, const ir_graph *step, const bool *again);
ir_graph *ir_micro_batches(hb_arena *a, const ir_graph *step, int64_t k, hb_diag *d);

#endif
