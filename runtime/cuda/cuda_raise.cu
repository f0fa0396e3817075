#include "cuda/cuda_release.h"

#include "cuda/cuda_push.h"

// One block. Once at least, also if `stop` comes before it is looked at.
static __global__ void raise_flags(char *flags, int n, const cuda_order *o)
{
    while (!o->go)
        __nanosleep(1000);
    uint32_t number = o->number;
    do {
        for (int i = (int)threadIdx.x; i < n; i += (int)blockDim.x)
            *(volatile uint32_t *)(flags + (int64_t)i * CUDA_PUSH_FLAG_BYTES) = number;
        __threadfence_system();
    } while (!o->stop);
}

const char *cuda_raise_flags(cudaStream_t s, void *flags, int n, const cuda_order *o)
{
    raise_flags<<<1, 256, 0, s>>>((char *)flags, n, o);
    return cuda_said(cudaGetLastError(), "raise_flags");
}
