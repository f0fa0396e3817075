// Last moves on the integer cuts of a finished program, under the simulator (local_search.c).

#ifndef HAP_SYNTH_LOCAL_SEARCH_H
#define HAP_SYNTH_LOCAL_SEARCH_H

#include "ir/base/stop.h"
#include "synth/plan/program.h"

// Tries to move granules between ranks of different classes, cut by cut, as long as the simulator
// sees a gain. The program stays as it is but for its tables (and byte counts, prices): place it
// again afterwards. kind: by node, equal for nodes that cost the same under equal cuts (kinds.h).
// Returns the simulated seconds.
double syn_local_search(syn_program *p, const cost_model *m, const int *kind, double sec,
                        const hb_stop *stop);
// Sizes, scratch and prices again, after tables were set back.
void syn_refresh(syn_program *p, const cost_model *m);

#endif
