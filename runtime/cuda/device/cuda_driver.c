#include "cuda/device/cuda_driver.h"

#include <dlfcn.h>
#include <stdbool.h>

// The header names the present version of a function by a macro: NAME is that name.
#define TEXT(name) #name
#define NAME(name) TEXT(name)

const cuda_driver *cuda_driver_get(const char **why)
{
    static cuda_driver d;
    static bool found;
    if (found) return &d;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!driver) {
        *why = cuda_fail("libcuda.so.1 cannot be loaded");
        return NULL;
    }
#define NEED(name)                                                                                 \
    *(void **)&d.name##_ = dlsym(driver, NAME(name));                                              \
    if (!d.name##_) {                                                                              \
        *why = cuda_fail("not supported: this CUDA driver has no " NAME(name));                    \
        return NULL;                                                                               \
    }
#define FIND(name) *(void **)&d.name##_ = dlsym(driver, NAME(name));
    CUDA_DRIVER_FUNCTIONS(NEED)
    CUDA_DRIVER_GREEN(FIND)
#undef NEED
#undef FIND
    found = true;
    return &d;
}

const char *cuda_driver_said(const cuda_driver *d, CUresult e, const char *call)
{
    const char *text = NULL;
    if (e == CUDA_SUCCESS) return NULL;
    d->cuGetErrorString_(e, &text);
    return cuda_fail("%s: %s", call, text ? text : "unknown error");
}
