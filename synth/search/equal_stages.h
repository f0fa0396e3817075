// Stages that are equal: layers of the same work on machines of the same devices. One plan serves
// them all.

#ifndef HAP_SYNTH_EQUAL_STAGES_H
#define HAP_SYNTH_EQUAL_STAGES_H

#include "synth/plan/program.h"

// Are two graphs the same but for names, numbers of ports and keys of random ops?
bool syn_same_graph(const ir_graph *x, const ir_graph *y);
// Are two clusters the same but for names?
bool syn_same_machines(const cl_cluster *x, const cl_cluster *y);
// A copy of a graph; strings are shared.
ir_graph *syn_graph_for(hb_arena *a, const ir_graph *g);
// A program of the same graph on the same machines, as that of others. Before its buffers and
// kernels are named.
syn_program *syn_program_for(hb_arena *a, const syn_program *p, const ir_graph *g,
                             const cl_cluster *c);
// A copy of a program that shares nothing with it but its graph, factors and cluster. Its buffers
// have no names.
syn_program *syn_program_kept(hb_arena *a, const syn_program *p);

#endif
