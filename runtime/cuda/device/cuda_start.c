#include "cuda/device/cuda_start.h"

#include <string.h>

#include "cuda/device/cuda_graph.h"
#include "cuda/device/cuda_green.h"
#include "cuda/device/cuda_room.h"

const char *cuda_context_start(cuda_context *x, int sms)
{
    void *trap = NULL;
    if (sms)
        CUDA_TRY(cuda_green_start(x, sms));
    else
        CUDA_CALL(cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking));
    CUDA_CALL(cudaMalloc((void **)&x->step, sizeof *x->step));
    CUDA_CALL(cudaHostAlloc(&trap, sizeof *x->trap, cudaHostAllocMapped));
    x->trap = trap;
    memset(trap, 0, sizeof *x->trap);
    CUDA_CALL(cudaMalloc((void **)&x->found, sizeof *x->found));
    CUDA_CALL(cudaMalloc((void **)&x->zeros, CUDA_ZEROS));
    return NULL;
}

void cuda_context_end(cuda_context *x)
{
    cuda_room_free(&x->work);
    if (x->step) cudaFree(x->step);
    if (x->trap) cudaFreeHost(x->trap);
    if (x->found) cudaFree(x->found);
    if (x->zeros) cudaFree(x->zeros);
    if (x->stream) cudaStreamDestroy(x->stream);
    cuda_green_end(x);
    *x = (cuda_context){0};
}

const char *cuda_context_set(cuda_context *x, const hap_step_state *s)
{
    cuda_step now = {s->lr, s->step, s->seed};
    // From pageable memory: the call returns when `now` has been read.
    CUDA_CALL(cudaMemcpyAsync(x->step, &now, sizeof now, cudaMemcpyHostToDevice, x->stream));
    return NULL;
}

const char *cuda_trapped(const cuda_context *x)
{
    const cuda_trap *t = x->trap;
    if (!t || !t->set) return NULL;
    const char *op = (unsigned)t->op < HAP_N_OPS ? hap_op_names[t->op] : "?";
    if (t->expert >= 0)
        return cuda_fail("%s: %lld rows of an example choose expert %lld, which has room for %lld "
                         "(hapc --expert-room)",
                         op, (long long)t->value, (long long)t->expert, (long long)t->limit);
    return cuda_fail("%s: index %lld lies outside [0, %lld)", op, (long long)t->value,
                     (long long)t->limit);
}
