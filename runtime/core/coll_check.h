// Whether a collective can be made as it is called.

#ifndef HAP_RUNTIME_COLL_CHECK_H
#define HAP_RUNTIME_COLL_CHECK_H

#include "core/rank.h"

// Checks the whole call: mask, form, every pair of tensors, scratch. Fails with a message.
void hap_coll_check(hap_rank *r, const hap_coll_call *c);

#endif
