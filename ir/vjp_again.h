// Forward values that the backward pass makes again rather than keeps.
//
// With bf16, a softmax is computed in f32 and what reads it forward is a copy of 16 bits. Where the
// backward pass read the f32 values they would be written to memory for it alone. Made again from
// the scores of 16 bits, by the same ops from the same statistics, they have the same bits; and the
// ops that make them fuse with those that read them, so that memory never holds them.

#ifndef HAP_IR_VJP_AGAIN_H
#define HAP_IR_VJP_AGAIN_H

#include "ir/vjp_emit.h"

// Output 0 of the forward node n that is being differentiated, or the same made again.
int vjp_again(ir_back *b, const ir_node *n);

#endif
