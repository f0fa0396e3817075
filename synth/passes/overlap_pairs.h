// Pairs: a collective beside the matmuls that it feeds (*consumer*: the start of an all-gather or
// all-to-all, its wait, the matmuls that read what it brings) or the matmul that feeds it
// (*producer*: the matmul, the start of a reduce-scatter, all-reduce or all-to-all of what it
// makes). Matmuls are those whose rows become rows one by one (ir_op_info.by_rows): linear, matmul
// with one matrix, and of experts' rooms, whose row is all rooms of a group. The moved factor is
// the outermost of their rows in memory; the other cut of an all-to-all is inside of a row. The
// members follow each other within one layer and one repetition of a loop; nothing else stands
// between. costmodel/overlap.h says how their chunks of rows run and what that takes.

#ifndef HAP_SYNTH_OVERLAP_PAIRS_H
#define HAP_SYNTH_OVERLAP_PAIRS_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// A priced and scheduled program again with the pairs that make its step shorter: their members
// brought together, forms and chunks chosen; buffers and instructions are its own. NULL without
// such pairs, or if they cannot be expected to bring the step down to `enough` seconds. *sec: of
// the step with pairs, or else of p if there may be some; HUGE_VAL if not.
syn_program *syn_with_pairs(const syn_program *p, syn_costs *c, double enough, double *sec);
// Leaves those that stand in one repetition, alike in all.
void syn_pairs_of_loops(syn_program *p);

#endif
