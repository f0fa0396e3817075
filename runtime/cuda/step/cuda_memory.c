// Memory of segments, and tensors in host memory.

#include <stdlib.h>

#include "core/fail.h"
#include "cuda/comm/cuda_nccl.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_program.h"

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
    char *p = seg == SEG_SYM ? cuda_put_start(r, bytes) : NULL;
    for (unsigned axes = 1; seg == SEG_SYM && axes < (1u << r->n_axes); axes++)
        cuda_of(r)->peers[axes] = cuda_agree(r, p && cuda_put_peers(r, axes));
    if (p) return p;
    p = allocate(r, bytes);
    if (seg == SEG_SYM) cuda_of(r)->own_sym = p;
    return p;
}

void cuda_copy_again(hap_rank *r, const char *p, int64_t bytes)
{
    cuda_steps *steps = cuda_steps_of(r);
    cuda_backend *b = cuda_of(r);
    for (int i = 0; i < steps->now.list.n; i++) {
        const cuda_call *c = &steps->now.list.call[i];
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
        cuda_copy_again(r, r->seg[s], r->seg_bytes[s]);
    }
    cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
}

double hap_backend_norm(const hap_rank *r)
{
    const cuda_trap *seen = cuda_of(r)->x.trap;
    return seen && seen->norm > 0 ? seen->norm : -1;
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
        cuda_copy_again(r, t->data, t->bytes);
        cuda_check(r, cuda_said(cudaStreamSynchronize(b->x.stream), "cudaStreamSynchronize"));
    }
    if (host == b->staging)
        b->staging_taken = false;
    else
        free(host);
}
