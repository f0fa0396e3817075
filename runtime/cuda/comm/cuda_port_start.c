// Communicators and streams of ports.

#include <stdlib.h>
#include <string.h>

#include "core/comm.h"
#include "core/fail.h"
#include "core/stage_vars.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_ports.h"

static void ok(hap_rank *r, cudaError_t e, const char *name)
{
    cuda_check(r, cuda_said(e, name));
}

// All ranks hear of the id, those of the two stages make the communicator. In the order of the
// table, so that of the ports that are waited for the first has all its ranks.
static void make_comm(hap_rank *r, const hap_port *port, cuda_port *p)
{
    ncclUniqueId id;
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    int from = hap_stage_leader(r, port->from), n_from = hap_stage_ranks(r, port->from);
    config.maxCTAs = CUDA_PORT_BLOCKS;
    memset(&id, 0, sizeof id);
    if (r->id == from) cuda_nccl_check(r, ncclGetUniqueId(&id), "ncclGetUniqueId");
    hap_comm_broadcast_of(r, from, &id, sizeof id);
    if (r->stage != port->from && r->stage != port->to) return;
    cuda_nccl_check(r,
                    ncclCommInitRankConfig(&p->comm, n_from + hap_stage_ranks(r, port->to), id,
                                           r->member + (r->stage == port->to ? n_from : 0),
                                           &config),
                    "ncclCommInitRankConfig");
    int low = 0, high = 0;
    cudaDeviceGetStreamPriorityRange(&low, &high);
    ok(r, cudaStreamCreateWithPriority(&p->stream, cudaStreamNonBlocking, high),
       "cudaStreamCreate");
}

// The library connects two ranks when the first message goes between them, and each waits for the
// other then. So one goes here, where no rank waits for anything else.
static void connect(hap_rank *r, hap_port_end *e, const cuda_port *p)
{
    bool send = e->port->from == r->stage;
    int to = hap_stage_leader(r, e->port->to), from = hap_stage_leader(r, e->port->from);
    int n_from = hap_stage_ranks(r, e->port->from);
    void *byte = NULL;
    hap_port_pieces(r, e, send);
    ok(r, cudaMalloc(&byte, (size_t)e->n + 1), "cudaMalloc");
    cuda_nccl_check(r, ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < e->n; i++) {
        int peer = e->piece[i].peer;
        char *at = (char *)byte + i;
        cuda_nccl_check(r,
                        send ? ncclSend(at, 1, ncclUint8, n_from + peer - to, p->comm, p->stream)
                             : ncclRecv(at, 1, ncclUint8, peer - from, p->comm, p->stream),
                        send ? "ncclSend" : "ncclRecv");
    }
    cuda_nccl_check(r, ncclGroupEnd(), "ncclGroupEnd");
    ok(r, cudaStreamSynchronize(p->stream), "cudaStreamSynchronize");
    cudaFree(byte);
}

void cuda_ports_start(hap_rank *r)
{
    if (!r->ports || r->n_stages < 2) return;
    cuda_ports *all = hap_alloc(r, sizeof *all);
    all->n = r->ports->n;
    all->port = hap_alloc(r, (size_t)(all->n + 1) * sizeof *all->port);
    void *unpacked = NULL;
    ok(r, cudaHostAlloc(&unpacked, sizeof *all->unpacked, cudaHostAllocMapped), "cudaHostAlloc");
    all->unpacked = unpacked;
    *all->unpacked = 0;
    cuda_of(r)->ports = all;
    for (int i = 0; i < all->n; i++) {
        make_comm(r, r->ports->end[i].port, &all->port[i]);
        if (all->port[i].comm) connect(r, &r->ports->end[i], &all->port[i]);
    }
}

void cuda_ports_close(hap_rank *r)
{
    cuda_ports *all = cuda_of(r)->ports;
    if (!all) return;
    cuda_ports_forget(r);
    for (int i = 0; i < all->n; i++) {
        if (!all->port[i].comm) continue;
        ncclCommDestroy(all->port[i].comm);
        cudaStreamDestroy(all->port[i].stream);
    }
    cudaFreeHost(all->unpacked);
    free(all->port);
    free(all);
    cuda_of(r)->ports = NULL;
}
