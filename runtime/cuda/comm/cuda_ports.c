#include "cuda/comm/cuda_ports.h"

#include <stdlib.h>
#include <string.h>

#include "core/fail.h"
#include "core/stage_vars.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/kernels/cuda_port_runs.h"

static void ok(hap_rank *r, cudaError_t e, const char *name)
{
    cuda_check(r, cuda_said(e, name));
}

static cuda_port *port_of(const hap_rank *r, const hap_port_end *e)
{
    return &cuda_of(r)->ports->port[e - r->ports->end];
}

static int64_t rounded(int64_t bytes)
{
    return (bytes + HAP_UNIT - 1) / HAP_UNIT * HAP_UNIT;
}

static const hap_tensor *shape_of(const hap_rank *r, const hap_port_end *e)
{
    return &e->shape[e->port->from == r->stage ? 0 : 1];
}

// --- a step as planned ---

static void *device_memory(hap_rank *r, int64_t bytes)
{
    void *p = NULL;
    ok(r, cudaMalloc(&p, bytes ? (size_t)bytes : 1), "cudaMalloc");
    cuda_of(r)->x.made[cuda_of(r)->x.phase].allocations++;
    return p;
}

static cudaEvent_t event_new(hap_rank *r)
{
    cudaEvent_t e = NULL;
    ok(r, cudaEventCreateWithFlags(&e, cudaEventDisableTiming), "cudaEventCreate");
    return e;
}

// The runs of all pieces, none longer than a warp copies. Each piece begins at a whole unit.
static void find_runs(hap_rank *r, const hap_port_end *e, cuda_port *p)
{
    int64_t item = hap_dtype_bytes(shape_of(r, e)->type), at = 0;
    cuda_port_run *run = NULL;
    int n = 0, cap = 0;
    for (int i = 0; i < e->n; i++) {
        const hap_piece *x = &e->piece[i];
        at = rounded(at);
        for (int k = 0; k < x->n; k++) {
            int64_t local = x->run[k].local * item, left = x->run[k].n * item;
            while (left > 0) {
                int64_t bytes = left < CUDA_PORT_RUN ? left : CUDA_PORT_RUN;
                run = hap_grow(r, run, &cap, n + 1, sizeof *run);
                run[n++] = (cuda_port_run){local, at, bytes};
                local += bytes, at += bytes, left -= bytes;
            }
        }
    }
    p->bytes = at;
    p->n_runs = n;
    p->run = device_memory(r, n * (int64_t)sizeof *run);
    if (n > 0) cuda_check(r, cuda_upload(p->run, run, (size_t)n * sizeof *run));
    free(run);
}

// Of a port that this stage sends to: as many as micro-batches are under way, or as messages.
static void take_rooms(hap_rank *r, const hap_port_end *e, cuda_port *p, const int *rings,
                       int n_messages)
{
    int low = e->port->from < e->port->to ? e->port->from : e->port->to;
    p->n_rooms = rings[low] > 1 ? rings[low] : 1;
    if (p->n_rooms > n_messages) p->n_rooms = n_messages;
    p->room = device_memory(r, rounded(p->bytes) * p->n_rooms);
    p->packed = hap_alloc(r, (size_t)p->n_rooms * sizeof *p->packed);
    p->gone = hap_alloc(r, (size_t)p->n_rooms * sizeof *p->gone);
    for (int i = 0; i < p->n_rooms; i++) {
        p->packed[i] = event_new(r);
        p->gone[i] = event_new(r);
    }
}

void cuda_ports_plan(hap_rank *r, const cuda_message *m, int n, const int *rings)
{
    cuda_ports *all = cuda_of(r)->ports;
    int64_t most = 0;
    cuda_ports_forget(r);
    int *n_of = hap_alloc(r, (size_t)(all->n + 1) * sizeof *n_of); // zeroed
    all->receive = hap_alloc(r, (size_t)(n + 1) * sizeof *all->receive);
    for (int i = 0; i < n; i++) {
        cuda_port *p = port_of(r, m[i].end);
        if (n_of[p - all->port]++ == 0) find_runs(r, m[i].end, p);
        all->message = hap_grow(r, all->message, &all->cap_messages, i + 1, sizeof *all->message);
        all->message[all->n_messages++] = m[i];
        if (m[i].send) continue;
        all->receive[all->n_receives++] = i;
        if (p->bytes > most) most = p->bytes;
    }
    for (int i = 0; i < n; i++) {
        cuda_port *p = port_of(r, m[i].end);
        if (m[i].send && !p->room) take_rooms(r, m[i].end, p, rings, n_of[p - all->port]);
    }
    for (int k = 0; k < 2 && all->n_receives > 0; k++) {
        all->room[k] = device_memory(r, most);
        all->come[k] = event_new(r);
        all->read[k] = event_new(r);
    }
    cuda_check(r, cuda_port_load(cuda_of(r)->x.stream, all->unpacked)); // no receive is under way
    free(n_of);
}

