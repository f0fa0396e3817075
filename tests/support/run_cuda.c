#include "tests/support/run_cuda.h"

#include <cuda_runtime_api.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/device/cuda_graph.h"
#include "cuda/kernels/cuda_compute.h"
#include "cuda/kernels/cuda_lay.h"
#include "cuda/kernels/cuda_shadow.h"
#include "tests/support/test_options.h"

enum { VECTOR = 16, GUARD = 64, POISON = 0xA5, SKIPPED = 77 };

static cuda_context context;
static bool keeps_offsets, channels_last;
static unsigned unread;

__attribute__((constructor)) static void skip_without_device(void)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n > 0) return;
    printf("skipped: no CUDA device (%s)\n", e == cudaSuccess ? "none" : cudaGetErrorString(e));
    fflush(stdout);
    _exit(SKIPPED);
}

static const char *said(cudaError_t e)
{
    return e == cudaSuccess ? NULL : cudaGetErrorString(e);
}

static const char *to_device(hap_tensor *on, const hap_tensor *t)
{
    unsigned char guard[GUARD];
    void *p = NULL;
    *on = *t;
    memset(guard, POISON, sizeof guard);
    CUDA_TRY(said(cudaMalloc(&p, (size_t)t->bytes + GUARD + VECTOR)));
    char *at = (char *)p + (keeps_offsets ? (uintptr_t)t->data % VECTOR : 0);
    on->data = at;
    CUDA_TRY(cuda_upload(at, t->data, (size_t)t->bytes));
    return cuda_upload(at + t->bytes, guard, GUARD);
}

static void free_on(const hap_tensor *on)
{
    cudaFree((char *)on->data - (uintptr_t)on->data % VECTOR);
}

static const char *to_host(hap_tensor *on, hap_tensor *t, bool written)
{
    unsigned char guard[GUARD];
    CUDA_TRY(said(cudaMemcpy(guard, (char *)on->data + t->bytes, GUARD, cudaMemcpyDeviceToHost)));
    for (int i = 0; i < GUARD; i++)
        if (guard[i] != POISON) return "a kernel wrote past a tensor";
    if (!written) {
        void *copy = malloc(t->bytes ? (size_t)t->bytes : 1);
        if (!copy) return "out of memory";
        const char *why =
            said(cudaMemcpy(copy, on->data, (size_t)t->bytes, cudaMemcpyDeviceToHost));
        if (!why && memcmp(copy, t->data, (size_t)t->bytes) != 0)
            why = "a kernel changed an operand";
        free(copy);
        return why;
    }
    return said(cudaMemcpy(t->data, on->data, (size_t)t->bytes, cudaMemcpyDeviceToHost));
}

// Tensors of calls on the device.
typedef struct device_tensors {
    hap_tensor *on, **of; // each and the one it is a copy of
    bool *written;
    int n;
} device_tensors;

// The call on copies of its tensors: one copy a tensor, wherever calls name it.
static const char *moved(const hap_op_call *c, hap_op_call *there, device_tensors *d)
{
    *there = *c;
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        hap_tensor *t = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        int k = 0;
        if (!t) continue;
        while (k < d->n && d->of[k] != t)
            k++;
        if (k == d->n) {
            CUDA_TRY(to_device(&d->on[k], t));
            d->of[k] = t;
            d->n++;
        }
        if (i >= c->n_in) d->written[k] = true;
        *(i < c->n_in ? &there->in[i] : &there->out[i - c->n_in]) = &d->on[k];
    }
    return NULL;
}

// What calls read, before any of them.
static const char *lay_last(device_tensors *d)
{
    for (int k = 0; k < d->n; k++) {
        hap_tensor *t = &d->on[k];
        void *p = NULL;
        if (t->rank < 3 || t->elements == 0) continue;
        cuda_last shape = cuda_last_shape(t);
        if (!cuda_may_lie_last(&context, t, &shape)) return "no memory to turn tensors";
        CUDA_TRY(said(cudaMalloc(&p, (size_t)t->bytes)));
        const char *why = cuda_turn(&context, t->type, p, t->type, t->data, shape.images,
                                    shape.channels, shape.places);
        if (!why) why = cuda_copy(context.stream, t->data, p, t->bytes);
        if (!why) why = cuda_lie_last(&context, t, &shape);
        if (!why) why = said(cudaStreamSynchronize(context.stream));
        cudaFree(p);
        if (why) return why;
    }
    return NULL;
}

static const char *start(void)
{
    hap_options o;
    test_options(&o);
    context.options = o.cuda;
    context.verbose = o.verbose;
    return cuda_compute_start(&context, 0);
}

// Blocks of host memory of many sizes, each full of ones.
enum { SIZES = 128, OF_EACH = 16, STEP_BYTES = 16 };
typedef struct blocks {
    int32_t *at[SIZES][OF_EACH];
} blocks;

static void scribble(blocks *b)
{
    for (int k = 0; k < OF_EACH; k++)
        for (int i = 0; i < SIZES; i++) {
            size_t n = (size_t)(i + 1) * STEP_BYTES;
            b->at[i][k] = malloc(n);
            for (size_t j = 0; b->at[i][k] && j < n / sizeof(int32_t); j++)
                b->at[i][k][j] = 1;
        }
}

