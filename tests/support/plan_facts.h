// What a plan does, asked by names of the graph: for tests that recognise a way of parallelism.

#ifndef HAP_TESTS_PLAN_FACTS_H
#define HAP_TESTS_PLAN_FACTS_H

#include "synth/search/synth.h"

// Clusters of few words: machines of equal numbers of devices, device by device.
typedef struct device {
    double tflops, gbps, link_gbps, link_us; // f32 peak, memory bandwidth, link inside its machine
    double mib;                              // capacity, 0: plenty
} device;
cl_cluster *small_cluster(hb_arena *a, int n_machines, int n_devices, const device *d,
                          double net_gbps, double net_us);

// The state of a parameter's, input's or constant's home buffer, and of any other value as its op
// leaves it.
const syn_state *fact_state(const syn_program *p, const char *value);
// The state in which an op reads an operand.
const syn_state *fact_reads(const syn_program *p, const char *node, int operand);
int fact_value(const syn_program *p, const char *name); // id of a graph tensor
int fact_grad(const syn_program *p, const char *param); // its complete gradient
// Is dim cut on the axis (-1: on any)?
bool fact_cut(const syn_state *s, int axis, int dim);
bool fact_whole(const syn_state *s);
// A dim that is the batch cut on the axis (-1: on any)?
bool fact_batch_cut(const syn_program *p, int value, const syn_state *s, int axis);
// The op that updates a parameter.
const syn_instr *fact_update(const syn_program *p, const char *param);
// The first collective of a kind that moves the value, NULL if none.
const syn_instr *fact_move(const syn_program *p, cost_coll kind, int value);
// How many times collectives of a kind move the value (-1: any) over the axes (0: any).
int fact_moves(const syn_program *p, cost_coll kind, int value, unsigned axes);
// Entries of a rank in the cut of a state's axis.
int64_t fact_part(const syn_program *p, const syn_state *s, int axis, int rank);

#endif
