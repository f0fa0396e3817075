// Memory of segments.

#ifndef HAP_RUNTIME_CPU_SEGMENTS_H
#define HAP_RUNTIME_CPU_SEGMENTS_H

#include "core/rank.h"

void cpu_segments_free(hap_rank *r);

#endif
