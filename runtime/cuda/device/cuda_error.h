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

// So many bytes of the host to the device, where they are when it returns: cudaMemcpy from memory
// that is not pinned may return before, and the streams of a step wait for no other.
static inline const char *cuda_upload(void *to, const void *from, size_t bytes)
{
    CUDA_CALL(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice));
    CUDA_CALL(cudaStreamSynchronize(cudaStreamLegacy));
    return NULL;
}

#ifdef __cplusplus
}
#endif

#endif
