// What a fused group takes.

#ifndef HAP_SYNTH_FUSION_COST_H
#define HAP_SYNTH_FUSION_COST_H

#include "synth/plan/program.h"

// Of a group by class, from the seconds of its members alone.
void syn_fusion_seconds(const syn_program *p, const syn_fusion *g, double *sec);

#endif
