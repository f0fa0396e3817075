// From ranks to devices, and back: start, end, memory of segments, tensors in host memory.

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/comm.h"
#include "core/fail.h"
#include "cuda/comm/cuda_push.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_capture.h"
#include "cuda/step/cuda_whole.h"

void cuda_check(hap_rank *r, const char *why)
{
    if (why) hap_fail(r, HAP_EXIT_FAILED, "%s", why);
}

// The device is the one of hap_places, else that of the rank's place on its host; or the only one
// that the launcher lets this rank see. No two ranks of a host share one.
static void take_device(hap_rank *r, cuda_backend *b, int n_devices)
{
    enum { ID = 32 };
    MPI_Comm host;
    int place = 0, ranks = 1;
    char id[ID] = "";
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &place);
    MPI_Comm_size(host, &ranks);
    b->device = r->device ? r->device[r->id] : place;
    if (n_devices == 1 && getenv("CUDA_VISIBLE_DEVICES")) b->device = 0;
    HAP_CK(r, b->device < n_devices,
           "this rank is for device %d of its host, which has %d CUDA device%s", b->device,
           n_devices, n_devices == 1 ? "" : "s");
    cuda_check(r, cuda_said(cudaDeviceGetPCIBusId(id, ID, b->device), "cudaDeviceGetPCIBusId"));
    char *all = hap_alloc(r, (size_t)ranks * ID);
    MPI_Allgather(id, ID, MPI_CHAR, all, ID, MPI_CHAR, host);
    for (int k = 0; k < ranks; k++)
        HAP_CK(r, k == place || strncmp(all + k * ID, id, ID) != 0,
               "this rank and another of its host are both for the CUDA device %s", id);
    free(all);
    MPI_Comm_free(&host);
}

