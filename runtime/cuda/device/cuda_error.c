#include "cuda/device/cuda_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const char *cuda_fail(const char *fmt, ...)
{
    static _Thread_local char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

const char *cuda_said(cudaError_t e, const char *call)
{
    if (e == cudaSuccess) return NULL;
    return cuda_fail("%.*s: %s", (int)strcspn(call, "("), call, cudaGetErrorString(e));
}
