// Page-locked memory, which kernels and NCCL reach under the same address. Without enough devices
// for the ranks the test is skipped.

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/fail.h"
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

void coll_memory_begin(hap_rank *r)
{
    void *p = NULL;
    cudaFree(r->seg[SEG_LOCAL]);
    HAP_CK(r,
           cudaHostAlloc(&p, (size_t)r->seg_bytes[SEG_LOCAL], cudaHostAllocMapped) == cudaSuccess,
           "no page-locked memory");
    r->seg[SEG_LOCAL] = p;
}

void coll_memory_end(hap_rank *r)
{
    cudaFreeHost(r->seg[SEG_LOCAL]);
    r->seg[SEG_LOCAL] = NULL;
}
