#include "tests/support/run_cuda.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cuda/cuda_shadow.h"

enum {
    MAX_ARGS = 4 * (HAP_MAX_IN + HAP_MAX_OUT),
    MAX_CALLS = 16,
    GUARD = 64,
    POISON = 0xA5,
    SKIPPED = 77
};

static cuda_context context;

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
    CUDA_TRY(said(cudaMalloc(&p, (size_t)t->bytes + GUARD)));
    on->data = p;
    CUDA_TRY(said(cudaMemcpy(p, t->data, (size_t)t->bytes, cudaMemcpyHostToDevice)));
    return said(cudaMemcpy((char *)p + t->bytes, guard, GUARD, cudaMemcpyHostToDevice));
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

// The call on copies of its tensors: one copy a tensor, wherever calls name it.
static const char *moved(const hap_op_call *c, hap_op_call *there, hap_tensor *on, hap_tensor **of,
                         bool *written, int *n)
{
    *there = *c;
    for (int i = 0; i < c->n_in + c->n_out; i++) {
        hap_tensor *t = i < c->n_in ? c->in[i] : c->out[i - c->n_in];
        int k = 0;
        if (!t) continue;
        while (k < *n && of[k] != t)
            k++;
        if (k == MAX_ARGS) return "too many tensors";
        if (k == *n) {
            of[k] = t;
            written[k] = false;
            (*n)++;
            CUDA_TRY(to_device(&on[k], t));
        }
        if (i >= c->n_in) written[k] = true;
        *(i < c->n_in ? &there->in[i] : &there->out[i - c->n_in]) = &on[k];
    }
    return NULL;
}

// As a chain if there is one, and *done says so; else one by one.
static const char *run_all(const hap_step_state *s, const hap_op_call *c, int n_calls,
                           cuda_chain_kernel *chain, bool *done, hap_tensor *on, hap_tensor **of,
                           bool *written, int *n)
{
    hap_op_call there[MAX_CALLS];
    const hap_op_call *all[MAX_CALLS];
    if (n_calls > MAX_CALLS) return "too many calls";
    CUDA_TRY(cuda_context_set(&context, s));
    for (int i = 0; i < n_calls; i++) {
        all[i] = &there[i];
        CUDA_TRY(moved(&c[i], &there[i], on, of, written, n));
        if (!chain) CUDA_TRY(hap_cuda_run(&context, &there[i]));
    }
    if (chain) CUDA_TRY(chain(&context, all, n_calls, 0, done));
    for (int k = 0; k < *n; k++)
        CUDA_TRY(cuda_will_read(&context, on[k].data, on[k].bytes));
    CUDA_TRY(said(cudaStreamSynchronize(context.stream)));
    CUDA_TRY(cuda_trapped(&context));
    for (int k = 0; k < *n; k++)
        CUDA_TRY(to_host(&on[k], of[k], written[k]));
    return NULL;
}

const char *test_cuda_run(const hap_step_state *s, const hap_op_call *c)
{
    return test_cuda_run_all(s, c, 1);
}

const char *test_cuda_run_all(const hap_step_state *s, const hap_op_call *c, int n_calls)
{
    return test_cuda_run_chain(s, c, n_calls, NULL, NULL);
}

const char *test_cuda_run_chain(const hap_step_state *s, const hap_op_call *c, int n_calls,
                                cuda_chain_kernel *chain, bool *done)
{
    hap_tensor on[MAX_ARGS] = {0}, *of[MAX_ARGS];
    bool written[MAX_ARGS];
    int n = 0;
    if (!context.stream) CUDA_TRY(cuda_context_start(&context, 0));
    const char *why = run_all(s, c, n_calls, chain, done, on, of, written, &n);
    cuda_forget_shadows(&context);
    for (int k = 0; k < n; k++)
        cudaFree(on[k].data);
    memset(context.trap, 0, sizeof *context.trap);
    return why;
}
