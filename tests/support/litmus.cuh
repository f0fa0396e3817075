// What litmus tests of signals share: calls that must not fail, flags of streams, a comparison on
// the device.

#ifndef HAP_TESTS_LITMUS_CUH
#define HAP_TESTS_LITMUS_CUH

#include <stdio.h>
#include <stdlib.h>

extern "C" {
#include "cuda/device/cuda_driver.h"
}
#include "cuda/kernels/tile_list.h"

static inline void ok(cudaError_t e, const char *what)
{
    if (e == cudaSuccess) return;
    printf("%s: %s\n", what, cudaGetErrorString(e));
    exit(1);
}
#define OK(e) ok(e, #e)

static inline void right(const char *why)
{
    if (!why) return;
    printf("%s\n", why);
    exit(1);
}

static inline const cuda_driver *litmus_driver(void)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    right(why);
    return d;
}

// Vectors that differ.
static __global__ void compare(const uint4 *x, const uint4 *want, int64_t n, unsigned long long *off)
{
    unsigned long long mine = 0;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        const uint4 a = x[i], b = want[i];
        mine += a.x != b.x || a.y != b.y || a.z != b.z || a.w != b.w;
    }
    if (mine) atomicAdd(off, mine);
}

static inline CUdeviceptr flag_at(uint32_t *flags, int f)
{
    return (CUdeviceptr)(flags + f * TILE_FLAG_APART);
}

static inline void until(cudaStream_t s, uint32_t *flags, int f, uint32_t number)
{
    const cuda_driver *d = litmus_driver();
    CUstreamBatchMemOpParams op = {};
    op.waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op.waitValue.address = flag_at(flags, f);
    op.waitValue.value = number;
    op.waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    right(cuda_driver_said(d, d->cuStreamBatchMemOp_(s, 1, &op, 0), "cuStreamBatchMemOp"));
}

static inline void raise(cudaStream_t s, uint32_t *flags, int f, uint32_t number)
{
    const cuda_driver *d = litmus_driver();
    CUstreamBatchMemOpParams op = {};
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = flag_at(flags, f);
    op.writeValue.value = number;
    right(cuda_driver_said(d, d->cuStreamBatchMemOp_(s, 1, &op, 0), "cuStreamBatchMemOp"));
}

#endif
