// The statements of one function of the step (program_step.c), for those that print the functions
// (program_functions.c).

#ifndef HAP_EMIT_PROGRAM_STEP_H
#define HAP_EMIT_PROGRAM_STEP_H

#include "emit/program_text.h"
#include "ir/variant.h"

// Where a statement stands: in a part (loop -1), or in the function of a loop, instruction j of its
// body.
typedef struct {
    pt *t;
    int loop, j, end; // end: instructions from here on are another function's
    hb_map *locals;   // variables of this function, while it is printed
    hb_str *event;    // by START instr: its local variable; the same
    hb_str shape;     // last shown
    int indent;
    double sec; // of the function
    bool uses_b, uses_i;
    ir_turn turn; // IR_SLOT: of no block that one micro-batch alone does
} pt_place;

// What an instruction begins or belongs to; NULL: none.
const syn_fusion *pt_fusion_of(const syn_program *p, int index);
const syn_pair *pt_pair_of(const syn_program *p, int index);
// Done in the first or the last micro-batch alone?
bool pt_is_once(const pt *t, int index);
// Milliseconds of what `len` instructions compute, empty for nothing.
hb_str pt_computes(const pt *t, int first, int len);
void pt_print_wait(pt_place *s, int index);
// The statements of one function. A module of one statement has no heading of its own.
void pt_print_body(pt_place *s, int first, int len);
// Prints what pt_print_body prints, but nowhere: to learn what it needs.
void pt_rehearse(pt_place *s, int first, int len);

#endif
