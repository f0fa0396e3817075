// Where a captured step breaks.
//
// A GPU replays a step as graphs (docs/architecture.md). Pushes wait for numbers that grow from
// step to step and so run live between them, as do pairs, and whatever collective is under way
// beside one of these: its start and its wait. Each graph but the first costs the device
// `cost_break` seconds. The rule is that of runtime/cuda/cuda_capture.c.

#ifndef HAP_SYNTH_BREAKS_H
#define HAP_SYNTH_BREAKS_H

#include "synth/program.h"

// By instruction: the first of a graph behind live calls. NULL: the step is one graph, or no class
// is a GPU.
bool *syn_breaks(hb_arena *a, const syn_program *p);

// Waits of collectives that have ended when live calls begin, or end before two breaks would have,
// go ahead of these. On a scheduled program; pairs keep their members.
void syn_wait_early(syn_program *p);

#endif
