// The problem of few layers: a step of many equal blocks as one of few.
//
// Of every run of equal blocks the first and the last few stay, and each of them stands for
// several: `more` of its nodes, parameters and moments says for how many others. What costs seconds
// or lasting bytes counts 1 + more times. So a search among few layers sees about what it would see
// among all, and what it finds (devices, mesh, cuts, micro-batches, share of blocks computed again)
// is then planned and simulated whole. A folded step is never run.

#ifndef HAP_IR_FOLD_H
#define HAP_IR_FOLD_H

#include "ir/graph.h"

// The step with `keep` blocks left of each end of every run of more than three times so many equal
// ones. NULL where there is no such run. step: with its blocks marked, no variant.
// alike: blocks of the same ops count as equal whose sizes differ within alone, not in what goes
// over from one to the next. Those that stay then stand for as many elements as there are in all.
ir_graph *ir_fold(hb_arena *a, const ir_graph *step, int keep, bool alike);

// How often what a node does is done in a step: for all that it stands for, in every micro-batch.
static inline double ir_node_times(const ir_graph *g, int node)
{
    return (1 + g->nodes.p[node].more) * ir_node_slots(g, node);
}
// How many equal ones a tensor stands for, itself among them.
static inline double ir_tensor_times(const ir_graph *g, int tensor)
{
    return 1 + g->tensors.p[tensor].more;
}

#endif
