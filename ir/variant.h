// Other graphs of the same step, which take less memory: micro-batches and recomputation.
//
// A variant is an ordinary ir_graph that computes what the step computes, so search, certificate,
// emit and runtime know nothing about it:
//     micro-batches K   the batch is cut in time into K equal chunks; what holds the batch is done
//                       chunk by chunk, forward and backward, what sums over it is added up in a
//                       chain, the rest (parameters' casts, the update) is done once
//     recompute n       in each of the first n repeated blocks, what the backward pass reads of the
//                       block is not kept but computed again, just before, from the block's inputs
// The two go together: each chunk then recomputes its blocks.
//
//     ir_graph *step = ir_build(a, path, &options, d);           // no variant
//     ir_graph *v = ir_variant(a, step, 4, ir_blocks(step), d);  // 4 chunks, all recomputed
//
// A variant costs about as much time as ir_factorize; `step` stays as it is and is shared in part
// (strings, initial values), so it must live as long. Names: chunk k of fc1 is fc1#k, of fc1'dw it
// is fc1#k'dw, the sum of its chunks up to k fc1#..k'dw and their total fc1'dw; what is computed
// again is NAME'again.

#ifndef HAP_IR_VARIANT_H
#define HAP_IR_VARIANT_H

#include "ir/graph.h"

// NULL after an error was added to d: K does not divide the batch, or there is none. n_recomputed
// is at most ir_blocks(step). 1 and 0 give `step` itself.
ir_graph *ir_variant(hb_arena *a, ir_graph *step, int64_t micro_batches, int n_recomputed,
                     hb_diag *d);

// Repeated blocks of the forward pass that recomputation can be asked for, in order. 0: nothing
// repeats.
int ir_blocks(const ir_graph *step);

// What a planner may try when memory binds: the step itself first, then one variant after the other
// that keeps less at the turn from forward to backward, by powers of two of micro-batches and
// quarters of the blocks; one that keeps no less than a milder one of both kinds is left out.
// Proposed use: skip those that cannot save what is missing (a rank's share of saved[0] - saved[i]
// is below its overflow), plan the rest in this order, and stop once two that fit in a row are
// slower than the best. Time is for the judge to say: recomputation adds `again` to the step's
// arithmetic and overlaps worse, chunks add launches, small products, and, where parameters are
// kept cut, a gather a chunk.
typedef struct ir_variant_choice {
    int64_t micro_batches;
    int recomputed;
    double saved; // bytes of forward values (whole tensors) that the backward pass reads, a chunk's
    double again; // arithmetic done twice, as a share of the step's
} ir_variant_choice;
enum { IR_MAX_VARIANTS = 32 };
// Their number, at most IR_MAX_VARIANTS. Costs one ir_factorize and a few walks.
int ir_variants(const ir_graph *step, ir_variant_choice *out);

// The two halves of ir_variant, in the order in which it takes them.
ir_graph *ir_recompute(hb_arena *a, const ir_graph *step, int n);
ir_graph *ir_micro_batches(hb_arena *a, const ir_graph *step, int64_t k, hb_diag *d);

#endif
