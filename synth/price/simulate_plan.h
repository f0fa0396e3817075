// The simulator of a plan: the only source of predicted times.

#ifndef HAP_SYNTH_SIMULATE_PLAN_H
#define HAP_SYNTH_SIMULATE_PLAN_H

#include "synth/plan/program.h"

// Prices every instruction, then simulates. Fills instr[].sec.
double syn_simulate_plan(syn_program *p, const cost_model *m, cost_timeline *t);
double syn_simulate(const syn_program *p, cost_timeline *t, bool keep_times); // its second half
double syn_simulate_in(hb_arena *a, const syn_program *p, cost_timeline *t, bool keep_times);
// Whether groups of these axes have members on several machines.
bool syn_crosses(const syn_program *p, unsigned axes);
// How long the step takes if what class c of the cluster (-1: none) computes, or what the streams
// of one axis (-1: none) transfer, takes `scale` times as long.
double syn_simulate_if(const syn_program *p, int cls, int axis, double scale);
// What is priced by formula although the model has curves: "sdpa, all_gather padded"; empty:
// nothing.
hb_str syn_unmeasured(hb_arena *a, const syn_program *p, const cost_model *m);
// Seconds the matmul-like rows of one step take if all devices of the mesh run at their peak.
double syn_peak_seconds(const syn_program *p);

#endif
