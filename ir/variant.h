// Other graphs of the same step, which take less memory: micro-batches and recomputation.
//
// A variant computes what the step computes:
//     micro-batches K   the batch is cut in time into K equal chunks. The graph holds the
//                       work of one of them, forward and backward, between what is done
//                       before them (casts of parameters) and behind the last (the
//                       update): node.turn. Sums over the batch are added up from one to
//                       the next: node.adds
//     recompute         in each block that is asked for, what the backward pass reads of
//                       the block is not kept but computed again, just before, from the
//                       block's inputs
// The two go together: each chunk then recomputes its blocks.
//
//     ir_graph *step = ir_build(a, path, &options, d);     // no variant
//     bool again[] = {true, false, true};                  // of ir_blocks(step) == 3
//     ir_graph *v = ir_variant(a, step, 4, again, d);      // 4 chunks, two blocks recomputed
//
// A variant costs about as much time as ir_factorize; `step` stays as it is and is shared in part
// (strings, initial values), so it must live as long. Names: a part of ids, or of a sum fc1'dw, is
// ids#part, fc1#part'dw; the sum begins with fc1#zero'dw; what is computed again is NAME'again.

#ifndef HAP_IR_VARIANT_H
#define HAP_IR_VARIANT_H

#include "ir/factors.h"

// NULL after an error was added to d: K does not divide the batch, or there is none. again: by
// block, NULL: none. 1 and none give `step` itself.
ir_graph *ir_variant(hb_arena *a, ir_graph *step, int64_t micro_batches, const bool *again,
                     hb_diag *d);
// Likewise, where the factors of the step are known: of several variants.
ir_graph *ir_variant_by(hb_arena *a, ir_graph *step, const ir_factors *f, int64_t micro_batches,
                        const bool *again, hb_diag *d);

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
// Bytes of parameters and moments, whole.
double ir_home_bytes(const ir_graph *g);

// The two halves of ir_variant, in the order in which it takes them.
ir_graph *ir_recompute(hb_arena *a, const ir_graph *step, const bool *again);
// f: factors of the step, where they are known, else NULL.
ir_graph *ir_micro_batches(hb_arena *a, const ir_graph *step, const ir_factors *f, int64_t k,
                           hb_diag *d);

// --- micro-batches ---

// What a graph with micro-batches means: the same without a slot, with the nodes of `n` of them one
// after the other. n: all of them, or fewer (then it is no step, but as good a meaning of a loop).
ir_graph *ir_unroll(hb_arena *a, const ir_graph *g, int n);
// With its factors as *f: every micro-batch of a node has the node's rule, and shares it with *f as
// it was, the factors of g.
ir_graph *ir_unroll_factors(hb_arena *a, const ir_graph *g, int n, const ir_factors **f);
// Attribute k of a node in micro-batch i (0: of the graph).
ir_attr ir_slot_attr(const ir_node *n, int k, int i);

#endif
