// Forms of nodes.

#ifndef HAP_SYNTH_FORMS_H
#define HAP_SYNTH_FORMS_H

#include "synth/space/space.h"

// Forms of all kinds of nodes; of one there are none only where the strategy forbids all, and then
// of those behind it neither.
void syn_shardings_build(hb_arena *a, syn_space *s);

// The lists of the space built last, for the next one at the same cuts, on all boards of a pool:
// what neither weights nor prices change. It lies in a.
typedef struct syn_listed syn_listed;
syn_listed *syn_listed_new(hb_arena *a);

#endif
