// What a gradient rule writes with: emits ops of the backward pass and adds up the gradients of
// forward tensors.
//
//     int dx = vjp_emit(b, IR_OP_gelu_bwd, "dx", 2, (int[]){dy[0], n->in[0]}, n->attr);
//     vjp_give(b, 0, dx);

#ifndef HAP_IR_VJP_EMIT_H
#define HAP_IR_VJP_EMIT_H

#include "ir/names.h"

typedef struct ir_back {
    ir_graph *g;
    hb_diag *d;
    ir_names *names;
    int n_forward;     // tensors of the forward pass
    const bool *needs; // by forward tensor: depends on a parameter through differentiable ops
    int *grad;         // by forward tensor: its gradient so far, -1 none
    int node;          // the forward node being differentiated
    ir_node n;         // a copy of it (the node array moves)
} ir_back;

// Emits NODE'what; returns its first output. attrs NULL: defaults.
int vjp_emit(ir_back *b, ir_op op, const char *what, int n_in, const int *in, const ir_attr *attrs);
bool vjp_wants(const ir_back *b, int operand);
// t in that dtype: t itself, or a cast of it.
int vjp_as(ir_back *b, const char *what, int t, ir_dtype dtype);
// Adds t to the gradient of an operand, first summed over the dims along which it was broadcast.
// A gradient has its tensor's dtype, or f32 where that is bf16 or f16: sums stay in f32 until a
// rule other than cast's reads them.
void vjp_give(ir_back *b, int operand, int t);
void vjp_give_as(ir_back *b, int operand, int t, const char *name); // names that sum

#endif
