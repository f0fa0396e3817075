// Rows that write channels last, and read all of their operands so (cuda_last.h).

#ifndef HAP_RUNTIME_CUDA_LAY_H
#define HAP_RUNTIME_CUDA_LAY_H

#include "cuda/kernels/cuda_last.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_LAST_IN = 64 };

// t is about to be written, channels last, where it may lie so.
const char *cuda_lie_last(cuda_context *x, const hap_tensor *t, const cuda_last *shape);

// The operands in[0 .. n), at most CUDA_LAST_IN, of a row, each of the same elements as `shape` or
// one element, NULL where there is none: at[i] is where the row reads them channels last, `beside`
// bytes of workspace at *work. Operands that lie as declared are copied there; *taken unless the
// copies are more than a convolution's workspace (then nothing is done).
const char *cuda_all_last(cuda_context *x, hap_tensor *const *in, int n, const cuda_last *shape,
                          int64_t beside, hap_tensor *at, char **work, bool *taken);

#ifdef __cplusplus
}
#endif

#endif
