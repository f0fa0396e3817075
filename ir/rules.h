// One node's rule, read off its frame once factors are settled (see factors.h).

#ifndef HAP_IR_RULES_H
#define HAP_IR_RULES_H

#include "ir/frames.h"

// Atoms of every tensor's dims: dims[t][d], -1 for size 1.
typedef int ir_dim_atoms[IR_MAX_RANK];

// cls[root] = class of a leaf. factor.whole holds what the formula says; classes are merged in
// later.
void ir_rule_of(const ir_graph *g, int node, const ir_frame *f, const ir_atoms *s,
                const ir_dim_atoms *dims, const int *cls, ir_rule *r);

#endif
