// A call of the op table on a GPU from tensors in host memory. Operands go to memory of their own
// on the device with guard bytes behind, outputs come back. A program that links this is skipped
// (77) without a device, with the reason.

#ifndef HAP_TESTS_RUN_CUDA_H
#define HAP_TESTS_RUN_CUDA_H

#include "cuda/kernels/cuda_chains.h"

const char *test_cuda_run(const hap_step_state *s, const hap_op_call *c);
// Calls one after the other that may share tensors.
const char *test_cuda_run_all(const hap_step_state *s, const hap_op_call *c, int n);
// The same as a chain, all outputs written but those told unread; *done: the chain took them.
void test_cuda_unread(unsigned bits);
const char *test_cuda_run_chain(const hap_step_state *s, const hap_op_call *c, int n,
                                cuda_chain_kernel *chain, bool *done);
// The call once as called, which finds its plans; then captured and launched on its operands, when
// host memory that the calls gave back holds other numbers.
const char *test_cuda_run_captured(const hap_step_state *s, const hap_op_call *c);
// Whether tensors lie on the device as far behind a multiple of 16 bytes as on the host; at one
// else.
void test_cuda_keep_offsets(bool keep);
// Whether operands of three dims or more lie channels last (cuda_last.h) before the first call.
void test_cuda_channels_last(bool last);
bool test_cuda_is_hopper(void);

#endif
