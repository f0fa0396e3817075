// --input files: each rank reads only its own rows of each step's batch.
//
// An input's dim 0 counts n0 rows a step. Step s reads rows [s n0, (s + 1) n0) of the file,
// wrapping; with --shuffle, batch inputs (n0 a multiple k of the batch) read samples of k rows in a
// permutation that depends on seed and epoch alone. An input without dims is read once a step.

#ifndef HAP_RUNTIME_INPUTS_H
#define HAP_RUNTIME_INPUTS_H

#include "core/rank.h"

void hap_inputs_open(
    hap_rank *r); // all ranks together; exits with one message if something is wrong
void hap_inputs_load(hap_rank *r); // for the step at r->cursor
void hap_inputs_close(hap_rank *r);

#endif
