#include "cuda/device/cuda_error.h"
#include "cuda/device/cuda_image.h"

static __global__ void nothing() {}

const char *cuda_image(void)
{
    struct cudaFuncAttributes has;
    cudaError_t e = cudaFuncGetAttributes(&has, (const void *)nothing);
    if (e != cudaErrorNoKernelImageForDevice && e != cudaErrorInvalidDeviceFunction)
        return cuda_said(e, "cudaFuncGetAttributes");
    int device = 0, major = 0, minor = 0;
    CUDA_CALL(cudaGetDevice(&device));
    CUDA_CALL(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
    CUDA_CALL(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
    return cuda_fail("the GPU is sm_%d%d, which this runtime was not built for (%s): build it with "
                     "-DCMAKE_CUDA_ARCHITECTURES=%d%d",
                     major, minor, HAP_CUDA_ARCHITECTURES, major, minor);
}
