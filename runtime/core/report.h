// What a run says of itself while it goes: a line a step, evaluations, --metrics, the end.

#ifndef HAP_RUNTIME_REPORT_H
#define HAP_RUNTIME_REPORT_H

#include "core/rank.h"

// Each does nothing but on rank 0.
void hap_report_start(hap_rank *r); // once the step that the run begins with is known
void hap_report_step(hap_rank *r, bool has_loss, double loss, double seconds);
void hap_report_eval(hap_rank *r, double loss, int64_t batches, double seconds);
void hap_report_end(hap_rank *r);

#endif
