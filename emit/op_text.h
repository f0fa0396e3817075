// What an op computes, in a few characters: the comment behind its call in program.c.
//
// Letters as in hap/ops.h: y, y1, … outputs and a, b, … operands (x: the only one), in the
// order of the call. A part in [ ] stands only if the operand it names is there.

#ifndef HAP_EMIT_OP_TEXT_H
#define HAP_EMIT_OP_TEXT_H

#include "ir/graph.h"

hb_str emit_op_formula(hb_arena *a, const ir_node *n);

#endif
