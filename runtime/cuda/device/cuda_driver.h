// Functions of libcuda, looked up when they are first wanted: programs link no libcuda.

#ifndef HAP_RUNTIME_CUDA_DRIVER_H
#define HAP_RUNTIME_CUDA_DRIVER_H

#include <cuda.h>

#include "cuda/device/cuda_error.h"

#if CUDA_VERSION < 12050 // of a later driver; looked up, so its type is all that is wanted
CUresult CUDAAPI cuGreenCtxStreamCreate(CUstream *s, CUgreenCtx c, unsigned int flags, int order);
#endif

#define CUDA_DRIVER_FUNCTIONS(F)                                                                   \
    F(cuCtxGetCurrent)                                                                             \
    F(cuDeviceGet)                                                                                 \
    F(cuGetErrorString)                                                                            \
    F(cuGraphAddDependencies)                                                                      \
    F(cuGraphBatchMemOpNodeGetParams)                                                              \
    F(cuGraphDestroyNode)                                                                          \
    F(cuGraphExecBatchMemOpNodeSetParams)                                                          \
    F(cuGraphGetNodes)                                                                             \
    F(cuGraphMemsetNodeGetParams)                                                                  \
    F(cuGraphMemsetNodeSetParams)                                                                  \
    F(cuGraphNodeGetDependencies)                                                                  \
    F(cuGraphNodeGetDependentNodes)                                                                \
    F(cuGraphNodeGetType)                                                                          \
    F(cuMemAddressFree)                                                                            \
    F(cuMemAddressReserve)                                                                         \
    F(cuMemCreate)                                                                                 \
    F(cuMemExportToShareableHandle)                                                                \
    F(cuMemGetAllocationGranularity)                                                               \
    F(cuMemImportFromShareableHandle)                                                              \
    F(cuMemMap)                                                                                    \
    F(cuMemRelease)                                                                                \
    F(cuMemSetAccess)                                                                              \
    F(cuMemUnmap)                                                                                  \
    F(cuStreamBatchMemOp)                                                                          \
    F(cuTensorMapEncodeTiled)
// Green contexts: NULL where the driver is older than they are.
#define CUDA_DRIVER_GREEN(F)                                                                       \
    F(cuDeviceGetDevResource)                                                                      \
    F(cuDevSmResourceSplitByCount)                                                                 \
    F(cuDevResourceGenerateDesc)                                                                   \
    F(cuGreenCtxCreate)                                                                            \
    F(cuGreenCtxDestroy)                                                                           \
    F(cuGreenCtxStreamCreate)
typedef struct cuda_driver {
#define CUDA_DRIVER_FIELD(f) __typeof__(&(f)) f##_;
    CUDA_DRIVER_FUNCTIONS(CUDA_DRIVER_FIELD)
    CUDA_DRIVER_GREEN(CUDA_DRIVER_FIELD)
#undef CUDA_DRIVER_FIELD
} cuda_driver;

#ifdef __cplusplus
extern "C" {
#endif

// NULL with *why set if the driver has not all of CUDA_DRIVER_FUNCTIONS.
const cuda_driver *cuda_driver_get(const char **why);
const char *cuda_driver_said(const cuda_driver *d, CUresult e, const char *call);

#ifdef __cplusplus
}
#endif

#endif
