// Small all-reduces travel together.

#ifndef HAP_SYNTH_BUCKET_H
#define HAP_SYNTH_BUCKET_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

void syn_bucket(syn_program *p, syn_costs *c);

#endif
