// --check-nan: the first instruction that makes a NaN ends the run with its name.
//
// What a rank reads from outside is checked before a step, the outputs of every op after it, what a
// collective brought when it is waited for. Each check waits for the device, so ranks stop before
// they pass a NaN on, and no step is captured. Infinities may be meant (masks) and are only named
// among the operands of the instruction.

#ifndef HAP_RUNTIME_NAN_CHECK_H
#define HAP_RUNTIME_NAN_CHECK_H

#include "core/rank.h"

// Each does nothing unless the run is checked, nor in a rehearsal.
void hap_nan_before_step(hap_rank *r);
void hap_nan_after_op(hap_rank *r, const hap_op_call *c);
void hap_nan_after_move(hap_rank *r, const hap_tensor *y); // a cut, a partial
void hap_nan_start(hap_rank *r, const hap_coll_call *c, const hap_event *e);
void hap_nan_wait(hap_rank *r, const hap_event *e); // its collective is done

#endif
