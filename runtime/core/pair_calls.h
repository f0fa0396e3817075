// The calls of a pair (core/pair.h), checked and collected; each fails with a message.

#ifndef HAP_RUNTIME_PAIR_CALLS_H
#define HAP_RUNTIME_PAIR_CALLS_H

#include "core/rank.h"

void hap_pair_begin(hap_rank *r, int n_chunks, const int64_t (*chunks)[3]);
void hap_pair_tile(hap_rank *r, const hap_pair_tiles *t); // t: not `said`
void hap_pair_op(hap_rank *r, const hap_op_call *c);
void hap_pair_start(hap_rank *r, const hap_coll_call *c); // after hap_coll_check
void hap_pair_wait(hap_rank *r, const hap_event *e);
void hap_pair_end(hap_rank *r);

#endif
