#include "cuda/step/cuda_release.h"

#include <sched.h>
#include <string.h>

#include "core/fail.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/step/cuda_program.h"

static void check(hap_rank *r, cudaError_t e, const char *call)
{
    cuda_check(r, cuda_said(e, call));
}

static void launch(hap_rank *r, const cuda_release *x)
{
    int n = 0;
    void *flags = cuda_put_flags(r, &n);
    cuda_check(r, cuda_raise_flags(x->stream, flags, n, CUDA_PUT_FLAG_BYTES, x->order));
}

static bool idle(hap_rank *r, const cuda_release *x)
{
    cudaError_t e = cudaStreamQuery(x->stream);
    if (e != cudaErrorNotReady) check(r, e, "the device");
    return e == cudaSuccess;
}

void cuda_release_park(hap_rank *r, cuda_release *x)
{
    int n = 0;
    void *order = NULL;
    *x = (cuda_release){0};
    if (!cuda_put_flags(r, &n)) return;
    check(r, cudaHostAlloc(&order, sizeof *x->order, cudaHostAllocMapped), "cudaHostAlloc");
    memset(order, 0, sizeof *x->order);
    x->order = order;
    check(r, cudaStreamCreateWithPriority(&x->stream, cudaStreamNonBlocking, 0),
          "cudaStreamCreate");
    launch(r, x);
}

// The parked kernel, and later, when that has ended, another; which may come too late to be of use.
void cuda_release_raise(hap_rank *r, const cuda_release *x, uint32_t number)
{
    if (!x->order) return;
    bool parked = !x->order->go;
    if (!parked && !idle(r, x)) return;
    x->order->number = number;
    __sync_synchronize();
    x->order->go = 1;
    if (parked) return;
    x->order->stop = 0;
    launch(r, x);
}

void cuda_release_rest(const cuda_release *x)
{
    if (x->order) x->order->stop = 1;
}

void cuda_release_end(hap_rank *r, cuda_release *x, uint32_t number)
{
    for (unsigned a = 0; a < CUDA_MASKS; a++)
        cuda_put_take(r, a, number);
    if (!x->order) return;
    for (int turn = 0; turn < 2; turn++) { // one that is under way, if any; and one behind it
        cuda_release_raise(r, x, number);
        cuda_release_rest(x);
        while (!idle(r, x))
            sched_yield();
    }
    cudaStreamDestroy(x->stream);
    cudaFreeHost(x->order);
    *x = (cuda_release){0};
}
