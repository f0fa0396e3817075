// Where the tensors of coll_test and pair_test lie, and how the host reads and writes them there.

#ifndef HAP_TESTS_COLL_MEMORY_H
#define HAP_TESTS_COLL_MEMORY_H

#include "core/rank.h"

void coll_memory_begin(hap_rank *r); // after hap_segments
void coll_memory_end(hap_rank *r);   // before hap_backend_finish
void coll_memory_put(void *at, const void *host, int64_t bytes);
void coll_memory_get(void *host, const void *at, int64_t bytes);
void coll_memory_delay(hap_rank *r, int microseconds); // before what the rank computes next

#endif
