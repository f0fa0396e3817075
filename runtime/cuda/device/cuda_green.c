// A stream on part of a device's SMs: a green context, by the driver's interface (drivers of CUDA
// 12.5 and later; cuda_driver.h).
//
// The primary context stays current. Kernels launched on the green context's stream, and kernels of
// a graph captured from it, stay on its SMs; NCCL and copies have streams of the primary context.
// Memory and links keep their full speed.

#include "cuda/device/cuda_green.h"
#include "cuda/device/cuda_driver.h"

#include <stdlib.h>

struct cuda_green {
    const cuda_driver *driver;
    CUgreenCtx context;
};

// All that green contexts take, before any of it is called.
static const char *look_up(const cuda_driver **driver)
{
    const char *why = NULL;
    const cuda_driver *d = *driver = cuda_driver_get(&why);
    if (!d) return why;
#define NEED(name)                                                                                 \
    if (!d->name##_) return cuda_fail("not supported: this CUDA driver has no " #name);
    CUDA_DRIVER_GREEN(NEED)
#undef NEED
    return NULL;
}
#define DRIVER(name, ...) CUDA_TRY(cuda_driver_said(d, d->name##_(__VA_ARGS__), #name))

const char *cuda_green_start(cuda_context *x, int sms)
{
    CUdevice device;
    CUdevResource all, part, rest;
    CUdevResourceDesc described;
    CUstream stream;
    unsigned int parts = 1;
    int ordinal = 0;
    x->green = calloc(1, sizeof *x->green);
    if (!x->green) return cuda_fail("out of memory");
    CUDA_TRY(look_up(&x->green->driver));
    const cuda_driver *d = x->green->driver;
    CUDA_CALL(cudaGetDevice(&ordinal));
    CUDA_CALL(cudaFree(NULL)); // the primary context is made before its part
    DRIVER(cuDeviceGet, &device, ordinal);
    DRIVER(cuDeviceGetDevResource, device, &all, CU_DEV_RESOURCE_TYPE_SM);
    if ((unsigned)sms >= all.sm.smCount) {
        if ((unsigned)sms > all.sm.smCount)
            return cuda_fail("%d SMs are asked for, the device has %u", sms, all.sm.smCount);
        CUDA_CALL(cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking));
        return NULL;
    }
    DRIVER(cuDevSmResourceSplitByCount, &part, &parts, &all, &rest, 0, (unsigned)sms);
    if (parts != 1) return cuda_fail("the device gives no group of %d SMs", sms);
    DRIVER(cuDevResourceGenerateDesc, &described, &part, 1);
    DRIVER(cuGreenCtxCreate, &x->green->context, described, device, CU_GREEN_CTX_DEFAULT_STREAM);
    DRIVER(cuGreenCtxStreamCreate, &stream, x->green->context, CU_STREAM_NON_BLOCKING, 0);
    x->stream = stream;
    x->sms = (int)part.sm.smCount;
    return NULL;
}

void cuda_green_end(cuda_context *x)
{
    if (!x->green) return;
    if (x->green->context) x->green->driver->cuGreenCtxDestroy_(x->green->context);
    free(x->green);
    x->green = NULL;
}