static void choose_device(hap_rank *r, cuda_backend *b)
{
    int n = 0, driver = 0, runtime = 0;
    // Streams that wait for other ranks are not to share a queue with those that compute.
    setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", 0);
    cudaError_t e = cudaGetDeviceCount(&n);
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (driver == 0) hap_fail(r, HAP_EXIT_FAILED, "there is no CUDA driver on this host");
    if (e == cudaErrorInsufficientDriver)
        hap_fail(r, HAP_EXIT_FAILED,
                 "the CUDA driver is too old: it supports CUDA %d.%d, this runtime is %d.%d",
                 driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
    if (e == cudaErrorNoDevice || (e == cudaSuccess && n == 0))
        hap_fail(r, HAP_EXIT_FAILED, "there is no CUDA device on this host");
    cuda_check(r, cuda_said(e, "cudaGetDeviceCount"));
    take_device(r, b, n);
    cuda_check(r, cuda_said(cudaSetDevice(b->device), "cudaSetDevice"));
}

// Called, recorded and fused, captured: as far as steps go.
int hap_backend_rehearsals(hap_rank *r)
{
    const cuda_backend *b = cuda_of(r);
    const char *on = getenv("HAP_CUDA_REHEARSE");
    int n = on && on[0] == '0' ? 0 : b->use_graph ? 3 : b->use_list ? 2 : 1;
    return hap_comm_min(r, n);
}

// How steps are run (cuda_backend.h): what all ranks can.
static void choose_ways(hap_rank *r, cuda_backend *b)
{
    enum { CALLED, LISTED, GRAPHS, EITHER };
    const char *graph = getenv("HAP_CUDA_GRAPH"), *tune = getenv("HAP_CUDA_TUNE");
    bool unset = !graph || !graph[0], tuned = !(tune && tune[0] == '0');
    int way = unset                    ? (r->n_ranks > 1 && tuned ? EITHER : GRAPHS)
              : !strcmp(graph, "auto") ? EITHER
              : !strcmp(graph, "list") ? LISTED
              : graph[0] == '0'        ? CALLED
                                       : GRAPHS;
    if (r->opt.trace && way > LISTED) way = LISTED;
    if (r->opt.check_nan) way = CALLED;
    way = hap_comm_min(r, way);
    b->use_list = way >= LISTED;
    b->use_graph = way >= GRAPHS;
    b->chooses = way == EITHER;
}

void hap_backend_mesh(hap_rank *r)
{
    cuda_backend *b = hap_alloc(r, sizeof *b);
    r->backend = b;
    choose_device(r, b);
    cuda_check(r, cuda_context_start(&b->x, r->sms ? r->sms[r->id] : 0));
    r->emulated = r->sms || r->nccl_host;
    choose_ways(r, b);
    cuda_nccl_start(r);
    cuda_pair_start(r);
    const char *verbose = getenv("HAP_VERBOSE");
    if (verbose && verbose[0]) {
        struct cudaDeviceProp p;
        cuda_check(r, cuda_said(cudaGetDeviceProperties(&p, b->device), "cudaGetDeviceProperties"));
        char sms[48] = "";
        if (b->x.sms)
            snprintf(sms, sizeof sms, " (emulated: %d of %d SMs)", b->x.sms, p.multiProcessorCount);
        fprintf(stderr, "rank %d device %d %s%s, attention by %s\n", r->id, b->device, p.name, sms,
                b->x.attention ? "cuDNN where it can" : "own kernels");
    }
}

void hap_backend_finish(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    if (!b) return;
    const char *verbose = getenv("HAP_VERBOSE");
    if (verbose && verbose[0]) {
        size_t left = 0, all = 0;
        cudaMemGetInfo(&left, &all);
        fprintf(stderr,
                "rank %d workspace %lld bytes, padded copies %lld bytes, heads outside the arena "
                "%lld bytes; in use %lld of %lld bytes of the device\n",
                r->id, (long long)b->x.work.bytes, (long long)b->x.shadow_bytes,
                (long long)b->list.spare_bytes, (long long)(all - left), (long long)all);
        const cuda_made *m = b->x.made;
        fprintf(stderr,
                "rank %d made before the steps: %d plans, %d allocations, %d graphs; in them: %d "
                "plans, %d allocations, %d graphs\n",
                r->id, m[CUDA_BEFORE].plans, m[CUDA_BEFORE].allocations, m[CUDA_BEFORE].graphs,
                m[CUDA_IN_STEPS].plans, m[CUDA_IN_STEPS].allocations, m[CUDA_IN_STEPS].graphs);
    }
    cudaDeviceSynchronize();
    cuda_parts_free(b);
    cuda_whole_drop(r);
    cuda_record_free(&b->list);
    free(b->others); // of programs that were forgotten
    cuda_groups_end(&b->groups);
    cuda_pair_end(r);
    cuda_nccl_end(r);
    for (hap_event *e = b->free; e;) {
        hap_event *next = e->next;
        cudaEventDestroy(e->ready);
        cudaEventDestroy(e->done);
        free(e);
        e = next;
    }
    cudaFree(b->own_sym);
    cudaFree(r->seg[SEG_LOCAL]);
    for (int axes = 0; axes < CUDA_MASKS; axes++)
        cuda_room_free(&b->bounce[axes]);
    cuda_push_end(r);
    r->seg[SEG_SYM] = r->seg[SEG_LOCAL] = NULL;
    if (b->staging) cudaFreeHost(b->staging);
    cuda_context_end(&b->x);
    free(b);
    r->backend = NULL;
}

static char *allocate(hap_rank *r, int64_t bytes)
{
    void *p = NULL;
    size_t n = bytes ? (size_t)bytes : 1, free_bytes = 0, total = 0;
    cudaError_t e = cudaMalloc(&p, n);
    if (e == cudaErrorMemoryAllocation && cudaMemGetInfo(&free_bytes, &total) == cudaSuccess)
        hap_fail(r, HAP_EXIT_FAILED,
                 "out of device memory: a segment of %lld bytes, %lld of %lld are free",
                 (long long)bytes, (long long)free_bytes, (long long)total);
    cuda_check(r, cuda_said(e, "cudaMalloc"));
    cuda_check(r, cuda_said(cudaMemset(p, 0, n), "cudaMemset"));
    // The memset may end after the call does, and the rank's stream does not wait for it.
    cuda_check(r, cuda_said(cudaDeviceSynchronize(), "cudaMemset"));
    return p;
}

char *hap_backend_segment(hap_rank *r, hap_segment seg, int64_t bytes)
{
    char *p = seg == SEG_SYM ? cuda_push_start(r, bytes) : NULL;
    if (p) return p;
    p = allocate(r, bytes);
    if (seg == SEG_SYM) cuda_of(r)->own_sym = p;
    return p;
}

// Copies of what lies in these bytes that the list does not make again.
static void copy_again(hap_rank *r, const char *p, int64_t bytes)
{
    cuda_backend *b = cuda_of(r);
    for (int i = 0; i < b->list.n; i++) {
        const cuda_call *c = &b->list.call[i];
        const hap_tensor *x = c->once ? c->op.in[0] : NULL;
        const char *at = x ? x->data : NULL;
        if (x && at < p + bytes && p < at + x->bytes) cuda_check(r, hap_cuda_run(&b->x, &c->op));
    }
}

void hap_backend_clear(hap_rank *r)
{
    cuda_backend *b = cuda_of(r);
    for (int s = 0; s < 2; s++) {
        cuda_will_write(&b->x, r->seg[s], r->seg_bytes[s]);
        cuda_check(r, cuda_said(cudaMemsetAsync(r->seg[s], 0, (size_t)r->seg_bytes[s], b->x.stream),
                                "cudaMemsetAsync"));
        copy_again(r, r->seg[s], r->seg_bytes[s]);
    }
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
}

int64_t hap_backend_find(hap_rank *r, const hap_tensor *t, bool nan)
{
    cuda_backend *b = cuda_of(r);
    int64_t first = -1;
    cuda_check(r, cuda_will_read(&b->x, t->data, t->bytes));
    cuda_check(r, cuda_find(&b->x, t, nan, &first));
    return first;
}

// --- tensors in host memory ---

void *hap_backend_open(hap_rank *r, hap_tensor *t, bool write)
{
    cuda_backend *b = cuda_of(r);
    void *host = NULL;
    size_t n = t->bytes ? (size_t)t->bytes : 1;
    (void)write;
    if (b->staging_taken) {
        host = hap_alloc(r, n);
    } else {
        if ((int64_t)n > b->staging_bytes) {
            if (b->staging) cudaFreeHost(b->staging);
            b->staging = NULL;
            b->staging_bytes = 0;
            cuda_check(
                r, cuda_said(cudaHostAlloc(&b->staging, n, cudaHostAllocDefault), "cudaHostAlloc"));
            b->staging_bytes = (int64_t)n;
        }
        b->staging_taken = true;
        host = b->staging;
    }
    if (t->bytes) {
        cuda_check(r, cuda_will_read(&b->x, t->data, t->bytes));
        cuda_check(r, cuda_said(cudaMemcpyAsync(host, t->data, (size_t)t->bytes,
                                                cudaMemcpyDeviceToHost, b->x.stream),
                                "cudaMemcpyAsync"));
        cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    }
    return host;
}

void hap_backend_close(hap_rank *r, hap_tensor *t, void *host, bool write)
{
    cuda_backend *b = cuda_of(r);
    if (write && t->bytes) {
        cuda_will_write(&b->x, t->data, t->bytes);
        cuda_check(r, cuda_said(cudaMemcpyAsync(t->data, host, (size_t)t->bytes,
                                                cudaMemcpyHostToDevice, b->x.stream),
                                "cudaMemcpyAsync"));
        copy_again(r, t->data, t->bytes);
        cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    }
    if (host == b->staging)
        b->staging_taken = false;
    else
        free(host);
}
