// The measured timeline (--trace F): Chrome trace JSON, pid = rank, tid = lane.
//
// Names are the call and its line in program.c, "op_linear:83", as in the planner's trace.json.
// Calls that ran as one are one event; those behind its first stand in args.joined.

#ifndef HAP_RUNTIME_TRACE_H
#define HAP_RUNTIME_TRACE_H

#include "core/rank.h"

enum {
#define HAP_LANE(name, text) HAP_TRACE_##name,
#include "hap/trace_lanes.def"
#undef HAP_LANE
};

int hap_trace_comm(unsigned axes); // the lane of a collective over these: of the innermost

void hap_trace_start(hap_rank *r); // all ranks together: sets r->trace and time zero
// name lives as long as the program; start and end in hap_seconds. A step's "line" is its number.
void hap_trace_add(hap_rank *r, int lane, const char *name, int line, double start, double end);
// The call ran with the one that was added last.
void hap_trace_join(hap_rank *r, const char *name, int line);
void hap_trace_write(hap_rank *r); // all ranks together

#endif
