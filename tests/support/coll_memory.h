// Where coll_test's tensors lie: memory that the host reads and the backend's collectives take.

#ifndef HAP_TESTS_COLL_MEMORY_H
#define HAP_TESTS_COLL_MEMORY_H

#include "core/rank.h"

void coll_memory_begin(hap_rank *r); // after hap_segments
void coll_memory_end(hap_rank *r);   // before hap_backend_finish

#endif
