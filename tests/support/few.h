// HAP_TEST_FEW=1: each kernel of ours on a few small calls, and no kernel of a library's. For
// compute-sanitizer's racecheck, under which a launch takes milliseconds and which simulates
// cuBLAS's own kernels wrongly (bench/device.sh sanitize; attention: HAP_TEST_OPTIONS="--cuda
// attention=own" beside it). HAP_TEST_OP=sdpa: rows of ops whose names begin so.

#ifndef HAP_TESTS_SUPPORT_FEW_H
#define HAP_TESTS_SUPPORT_FEW_H

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"

static inline bool test_few(void)
{
    const char *few = getenv("HAP_TEST_FEW");
    return few && few[0] == '1';
}

// Whether a row is left out, as another op's or, with few, as a library's.
static inline bool test_left_out(hap_op_id op)
{
    const char *only = getenv("HAP_TEST_OP");
    if (only && strncmp(hap_op_names[op], only, strlen(only)) != 0) return true;
    return test_few() &&
           (op == HAP_OP_linear || op == HAP_OP_linear_dw || op == HAP_OP_matmul ||
            op == HAP_OP_dispatch || op == HAP_OP_combine || op == HAP_OP_dispatch_dw);
}

#endif
