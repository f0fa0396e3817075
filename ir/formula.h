// Index formulas of ops.def, parsed: which letters stand in which dim of which operand.
//
//     b(gr)qe,bgke,bgkd,[b(gr)qk] -> b(gr)qd,b(gr)q | k e
//
// Grammar (docs/theory.md 1): ',' separates operands and outputs, '+' terms, ';' alternatives. An
// operand is an optional '*' (any leading dims, aligned right between operands, size 1 broadcasts)
// followed by dims; a dim is a letter or (letters), major to minor; the empty operand is a scalar;
// [x] may be left out at the end. '|' lists the letters that may not be cut. Formulas are constants
// of the program: a malformed one is a bug (hb_assert).

#ifndef HAP_IR_FORMULA_H
#define HAP_IR_FORMULA_H

#include "ir/graph.h"

enum { IR_MAX_LETTERS = 3, IR_MAX_ALTS = 3 };

typedef struct ir_fdim {
    int n;
    char letter[IR_MAX_LETTERS]; // 'a'..'z', major to minor
} ir_fdim;

typedef struct ir_foperand {
    bool star, optional;
    int term;
    int n; // dims after the star
    ir_fdim dim[IR_MAX_RANK];
} ir_foperand;

typedef struct ir_formula {
    int n_in, n_out, n_terms;
    ir_foperand in[IR_MAX_IN], out[IR_MAX_OUT];
    unsigned whole; // bit letter - 'a'
} ir_formula;

// Windows along one dim: window i holds the places i * stride - padding + k * dilation, k below the
// window's size, of those that there are. What strides and sizes are stands in the node's
// attributes, in the order of the windows.
typedef struct ir_window {
    char places, size, at; // letters; size '.': attribute `window`
} ir_window;
enum { IR_MAX_WINDOWS = 2, IR_MAX_GIVEN = 4 };

typedef struct ir_formulas {
    const char *rule; // "reshape" for "@reshape", then n == 0; else NULL
    int n;
    ir_formula alt[IR_MAX_ALTS];
    int n_windows;
    ir_window window[IR_MAX_WINDOWS];
    unsigned counted; // bit letter - 'a': ops.def
    int n_given;      // letters whose sizes are attributes
    struct {
        char letter;
        int8_t attr, entry, of; // entry `entry` of the `of` of an attribute of integers; of 0: it
    } given[IR_MAX_GIVEN];
} ir_formulas;

void ir_formula_parse(const char *text, ir_formulas *out);
// .windows and .sizes of an op of these attributes.
void ir_windows_parse(const char *text, ir_formulas *out);
void ir_sizes_parse(const char *text, const ir_op_info *op, ir_formulas *out);
// The parsed formula of an op, and the alternative that a node's first attribute picks (NULL: the
// attribute is out of range, or the op has a C function).
const ir_formulas *ir_row_formulas(ir_op op);
const ir_formula *ir_node_formula(const ir_node *n);

#endif
