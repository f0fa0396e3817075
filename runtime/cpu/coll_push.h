// Form PUT on CPUs.

#ifndef HAP_RUNTIME_CPU_COLL_PUT_H
#define HAP_RUNTIME_CPU_COLL_PUT_H

#include "cpu/coll_part.h"

bool cpu_put_step(hap_rank *r, cpu_part *p); // as cpu_part_step

// `part` of a local tensor stored over `held` goes to a member, or comes from it.
void cpu_part_give(hap_rank *r, cpu_part *p, const hap_coll_view *v, const void *from, hap_box held,
                   hap_box part, int to);
void cpu_part_take(hap_rank *r, cpu_part *p, const hap_coll_view *v, void *to, hap_box held,
                   hap_box part, int from);

#endif
