// Stands for libcuda.so.1 of a driver that supports CUDA 11.2 alone: what the CUDA runtime asks
// before it says that the driver is too old for it.

#include <string.h>

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetProcAddress_v2(const char *name, void (**f)(void), int version, unsigned long long flags,
                        int *found);

int cuInit(unsigned flags)
{
    (void)flags;
    return 0;
}

int cuDriverGetVersion(int *version)
{
    *version = 11020;
    return 0;
}

static int missing(void)
{
    return 500; // CUDA_ERROR_NOT_FOUND
}

int cuGetProcAddress_v2(const char *name, void (**f)(void), int version, unsigned long long flags,
                        int *found)
{
    (void)version;
    (void)flags;
    if (found) *found = 0;
    *f = !strcmp(name, "cuInit")               ? (void (*)(void))cuInit
         : !strcmp(name, "cuDriverGetVersion") ? (void (*)(void))cuDriverGetVersion
         : !strcmp(name, "cuGetProcAddress")   ? (void (*)(void))cuGetProcAddress_v2
                                               : (void (*)(void))missing;
    return 0;
}
