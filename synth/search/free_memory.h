// Where states may lie: cuts of parameters by what each device's memory has left.

#ifndef HAP_SYNTH_FREE_MEMORY_H
#define HAP_SYNTH_FREE_MEMORY_H

#include "synth/plan/program.h"
#include "synth/space/partitions.h"

// Adds, beside the cuts that are there, one to every set that a parameter's dims are in: by the
// bytes that each device has left beside what a program that takes too much holds there of samples.
// Rows may then stay where speed is, and states move to where memory is. Nothing where all devices
// are alike.
void syn_add_free_memory(hb_arena *a, const syn_program *p, syn_partitions *to, syn_mesh *mesh);

#endif
