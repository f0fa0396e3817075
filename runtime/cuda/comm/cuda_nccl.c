// NCCL as the CUDA backend uses it: communicators by axis mask, element types, errors.

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/abort.h"
#include "core/fail.h"
#include "cuda/comm/cuda_nccl.h"

static void check(hap_rank *r, ncclResult_t e, ncclComm_t c, const char *call)
{
    if (e == ncclSuccess || e == ncclInProgress) return;
    const char *detail = ncclGetLastError(c);
    if (e == ncclRemoteError) hap_abort_let_launcher_speak(); // another rank is gone: why?
    hap_fail(r, HAP_EXIT_FAILED, "%s: %s%s%.200s", call, ncclGetErrorString(e),
             detail && detail[0] ? ": " : "", detail ? detail : "");
}

void cuda_nccl_check(hap_rank *r, ncclResult_t e, const char *call)
{
    check(r, e, NULL, call);
}

int cuda_agree(hap_rank *r, int number)
{
    MPI_Allreduce(MPI_IN_PLACE, &number, 1, MPI_INT, MPI_MIN, cuda_of(r)->stage);
    return number;
}

ncclDataType_t cuda_nccl_type(hap_dtype t)
{
    switch (t) {
    case HAP_F32:
        return ncclFloat32;
    case HAP_BF16:
        return ncclBfloat16;
    case HAP_F16:
        return ncclFloat16;
    case HAP_I64:
        return ncclInt64;
    case HAP_I32:
        return ncclInt32;
    case HAP_BOOL:
    case HAP_U8:
        return ncclUint8;
    }
    return ncclUint8;
}

// The communicator of this rank's group over the axes of the mask, members in order of coordinate.
static ncclComm_t split(hap_rank *r, ncclComm_t all, unsigned mask)
{
    int color = 0;
    ncclComm_t c = NULL;
    for (int a = 0; a < r->n_axes; a++)
        color = color * r->size[a] + (mask & AXIS(a) ? 0 : r->coord[a]);
    cuda_nccl_check(r, ncclCommSplit(all, color, r->member, &c, NULL), "ncclCommSplit");
    return c;
}

// NCCL takes ranks whose NCCL_HOSTID differ for ranks of different hosts. Sockets over the loopback
// device are then the slow link; where the ranks really are on several hosts, NCCL_SOCKET_IFNAME is
// the user's. NCCL reads its variables at its first call. Ranks that share devices are a host each:
// NCCL refuses two of one host on a device.
static void emulate_host(const hap_rank *r)
{
    char id[128];
    bool share = cuda_shares(r);
    if (!share && !r->nccl_host) return;
    snprintf(id, sizeof id, "%s-%d", r->host, share ? r->id : r->nccl_host[r->member]);
    setenv("NCCL_HOSTID", id, 1);
    setenv("NCCL_NET", "Socket", 1);
    setenv("NCCL_SOCKET_IFNAME", "lo", 0);
    setenv("NCCL_SOCKET_NTHREADS", "2", 0); // by one socket a channel stages took 4 % longer
    setenv("NCCL_NSOCKS_PERTHREAD", "2", 0);
}

void cuda_nccl_start(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    for (unsigned mask = 1; mask < CUDA_MASKS; mask++) {
        // Above the compute stream, so that what a transfer needs is not queued behind matmuls.
        int low = 0, high = 0;
        cudaDeviceGetStreamPriorityRange(&low, &high);
        cuda_check(r, cuda_said(cudaStreamCreateWithPriority(&b->stream[mask],
                                                             cudaStreamNonBlocking, high),
                                "cudaStreamCreate"));
    }
    if (r->n_ranks > 1) emulate_host(r);
    if (r->n_members == 1) return; // nothing to join
    unsigned all = r->n_axes == 2 ? 3u : 1u;
    ncclUniqueId id;
    memset(&id, 0, sizeof id);
    if (r->member == 0) cuda_nccl_check(r, ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, b->stage);
    cuda_nccl_check(r, ncclCommInitRank(&b->group[all], r->n_members, id, r->member),
                    "ncclCommInitRank");
    if (all == 1) return;
    b->group[AXIS(0)] = split(r, b->group[all], AXIS(0));
    b->group[AXIS(1)] = split(r, b->group[all], AXIS(1));
    b->between = split(r, b->group[all], AXIS(0));
    b->inside = split(r, b->group[all], AXIS(1));
}

void cuda_nccl_end(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (b->between) ncclCommDestroy(b->between);
    if (b->inside) ncclCommDestroy(b->inside);
    for (unsigned mask = 1; mask < CUDA_MASKS; mask++) {
        if (b->group[mask]) ncclCommDestroy(b->group[mask]);
        if (b->stream[mask]) cudaStreamDestroy(b->stream[mask]);
    }
}

void cuda_nccl_state(hap_rank *r, ncclComm_t c)
{
    ncclResult_t state = ncclSuccess;
    if (ncclCommGetAsyncError(c, &state) == ncclSuccess) check(r, state, c, "NCCL");
}

void cuda_nccl_poll(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    const ncclComm_t all[] = {b->group[1], b->group[2], b->group[3], b->between, b->inside};
    for (unsigned i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i]) cuda_nccl_state(r, all[i]);
}
