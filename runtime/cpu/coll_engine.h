// Collectives under way (coll_part.h): their starts, turns and waits.

#ifndef HAP_RUNTIME_CPU_COLL_ENGINE_H
#define HAP_RUNTIME_CPU_COLL_ENGINE_H

#include "cpu/coll_part.h"

cpu_coll_state *cpu_coll_state_new(hap_rank *r);
void cpu_coll_state_free(cpu_coll_state *s);

// Opens a collective's event without its first step: a pair does what that would do.
hap_event *cpu_coll_open(hap_rank *r, const hap_coll_call *c);

#endif
