// The gradient rules of vjp.c, for autodiff.c, which walks the graph backwards.
//
// A rule gets the forward node and the gradients of its outputs, emits ops and hands a gradient to
// each operand that needs one (vjp_emit.h).

#ifndef HAP_IR_VJP_H
#define HAP_IR_VJP_H

#include "ir/vjp_emit.h"

// dy[i]: gradient of output i, -1 if nothing depends on it (never so for an op with one output).
typedef bool ir_vjp(ir_back *b, const ir_node *n, const int *dy);
ir_vjp *ir_vjp_of(ir_op op); // NULL: not differentiable, or a statistic
bool ir_vjp_is_stat(ir_op op);

#endif
