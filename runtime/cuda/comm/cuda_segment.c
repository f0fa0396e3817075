#include "cuda/comm/cuda_segment.h"

#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/fail.h"
#include "cuda/comm/cuda_descriptors.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/device/cuda_driver.h"

enum { BUS_ID = 32 };

// Where a rank is, for the others.
typedef struct place {
    char host[64], bus[BUS_ID];
    int emulated_host;
    bool off; // --cuda peers=off
} place;

static bool reaches(const cuda_backend *b, const place *mine, const place *other)
{
    int device = -1, can = 0;
    if (mine->off || other->off || strcmp(mine->host, other->host) != 0 ||
        mine->emulated_host != other->emulated_host)
        return false;
    if (cudaDeviceGetByPCIBusId(&device, other->bus) != cudaSuccess ||
        cudaDeviceCanAccessPeer(&can, b->device, device) != cudaSuccess) {
        cudaGetLastError(); // a device that this rank may not see
        return false;
    }
    return can != 0;
}

// row[j]: this rank has what it needs of rank j. peer: which ranks have it of each other.
static void agree(const hap_rank *r, const bool *row, bool *peer)
{
    int n = r->n_members;
    MPI_Allgather(row, n, MPI_C_BOOL, peer, n, MPI_C_BOOL, cuda_of(r)->stage);
    for (int i = 0; i < n; i++)
        for (int j = 0; j < i; j++)
            peer[i * n + j] = peer[j * n + i] = peer[i * n + j] && peer[j * n + i];
}

static bool any(const bool *row, int n)
{
    for (int i = 0; i < n; i++)
        if (row[i]) return true;
    return false;
}

static void find_peers(hap_rank *r, cuda_segment *g, bool *row)
{
    cuda_backend *b = cuda_of(r);
    place mine = {.emulated_host = r->nccl_host ? r->nccl_host[r->member] : 0,
                  .off = r->opt.cuda.peers == HAP_CUDA_peers_off || cuda_shares(r)};
    place *all = hap_alloc(r, (size_t)r->n_members * sizeof *all);
    memcpy(mine.host, r->host, sizeof mine.host);
    cuda_check(
        r, cuda_said(cudaDeviceGetPCIBusId(mine.bus, BUS_ID, b->device), "cudaDeviceGetPCIBusId"));
    MPI_Allgather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, cuda_of(r)->stage);
    for (int j = 0; j < r->n_members; j++)
        row[j] = j != r->member && reaches(b, &mine, &all[j]);
    agree(r, row, g->peer);
    free(all);
}

static CUmemAllocationProp properties(const cuda_backend *b)
{
    CUmemAllocationProp p = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                             .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR};
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = b->device;
    return p;
}

