// Parts of plan.json that plans with and without stages share.

#ifndef HAP_EMIT_PLAN_LISTS_H
#define HAP_EMIT_PLAN_LISTS_H

#include "emit/json_out.h"
#include "emit/plan_parts.h"
#include "emit/verdict.h"

// Each writes keys of the open object.
void emit_put_lists(js *j, const plan_parts *all);  // classes to instructions
void emit_put_machines(js *j, const cl_cluster *c); // machines, network
void emit_put_verdict(js *j, const verdict *v);
void emit_put_pins(js *j, const syn_pins *pins); // NULL: none
// What is known of rank r of the cluster; rank: of the plan, -1 unused.
void emit_put_rank(js *j, const cl_cluster *c, int r, int rank);

#endif
