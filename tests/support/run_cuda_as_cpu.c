// Linked in place of the CPU kernels: the tests of the op table then run on the CUDA ones.

#include "cpu/ops_kernels.h"
#include "tests/support/run_cuda.h"

const char *hap_cpu_run(const hap_step_state *s, const hap_op_call *c)
{
    return test_cuda_run(s, c);
}
