// What the stages of a program declare, as all ranks are to know it: each checkpoint is of all.

#ifndef HAP_RUNTIME_STAGE_VARS_H
#define HAP_RUNTIME_STAGE_VARS_H

#include "core/rank.h"

// Fills r->saved_var. All ranks together, when everything is declared.
void hap_share_vars(hap_rank *r);
void hap_share_vars_end(hap_rank *r);
int hap_stage_leader(const hap_rank *r, int stage); // its first rank

#endif
