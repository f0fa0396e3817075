// What the files of chains_cuda_test share: calls with operands of their own, run both ways.

#ifndef HAP_TESTS_CHAIN_CALLS_H
#define HAP_TESTS_CHAIN_CALLS_H

#include <check.h>

#include "cuda/fuse/cuda_record.h"

extern const hap_step_state chain_now;

enum { CHAIN_MOST = 16 };
typedef struct chain_calls {
    hap_op_call c[CHAIN_MOST];
    int n;
} chain_calls;

double chain_uniform(double lo, double hi);
// [rows, cols], or [rows] if cols is 0; integers are labels below hi.
hap_tensor *chain_tensor(hap_dtype type, int64_t rows, int64_t cols, double lo, double hi);
hap_op_call *chain_call(chain_calls *s, hap_op_id op, int n_out, int n_in);

extern unsigned chain_not_read; // outputs that a chain need not write (cuda_chains.h)
// Runs the calls both ways on fresh outputs and compares these, where the chain takes such calls.
void chain_both_ways(chain_calls *s, cuda_chain_kernel *chain, const char *what, int64_t cols,
                     bool takes);
void chain_same_bits(chain_calls *s, cuda_chain_kernel *chain, const char *what, int64_t cols);

// Tests of other files.
void chains_of_matmuls(TCase *t);
void chains_of_batch_norms(TCase *t);

#endif