static void give_back(blocks *b)
{
    for (int k = 0; k < OF_EACH; k++)
        for (int i = 0; i < SIZES; i++)
            free(b->at[i][k]);
}

// The call on the device, again from the operands of before.
static const char *replay(const hap_op_call *there, device_tensors *d)
{
    cudaGraph_t graph = NULL;
    cudaGraphExec_t exec = NULL;
    blocks b;
    CUDA_TRY(said(cudaStreamSynchronize(context.stream)));
    for (int k = 0; k < d->n; k++)
        CUDA_TRY(cuda_upload(d->on[k].data, d->of[k]->data, (size_t)d->of[k]->bytes));
    CUDA_TRY(cuda_graph_begin(&context));
    const char *why = hap_cuda_run(&context, there);
    for (int k = 0; k < d->n && !why; k++)
        why = cuda_will_read(&context, d->on[k].data, d->on[k].bytes);
    const char *end = cuda_graph_end(&context, &graph, &exec);
    CUDA_TRY(why);
    CUDA_TRY(end);
    scribble(&b);
    CUDA_TRY(said(cudaGraphLaunch(exec, context.stream)));
    CUDA_TRY(said(cudaStreamSynchronize(context.stream)));
    give_back(&b);
    cudaGraphExecDestroy(exec);
    context.graphs--;
    cudaGraphDestroy(graph);
    return NULL;
}

// As a chain if there is one, and *done says so; else one by one.
static const char *run_all(const hap_step_state *s, const hap_op_call *c, int n_calls,
                           cuda_chain_kernel *chain, bool *done, hap_op_call *there,
                           const hap_op_call **all, device_tensors *d, bool captured)
{
    CUDA_TRY(cuda_context_set(&context, s));
    for (int i = 0; i < n_calls; i++) {
        all[i] = &there[i];
        CUDA_TRY(moved(&c[i], &there[i], d));
    }
    if (channels_last) CUDA_TRY(lay_last(d));
    for (int i = 0; i < n_calls; i++) {
        if (!chain) CUDA_TRY(hap_cuda_run(&context, &there[i]));
    }
    if (chain) CUDA_TRY(chain(&context, all, n_calls, unread, done));
    for (int k = 0; k < d->n; k++)
        CUDA_TRY(cuda_will_read(&context, d->on[k].data, d->on[k].bytes));
    if (captured) {
        cuda_forget_shadows(&context);
        CUDA_TRY(replay(there, d));
    }
    CUDA_TRY(said(cudaStreamSynchronize(context.stream)));
    CUDA_TRY(cuda_trapped(&context));
    for (int k = 0; k < d->n; k++)
        CUDA_TRY(to_host(&d->on[k], d->of[k], d->written[k]));
    return NULL;
}

void test_cuda_keep_offsets(bool keep)
{
    keeps_offsets = keep;
}

void test_cuda_channels_last(bool last)
{
    channels_last = last;
}

static const char *run(const hap_step_state *s, const hap_op_call *c, int n_calls,
                       cuda_chain_kernel *chain, bool *done, bool captured)
{
    size_t n = (size_t)n_calls, args = n * (HAP_MAX_IN + HAP_MAX_OUT);
    device_tensors d = {.on = calloc(args, sizeof *d.on),
                        .of = calloc(args, sizeof *d.of),
                        .written = calloc(args, sizeof *d.written)};
    hap_op_call *there = calloc(n, sizeof *there);
    const hap_op_call **all = calloc(n, sizeof *all);
    const char *why = "out of memory";
    if (d.on && d.of && d.written && there && all) why = context.stream ? NULL : start();
    if (!why) {
        why = run_all(s, c, n_calls, chain, done, there, all, &d, captured);
        cuda_forget_shadows(&context);
        memset(context.trap, 0, sizeof *context.trap);
    }
    for (int k = 0; k < d.n; k++)
        free_on(&d.on[k]);
    free(d.on), free(d.of), free(d.written), free(there), free(all);
    return why;
}

const char *test_cuda_run(const hap_step_state *s, const hap_op_call *c)
{
    return test_cuda_run_all(s, c, 1);
}

const char *test_cuda_run_all(const hap_step_state *s, const hap_op_call *c, int n_calls)
{
    return run(s, c, n_calls, NULL, NULL, false);
}

void test_cuda_unread(unsigned bits)
{
    unread = bits;
}

const char *test_cuda_run_chain(const hap_step_state *s, const hap_op_call *c, int n_calls,
                                cuda_chain_kernel *chain, bool *done)
{
    return run(s, c, n_calls, chain, done, false);
}

const char *test_cuda_run_captured(const hap_step_state *s, const hap_op_call *c)
{
    return run(s, c, 1, NULL, NULL, true);
}

bool test_cuda_is_hopper(void)
{
    int device, major = 0;
    if (cudaGetDevice(&device) != cudaSuccess ||
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
        return false;
    return major == 9;
}
