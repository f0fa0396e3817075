// What is written of a plan of stages beside its program.

#ifndef HAP_EMIT_STAGES_REPORT_H
#define HAP_EMIT_STAGES_REPORT_H

#include "emit/plan_parts.h"

void stages_report_text(hb_buf *out, const plan_parts *x, const emit_plan *about);
void stages_plan_json(hb_buf *out, const plan_parts *x, const emit_plan *about); // plan.json

#endif
