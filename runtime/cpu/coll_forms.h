// The steps of every kind and form of collective.

#ifndef HAP_RUNTIME_CPU_COLL_FORMS_H
#define HAP_RUNTIME_CPU_COLL_FORMS_H

#include "cpu/coll_part.h"

// Does the next step of a part that has no open requests; false if it is not its turn yet.
bool cpu_part_step(hap_rank *r, cpu_part *p);

#endif
