// The backend's own memory. Without enough devices for the ranks the test is skipped.
//
// Sizes from which one-sided puts go in pieces or by kernels differ from one coll_memory_begin to
// the next. Every other one is as if in a later step: pairs do not rehearse, which makes what they
// are to make. With HAP_TEST_CREDITS=0 nobody waits for credits of one-sided puts, which tests are
// to notice: waits are dropped between the runtime and the driver (linked with
// --wrap=cuda_driver_get).

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_driver.h"
#include "tests/support/coll_memory.h"

enum { SKIPPED = 77 };

__attribute__((constructor)) static void skip_without_devices(void)
{
    int n = 0;
    const char *size = getenv("OMPI_COMM_WORLD_SIZE");
    int ranks = size ? atoi(size) : 1;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n >= ranks) return;
    printf("skipped: %d CUDA devices for %d ranks\n", e == cudaSuccess ? n : 0, ranks);
    fflush(stdout);
    _exit(SKIPPED);
}

static hap_rank *rank;

void coll_memory_begin(hap_rank *r)
{
    static const cuda_put_sizes sizes[] = {{64, 256, 4096}, {1, 0, 1}};
    static unsigned n;
    rank = r;
    if (n % 3 < 2) *cuda_put_sizes_of(r) = sizes[n % 3];
    cuda_of(r)->warm = n % 2;
    n++;
}

void coll_memory_end(hap_rank *r)
{
    (void)r;
}

static void move(void *to, const void *from, int64_t bytes)
{
    cudaError_t e = cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyDefault);
    if (e == cudaSuccess) e = cudaStreamSynchronize(cudaStreamLegacy); // the copy to the device too
    if (e == cudaSuccess) return;
    printf("coll_test: %s\n", cudaGetErrorString(e));
    fflush(stdout);
    _exit(1);
}

void coll_memory_put(void *at, const void *host, int64_t bytes)
{
    move(at, host, bytes);
}

void coll_memory_get(void *host, const void *at, int64_t bytes)
{
    move(host, at, bytes);
}

static void CUDART_CB sleeps(void *microseconds)
{
    usleep((useconds_t)(intptr_t)microseconds);
}

void coll_memory_delay(hap_rank *r, int microseconds)
{
    cudaLaunchHostFunc(cuda_of(r)->x.stream, sleeps, (void *)(intptr_t)microseconds);
}

// --- without credits ---

const cuda_driver *__real_cuda_driver_get(const char **why);
const cuda_driver *__wrap_cuda_driver_get(const char **why);
static const cuda_driver *driver;

static bool is_credit(CUdeviceptr at)
{
    const char *flags = rank->seg[SEG_SYM] + rank->seg_bytes[SEG_SYM];
    int64_t i = ((char *)(uintptr_t)at - flags) / CUDA_PUT_FLAG_BYTES;
    return i / rank->n_members % CUDA_PUT_KINDS == CUDA_PUT_CREDIT;
}

static CUresult without_credits(CUstream s, unsigned n, CUstreamBatchMemOpParams *op,
                                unsigned flags)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < n; i++)
        if (op[i].operation != CU_STREAM_MEM_OP_WAIT_VALUE_32 ||
            !is_credit(op[i].waitValue.address))
            op[kept++] = op[i];
    return kept ? driver->cuStreamBatchMemOp_(s, kept, op, flags) : CUDA_SUCCESS;
}

const cuda_driver *__wrap_cuda_driver_get(const char **why)
{
    static cuda_driver changed;
    const char *credits = getenv("HAP_TEST_CREDITS");
    driver = __real_cuda_driver_get(why);
    if (!driver || !credits || strcmp(credits, "0") != 0) return driver;
    changed = *driver;
    changed.cuStreamBatchMemOp_ = without_credits;
    return &changed;
}
