#include "cuda/step/cuda_inputs.h"

#include <stdlib.h>

#include "core/fail.h"
#include "cuda/kernels/cuda_shadow.h"
#include "cuda/step/cuda_calls.h"

typedef struct rows {
    const hap_tensor *t;
    void *host;              // page-locked
    void *device;            // NULL: rows go from host memory into the tensor
    bool looked;             // for room on the device
    bool sent;               // and not taken
    cudaEvent_t read, taken; // host, device may be written
} rows;

struct cuda_inputs {
    cudaStream_t stream;
    int n;
    rows of[HAP_MAX_INPUTS];
    int64_t bytes; // of all
};

static void ok(hap_rank *r, cudaError_t e, const char *name)
{
    cuda_check(r, cuda_said(e, name));
}

static struct cuda_inputs *inputs_of(hap_rank *r)
{
    cuda_steps *steps = cuda_steps_of(r);
    if (steps->inputs) return steps->inputs;
    struct cuda_inputs *all = steps->inputs = hap_alloc(r, sizeof *all);
    ok(r, cudaStreamCreateWithFlags(&all->stream, cudaStreamNonBlocking), "cudaStreamCreate");
    return all;
}

static rows *find(struct cuda_inputs *all, const hap_tensor *t)
{
    for (int i = 0; i < all->n; i++)
        if (all->of[i].t == t) return &all->of[i];
    return NULL;
}

// NULL where there is no page-locked memory for it.
static rows *add(hap_rank *r, struct cuda_inputs *all, const hap_tensor *t)
{
    if (all->n == HAP_MAX_INPUTS || t->bytes == 0 || t->bytes > (int64_t)CUDA_ROWS - all->bytes)
        return NULL;
    rows in = {.t = t};
    if (cudaHostAlloc(&in.host, (size_t)t->bytes, cudaHostAllocDefault) != cudaSuccess) {
        cudaGetLastError(); // not an error of the calls to come
        return NULL;
    }
    ok(r, cudaEventCreateWithFlags(&in.read, cudaEventDisableTiming), "cudaEventCreate");
    ok(r, cudaEventCreateWithFlags(&in.taken, cudaEventDisableTiming), "cudaEventCreate");
    all->bytes += t->bytes;
    all->of[all->n] = in;
    return &all->of[all->n++];
}

// Behind the rehearsals, where all that steps need has been taken.
static void look_for_room(hap_rank *r, rows *in)
{
    size_t left = 0, whole = 0;
    if (in->looked || r->rehearsal) return;
    in->looked = true;
    if (cudaMemGetInfo(&left, &whole) != cudaSuccess ||
        left < (size_t)in->t->bytes + CUDA_ROWS_LEAVE ||
        cudaMalloc(&in->device, (size_t)in->t->bytes) != cudaSuccess) {
        in->device = NULL;
        cudaGetLastError();
    }
}

void *hap_backend_rows(hap_rank *r, const hap_tensor *t)
{
    struct cuda_inputs *all = inputs_of(r);
    rows *in = find(all, t);
    if (!in) in = add(r, all, t);
    if (!in) return NULL;
    look_for_room(r, in);
    ok(r, cudaEventSynchronize(in->read), "cudaEventSynchronize"); // at once, if none was recorded
    return in->host;
}

void hap_backend_rows_send(hap_rank *r, const hap_tensor *t)
{
    struct cuda_inputs *all = inputs_of(r);
    rows *in = find(all, t);
    in->sent = true;
    if (!in->device) return;
    ok(r, cudaStreamWaitEvent(all->stream, in->taken, 0), "cudaStreamWaitEvent");
    ok(r,
       cudaMemcpyAsync(in->device, in->host, (size_t)t->bytes, cudaMemcpyHostToDevice, all->stream),
       "cudaMemcpyAsync");
    ok(r, cudaEventRecord(in->read, all->stream), "cudaEventRecord");
}

void hap_backend_rows_take(hap_rank *r, hap_tensor *t)
{
    cuda_backend *b = cuda_of(r);
    rows *in = find(inputs_of(r), t);
    HAP_CK(r, in && in->sent, "rows of an input are taken that were not sent");
    in->sent = false;
    cuda_will_write(&b->x, t->data, t->bytes);
    if (in->device) ok(r, cudaStreamWaitEvent(b->x.stream, in->read, 0), "cudaStreamWaitEvent");
    ok(r,
       cudaMemcpyAsync(t->data, in->device ? in->device : in->host, (size_t)t->bytes,
                       in->device ? cudaMemcpyDeviceToDevice : cudaMemcpyHostToDevice, b->x.stream),
       "cudaMemcpyAsync");
    ok(r, cudaEventRecord(in->device ? in->taken : in->read, b->x.stream), "cudaEventRecord");
    cuda_copy_again(r, t->data, t->bytes);
}

void cuda_inputs_end(cuda_backend *b)
{
    struct cuda_inputs *all = b->steps->inputs;
    if (!all) return;
    for (int i = 0; i < all->n; i++) {
        cudaFreeHost(all->of[i].host);
        if (all->of[i].device) cudaFree(all->of[i].device);
        cudaEventDestroy(all->of[i].read);
        cudaEventDestroy(all->of[i].taken);
    }
    cudaStreamDestroy(all->stream);
    free(all);
    b->steps->inputs = NULL;
}
