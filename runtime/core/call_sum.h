// What a rank calls in a step as one number: ops with their tensors and attributes, moves,
// collectives with their groups and forms, fusions, pairs, in order. Ranks of a stage call the
// same, which is what program.c says, and compare it: at step 0 and every HAP_SUM_EVERY steps.
//
// It finds a rank whose program is another one (a host with an old copy of the folder), and calls
// that a fault left out or changed. FNV-1a; against accidents, not against forgery.

#ifndef HAP_RUNTIME_CALL_SUM_H
#define HAP_RUNTIME_CALL_SUM_H

#include "core/coll_geometry.h"
#include "core/rank.h"

enum { HAP_SUM_EVERY = 100 };

void hap_sum_begin(hap_rank *r); // of a step
void hap_sum_op(hap_rank *r, const hap_op_call *c);
void hap_sum_coll(hap_rank *r, const hap_coll_call *c);
void hap_sum_tensors(hap_rank *r, const char *call, int n, hap_tensor *const *t);
void hap_sum_numbers(hap_rank *r, const char *call, int64_t n, const int64_t *v);

#endif
