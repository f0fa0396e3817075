#include "cuda/device/cuda_room.h"

#include <stdlib.h>

void cuda_room_free(cuda_room *m)
{
    for (cuda_room *old = m->left, *next; old; old = next) {
        next = old->left;
        cudaFree(old->at);
        free(old);
    }
    if (m->at) cudaFree(m->at);
    *m = (cuda_room){0};
}

static const char *move_away(cuda_room *m)
{
    cuda_room *old = malloc(sizeof *old);
    if (!old) return "out of memory";
    *old = *m;
    *m = (cuda_room){.left = old};
    return NULL;
}

const char *cuda_room_take(cuda_context *x, cuda_room *m, cudaStream_t s, int64_t bytes)
{
    void *p = NULL;
    if (bytes <= m->bytes) return NULL;
    if (x->capturing)
        return cuda_fail("a captured step wants %lld bytes of workspace, those before it used %lld",
                         (long long)bytes, (long long)m->bytes);
    CUDA_CALL(cudaStreamSynchronize(s));
    if (x->graphs == 0)
        cuda_room_free(m);
    else if (m->at)
        CUDA_TRY(move_away(m));
    cudaError_t e = cudaMalloc(&p, (size_t)bytes);
    if (e == cudaErrorMemoryAllocation)
        return cuda_fail("out of device memory: a workspace of %lld bytes", (long long)bytes);
    CUDA_TRY(cuda_said(e, "cudaMalloc"));
    x->made[x->phase].allocations++;
    m->at = p;
    m->bytes = bytes;
    return NULL;
}

void *cuda_work(cuda_context *x, int64_t bytes, const char **why)
{
    const char *e = cuda_room_take(x, &x->work, x->stream, bytes);
    if (e) *why = e;
    return e ? NULL : x->work.at;
}
