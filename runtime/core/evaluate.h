// --eval: passes of the loop's body that are no steps, of which only the forward calls are made.
//
// A first pass makes no call and notes what each reads and writes. Backwards from the loss, those
// that it depends on are found; that is agreed among ranks, since a collective is made by all or by
// none. An evaluation makes these, in the order of the step, at the step's own places: a value that
// a left-out call would have written is read by none of them, and none of them writes a parameter,
// a moment or a constant. So what was proved of the step holds of them, and no memory is wanted.
// Dropout is off, and a batch norm reads the statistics that it keeps. Groups (fusions, pairs) are
// made whole.

#ifndef HAP_RUNTIME_EVALUATE_H
#define HAP_RUNTIME_EVALUATE_H

#include "core/rank.h"

// Is a pass to be made now that is no step? Then r->evaluating says so and, unless it only notes
// calls (r->noting), the rows are there.
bool hap_eval_begin(hap_rank *r);
// The pass has ended; loss is of its batch.
void hap_eval_end(hap_rank *r, double loss);
void hap_eval_close(hap_rank *r);

// While r->evaluating: is the call to be made?
bool hap_eval_op(hap_rank *r, const hap_op_call *c);
bool hap_eval_move(hap_rank *r, hap_tensor *y, hap_tensor *x);
bool hap_eval_coll(hap_rank *r, const hap_coll_call *c);
bool hap_eval_wait(hap_rank *r, const hap_event *e);
bool hap_eval_group(hap_rank *r, bool begins);
hap_event *hap_eval_event(hap_rank *r);   // of a collective that is not made
hap_op_call hap_eval_form(hap_op_call c); // the same op in an evaluation

#endif
