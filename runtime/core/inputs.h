// --input and --eval files: each rank reads only its own rows of each step's batch.
//
// An input's dim 0 counts n0 rows a step. A batch input (n0 a multiple k of the batch) holds
// samples of k rows, as many of them as every other; step s reads the samples from r->cursor on,
// wrapping, with --shuffle in a permutation that depends on seed and epoch alone. Another input
// reads its rows [s n0, (s + 1) n0), wrapping; one without dims is read once a step.

#ifndef HAP_RUNTIME_INPUTS_H
#define HAP_RUNTIME_INPUTS_H

#include "core/rank.h"

// All ranks together; exits with one message if something is wrong. Sets r->samples and
// r->eval_samples.
void hap_inputs_open(hap_rank *r);
void hap_inputs_load(hap_rank *r); // for the step at r->cursor
// Sends the rows of the step behind the one that is under way, where the backend takes them; then
// hap_inputs_load finds them.
void hap_inputs_ahead(hap_rank *r);
// The samples from `first` on, in the order of the files, of those to evaluate on.
void hap_inputs_load_eval(hap_rank *r, int64_t first);
void hap_inputs_close(hap_rank *r);

#endif
