// Small all-reduces travel together.

#ifndef HAP_SYNTH_BUCKET_H
#define HAP_SYNTH_BUCKET_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// small: of less to wait for at the end of the step, with more latencies.
void syn_bucket(syn_program *p, syn_costs *c, bool small);

#endif
