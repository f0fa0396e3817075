// The backend's own memory. Without enough devices for the ranks the test is skipped.

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cuda_backend.h"
#include "cuda/cuda_push.h"
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
    (void)r;
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

void coll_memory_way(hap_rank *r, const char *ways, int64_t k)
{
    char way[256];
    int64_t n = 1;
    if (!ways) return;
    for (const char *s = ways; *s; s++)
        n += *s == ';';
    for (k %= n; k > 0; k--)
        ways = strchr(ways, ';') + 1;
    snprintf(way, sizeof way, "%.*s", (int)strcspn(ways, ";"), ways);
    cuda_push_choose(r, way);
}

static void CUDART_CB sleeps(void *microseconds)
{
    usleep((useconds_t)(intptr_t)microseconds);
}

void coll_memory_delay(hap_rank *r, int microseconds)
{
    cudaLaunchHostFunc(cuda_of(r)->x.stream, sleeps, (void *)(intptr_t)microseconds);
}
