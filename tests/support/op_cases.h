// One or more cases for every op of the table: shapes and attributes small enough to run under
// every cut, large enough to have the factors that matter (compound dims, broadcasts, grouped
// heads). Shared by the tests of cuts and of gradients.

#ifndef HAP_TESTS_OP_CASES_H
#define HAP_TESTS_OP_CASES_H

#include "tests/support/interp.h"

// in: operands "f2x3x4", one letter for the values, then dims ("f" alone: a scalar), "%n" a limit.
//     f a  float in [-1, 1)     k  the same, by 1/16 or more off multiples of 1/2, where kinks are
//     p  float in [0.5, 1.5)     g  float in [1, 3)     m  0 or -inf
//     (a and m are masks: never parameters)
//     i  i64 in [0, limit)      l  the same, a quarter of them -100               z  i64 in [-3, 3]
//     d  float, distinct multiples of 1/4 in a row     u  the same, in the whole tensor
//     q  as d, half of them 0 (never parameters)       v  two equal floats do occur: k / 2
//     b  bool                   e  u8                  o  i32 in [-3, 3]
// before: operand 0 is a reshape of a tensor of these dims; after: rows that consume output 0,
//     "split:DIM:SIZES reshape:SHAPE". Both only refine the factors of the dims.
typedef struct op_case {
    ir_op op;
    const char *attrs; // "name=value name=v,v"
    const char *in, *before, *after;
} op_case;

extern const op_case op_cases[];
extern const int n_op_cases;

// The case as a graph; *node = the node under test. Operands are IR_INPUT (float ones IR_PARAM if
// `params`), so that they can be written before a run.
ir_graph *op_case_graph(hb_arena *a, const op_case *c, bool params, int *node);
// Random values of operand i of the case.
void op_case_fill(const op_case *c, int i, hap_tensor *t, uint64_t *state);
// "sdpa causal=1 (f2x4x5x3 …)"
const char *op_case_text(const op_case *c);

#endif