// Maps the allocation for this rank's device; NULL if that is not to be had.
static char *map(const cuda_driver *d, const CUmemAllocationProp *p, CUmemGenericAllocationHandle h,
                 size_t bytes, size_t granularity)
{
    CUmemAccessDesc access = {p->location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
    CUdeviceptr at = 0;
    if (d->cuMemAddressReserve_(&at, bytes, granularity, 0, 0)) return NULL;
    if (d->cuMemMap_(at, bytes, 0, h, 0) == CUDA_SUCCESS) {
        if (d->cuMemSetAccess_(at, bytes, &access, 1) == CUDA_SUCCESS) return (char *)(uintptr_t)at;
        d->cuMemUnmap_(at, bytes);
    }
    d->cuMemAddressFree_(at, bytes);
    return NULL;
}

static void unmap(hap_rank *r, const cuda_segment *g, int rank)
{
    const char *why = NULL;
    const cuda_driver *d = cuda_driver_get(&why);
    cuda_check(r, why);
    CUdeviceptr at = (CUdeviceptr)(uintptr_t)g->at[rank];
    d->cuMemUnmap_(at, (size_t)g->mapped);
    d->cuMemAddressFree_(at, (size_t)g->mapped);
    g->at[rank] = NULL;
}

static size_t granularity_of(hap_rank *r, const cuda_driver *d, const CUmemAllocationProp *p)
{
    size_t bytes = 0;
    CUresult e = d->cuMemGetAllocationGranularity_(&bytes, p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    cuda_check(r, cuda_driver_said(d, e, "cuMemGetAllocationGranularity"));
    return bytes;
}

// The own memory, and a descriptor of it.
static int allocate(hap_rank *r, cuda_segment *g, const cuda_driver *d)
{
    CUmemAllocationProp p = properties(cuda_of(r));
    CUmemGenericAllocationHandle h;
    int fd = -1;
    CUresult e = d->cuMemCreate_(&h, (size_t)g->mapped, &p, 0);
    HAP_CK(r, e != CUDA_ERROR_OUT_OF_MEMORY,
           "out of device memory: a segment of %lld bytes for transfers between ranks",
           (long long)g->mapped);
    cuda_check(r, cuda_driver_said(d, e, "cuMemCreate"));
    e = d->cuMemExportToShareableHandle_(&fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    cuda_check(r, cuda_driver_said(d, e, "cuMemExportToShareableHandle"));
    g->at[r->member] = map(d, &p, h, (size_t)g->mapped, granularity_of(r, d, &p));
    d->cuMemRelease_(h); // the mapping keeps the memory
    HAP_CK(r, g->at[r->member], "the driver does not map a segment of %lld bytes",
           (long long)g->mapped);
    cuda_check(r, cuda_said(cudaMemset(g->at[r->member], 0, (size_t)g->mapped), "cudaMemset"));
    cuda_check(r, cuda_said(cudaDeviceSynchronize(), "cudaDeviceSynchronize"));
    return fd;
}

static char *map_other(hap_rank *r, const cuda_segment *g, const cuda_driver *d, int fd)
{
    CUmemAllocationProp p = properties(cuda_of(r));
    CUmemGenericAllocationHandle h;
    if (d->cuMemImportFromShareableHandle_(&h, (void *)(uintptr_t)fd,
                                           CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR))
        return NULL;
    char *at = map(d, &p, h, (size_t)g->mapped, granularity_of(r, d, &p));
    d->cuMemRelease_(h);
    return at;
}

char *cuda_segment_start(hap_rank *r, cuda_segment *g, int64_t bytes, int64_t flag_bytes)
{
    int n = r->n_members;
    const char *why = NULL;
    *g = (cuda_segment){.bytes = bytes};
    if (bytes == 0 || n == 1) return NULL;
    bool *row = hap_alloc(r, (size_t)n * sizeof *row);
    int *fd = hap_alloc(r, (size_t)n * sizeof *fd), mine = -1;
    g->peer = hap_alloc(r, (size_t)n * (size_t)n * sizeof *g->peer);
    g->at = hap_alloc(r, (size_t)n * sizeof *g->at);
    find_peers(r, g, row);
    memcpy(row, g->peer + r->member * n, (size_t)n * sizeof *row);
    if (!any(g->peer, n * n)) { // the same on all ranks
        free(row);
        free(fd);
        return NULL;
    }
    const cuda_driver *d = cuda_driver_get(&why);
    cuda_check(r, why);
    CUmemAllocationProp p = properties(cuda_of(r));
    int64_t unit = (int64_t)granularity_of(r, d, &p);
    MPI_Allreduce(MPI_IN_PLACE, &unit, 1, MPI_INT64_T, MPI_MAX, cuda_of(r)->stage);
    g->mapped = (bytes + flag_bytes + unit - 1) / unit * unit;
    bool alone = !any(row, n);
    if (!alone) mine = allocate(r, g, d);
    cuda_descriptors_swap(r, mine, row, fd);
    for (int j = 0; j < n; j++) {
        if (!row[j]) continue;
        g->at[j] = fd[j] >= 0 ? map_other(r, g, d, fd[j]) : NULL;
        row[j] = g->at[j] != NULL;
        if (fd[j] >= 0) close(fd[j]);
    }
    if (mine >= 0) close(mine);
    agree(r, row, g->peer); // and every segment is zeroed
    for (int j = 0; j < n; j++)
        if (j != r->member && g->at[j] && !g->peer[r->member * n + j]) unmap(r, g, j);
    free(row);
    free(fd);
    return g->at[r->member];
}

void cuda_segment_end(hap_rank *r, cuda_segment *g)
{
    for (int j = 0; g->at && j < r->n_members; j++)
        if (g->at[j]) unmap(r, g, j);
    free(g->at);
    free(g->peer);
    *g = (cuda_segment){0};
}
