// Forms of nodes.

#ifndef HAP_SYNTH_FORMS_H
#define HAP_SYNTH_FORMS_H

#include "synth/space/space.h"

// Forms of one node; never empty unless the strategy forbids all.
syn_shardings *syn_shardings_build(hb_arena *a, const syn_space *s, int node);

#endif