void cuda_ports_forget(hap_rank *r)
{
    cuda_ports *all = cuda_of(r)->ports;
    for (int i = 0; i < all->n; i++) {
        cuda_port *p = &all->port[i];
        for (int k = 0; k < p->n_rooms; k++) {
            cudaEventDestroy(p->packed[k]);
            cudaEventDestroy(p->gone[k]);
        }
        cudaFree(p->run);
        cudaFree(p->room);
        free(p->packed);
        free(p->gone);
        *p = (cuda_port){.comm = p->comm, .stream = p->stream};
    }
    for (int k = 0; k < 2 && all->room[k]; k++) {
        cudaFree(all->room[k]);
        cudaEventDestroy(all->come[k]);
        cudaEventDestroy(all->read[k]);
        all->room[k] = NULL;
    }
    free(all->message);
    free(all->receive);
    all->message = NULL;
    all->receive = NULL;
    all->n_messages = all->cap_messages = all->n_receives = 0;
}

// --- a step ---

// One message of the port, by all pieces at once, on its stream.
static void transfer(hap_rank *r, const hap_port_end *e, bool send, char *room)
{
    const cuda_port *p = port_of(r, e);
    ncclDataType_t type = cuda_nccl_type(shape_of(r, e)->type);
    int64_t item = hap_dtype_bytes(shape_of(r, e)->type), at = 0;
    int from = hap_stage_leader(r, e->port->from), to = hap_stage_leader(r, e->port->to);
    int n_from = hap_stage_ranks(r, e->port->from);
    cuda_nccl_check(r, ncclGroupStart(), "ncclGroupStart");
    for (int i = 0; i < e->n; i++) {
        const hap_piece *x = &e->piece[i];
        size_t n = (size_t)x->elements;
        at = rounded(at);
        if (send)
            cuda_nccl_check(r,
                            ncclSend(room + at, n, type, n_from + x->peer - to, p->comm, p->stream),
                            "ncclSend");
        else
            cuda_nccl_check(r, ncclRecv(room + at, n, type, x->peer - from, p->comm, p->stream),
                            "ncclRecv");
        at += x->elements * item;
    }
    cuda_nccl_check(r, ncclGroupEnd(), "ncclGroupEnd");
}

static void post_receive(hap_rank *r)
{
    cuda_ports *all = cuda_of(r)->ports;
    if (all->posted == all->n_receives) return;
    int k = all->posted % 2;
    const hap_port_end *e = all->message[all->receive[all->posted++]].end;
    cudaStream_t s = port_of(r, e)->stream;
    ok(r, cudaStreamWaitEvent(s, all->read[k], 0), "cudaStreamWaitEvent");
    transfer(r, e, false, all->room[k]);
    ok(r, cudaEventRecord(all->come[k], s), "cudaEventRecord");
}

void cuda_ports_begin(hap_rank *r)
{
    cuda_ports *all = cuda_of(r)->ports;
    for (int i = 0; i < all->n; i++)
        all->port[i].sent = 0;
    all->posted = all->taken = 0;
    all->said = -1;
    *all->unpacked = 0;
    post_receive(r);
    post_receive(r);
}

void cuda_port_send(hap_rank *r, hap_port_end *e, const hap_tensor *x)
{
    cuda_port *p = port_of(r, e);
    cudaStream_t compute = cuda_of(r)->x.stream;
    if (p->n_runs == 0) return;
    int k = (int)(p->sent++ % p->n_rooms);
    char *room = p->room + rounded(p->bytes) * k;
    ok(r, cudaStreamWaitEvent(compute, p->gone[k], 0), "cudaStreamWaitEvent");
    cuda_check(r, cuda_port_pack(compute, room, x->data, p->run, p->n_runs));
    ok(r, cudaEventRecord(p->packed[k], compute), "cudaEventRecord");
    ok(r, cudaStreamWaitEvent(p->stream, p->packed[k], 0), "cudaStreamWaitEvent");
    transfer(r, e, true, room);
    ok(r, cudaEventRecord(p->gone[k], p->stream), "cudaEventRecord");
}

void cuda_port_get(hap_rank *r, hap_port_end *e, hap_tensor *y)
{
    cuda_ports *all = cuda_of(r)->ports;
    const cuda_port *p = port_of(r, e);
    cudaStream_t compute = cuda_of(r)->x.stream;
    HAP_CK(r, all->taken < all->n_receives && all->message[all->receive[all->taken]].end == e,
           "a message of port %d comes out of the order of the steps before",
           (int)(e - r->ports->end));
    int k = all->taken++ % 2;
    ok(r, cudaStreamWaitEvent(compute, all->come[k], 0), "cudaStreamWaitEvent");
    cuda_check(r, cuda_port_unpack(compute, y->data, all->room[k], p->run, p->n_runs, all->unpacked,
                                   all->taken));
    ok(r, cudaEventRecord(all->read[k], compute), "cudaEventRecord");
    post_receive(r);
}

void cuda_ports_poll(hap_rank *r)
{
    cuda_ports *all = cuda_of(r)->ports;
    int come = *(volatile int *)all->unpacked;
    for (int i = 0; i < all->n; i++)
        if (all->port[i].comm) cuda_nccl_state(r, all->port[i].comm);
    if (all->taken == 0 || come == all->said) return; // by host, or nothing new
    all->said = come;
    hap_port_ends(r);
    if (come >= all->n_receives) return;
    const cuda_message *m = &all->message[all->receive[come]];
    hap_port_begins(r, m->end, m->number);
}
