// A stream on part of a device's SMs: a green context, by the driver's interface (CUDA 12.4 and
// later), which is looked up when it is wanted, since programs link no libcuda.
//
// The primary context stays current. Kernels launched on the green context's stream, and kernels of
// a graph captured from it, stay on its SMs; NCCL and copies have streams of the primary context.
// Memory and links keep their full speed.

#include <cuda.h>
#include <dlfcn.h>
#include <stdlib.h>

#include "cuda/cuda_context.h"

struct cuda_green {
    void *driver; // libcuda
    CUgreenCtx context;
};

// The functions used, by their names in libcuda.
#define FUNCTIONS(F)                                                                               \
    F(cuDeviceGet)                                                                                 \
    F(cuDeviceGetDevResource)                                                                      \
    F(cuDevSmResourceSplitByCount)                                                                 \
    F(cuDevResourceGenerateDesc)                                                                   \
    F(cuGreenCtxCreate)                                                                            \
    F(cuGreenCtxStreamCreate)                                                                      \
    F(cuGetErrorString)
typedef struct functions {
#define FIELD(f) __typeof__(&(f)) f##_;
    FUNCTIONS(FIELD)
#undef FIELD
} functions;

static const char *look_up(void *driver, functions *f)
{
#define FIND(name)                                                                                 \
    *(void **)&f->name##_ = dlsym(driver, #name);                                                  \
    if (!f->name##_) return cuda_fail("not supported: this CUDA driver has no " #name);
    FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

static const char *said(const functions *f, CUresult e, const char *call)
{
    const char *text = NULL;
    if (e == CUDA_SUCCESS) return NULL;
    f->cuGetErrorString_(e, &text);
    return cuda_fail("%s: %s", call, text ? text : "unknown error");
}
#define DRIVER(name, ...) CUDA_TRY(said(&f, f.name##_(__VA_ARGS__), #name))

const char *cuda_green_start(cuda_context *x, int sms)
{
    functions f;
    CUdevice device;
    CUdevResource all, part, rest;
    CUdevResourceDesc described;
    CUstream stream;
    unsigned int parts = 1;
    int ordinal = 0;
    x->green = calloc(1, sizeof *x->green);
    if (!x->green) return cuda_fail("out of memory");
    x->green->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!x->green->driver) return cuda_fail("libcuda.so.1 cannot be loaded");
    CUDA_TRY(look_up(x->green->driver, &f));
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
    if (x->green->context) {
        CUresult (*destroy)(CUgreenCtx);
        *(void **)&destroy = dlsym(x->green->driver, "cuGreenCtxDestroy");
        if (destroy) destroy(x->green->context);
    }
    if (x->green->driver) dlclose(x->green->driver);
    free(x->green);
    x->green = NULL;
}
