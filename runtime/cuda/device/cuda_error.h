// Errors of the CUDA backend are texts: a function that can fail returns NULL, or why it did not.

#ifndef HAP_RUNTIME_CUDA_ERROR_H
#define HAP_RUNTIME_CUDA_ERROR_H

#include <cuda_runtime_api.h>

#ifdef __cplusplus
extern "C" {
#endif

const char *cuda_fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *cuda_said(cudaError_t e, const char *call); // NULL if e is success
#define CUDA_TRY(e)                                                                                \
    do {                                                                                           \
        const char *why_ = (e);                                                                    \
        if (why_) return why_;                                                                     \
    } while (0)
#define CUDA_CALL(e) CUDA_TRY(cuda_said((e), #e))

#ifdef __cplusplus
}
#endif

#endif
