// What report.html shows, as one JSON object: the numbers of plan.json, summed up, in milliseconds
// and bytes. emit/page/*.js draws it.

#ifndef HAP_EMIT_PAGE_DATA_H
#define HAP_EMIT_PAGE_DATA_H

#include "emit/plan_parts.h"

// No '<' is in it.
void page_data(hb_buf *out, const emit_plan *e, const emit_lines *where);
void page_data_stages(hb_buf *out, const plan_parts *x, const emit_plan *about);

#endif
