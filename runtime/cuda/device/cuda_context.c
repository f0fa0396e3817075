#include "cuda/device/cuda_context.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/cuda_shadow.h"

const char *cuda_fail(const char *fmt, ...)
{
    static _Thread_local char text[512];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

const char *cuda_said(cudaError_t e, const char *call)
{
    if (e == cudaSuccess) return NULL;
    return cuda_fail("%.*s: %s", (int)strcspn(call, "("), call, cudaGetErrorString(e));
}

const char *cuda_context_start(cuda_context *x, int sms)
{
    void *trap = NULL;
    if (sms)
        CUDA_TRY(cuda_green_start(x, sms));
    else
        CUDA_CALL(cudaStreamCreateWithFlags(&x->stream, cudaStreamNonBlocking));
    CUDA_CALL(cudaMalloc((void **)&x->step, sizeof *x->step));
    CUDA_CALL(cudaHostAlloc(&trap, sizeof *x->trap, cudaHostAllocMapped));
    x->trap = trap;
    memset(trap, 0, sizeof *x->trap);
    CUDA_CALL(cudaMalloc((void **)&x->found, sizeof *x->found));
    const char *tf32 = getenv("HAP_TF32"); // set by `hapc run` of a plan with --precision tf32
    x->tf32 = tf32 && tf32[0] == '1';
    CUDA_TRY(cuda_dense_start(x));
    return cuda_cudnn_start(x);
}

void cuda_context_end(cuda_context *x)
{
    cuda_cudnn_end(x);
    cuda_dense_end(x);
    cuda_free_shadows(x);
    cuda_columns_end(x);
    cuda_room_free(&x->work);
    if (x->step) cudaFree(x->step);
    if (x->trap) cudaFreeHost(x->trap);
    if (x->found) cudaFree(x->found);
    if (x->stream) cudaStreamDestroy(x->stream);
    cuda_green_end(x);
    *x = (cuda_context){0};
}

const char *cuda_context_set(cuda_context *x, const hap_step_state *s)
{
    cuda_step now = {s->lr, s->step, s->seed};
    // From pageable memory: the call returns when `now` has been read.
    CUDA_CALL(cudaMemcpyAsync(x->step, &now, sizeof now, cudaMemcpyHostToDevice, x->stream));
    return NULL;
}

void *cuda_work(cuda_context *x, int64_t bytes, const char **why)
{
    const char *e = cuda_room_take(x, &x->work, x->stream, bytes);
    if (e) *why = e;
    return e ? NULL : x->work.at;
}

const char *cuda_trapped(const cuda_context *x)
{
    const cuda_trap *t = x->trap;
    if (!t || !t->set) return NULL;
    return cuda_fail("%s: index %lld lies outside [0, %lld)",
                     (unsigned)t->op < HAP_N_OPS ? hap_op_names[t->op] : "?", (long long)t->value,
                     (long long)t->limit);
}

cuda_axis cuda_axis_of(const hap_tensor *t, int dim)
{
    const hap_dim *d = &t->dim[dim];
    if (d->axis < 0) return (cuda_axis){1, t->local[dim], 0, t->local[dim]};
    return (cuda_axis){d->outer, d->n * d->inner, t->first[dim] * d->inner,
                       t->local[dim] / d->outer};
}

int64_t cuda_axis_size(const cuda_axis *a)
{
    return a->outer * a->block;
}

int64_t cuda_entries(const hap_tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++)
        n *= t->local[d];
    return n;
}

const char *cuda_want(const hap_tensor *t, hap_dtype type, const char *what)
{
    if (!t) return cuda_fail("%s is missing", what);
    if (t->type == type) return NULL;
    return cuda_fail("not supported: %s of type %s (this kernel takes %s)", what,
                     hap_dtype_name(t->type), hap_dtype_name(type));
}

bool cuda_is_float(hap_dtype t)
{
    return t == HAP_F32 || t == HAP_BF16 || t == HAP_F16;
}

const char *cuda_want_floats(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i] && !cuda_is_float(c->in[i]->type))
            return cuda_fail("not supported: an operand of type %s",
                             hap_dtype_name(c->in[i]->type));
    for (int i = 0; i < c->n_out; i++)
        if (!cuda_is_float(c->out[i]->type))
            return cuda_fail("not supported: an output of type %s",
                             hap_dtype_name(c->out[i]->type));
    return NULL;
}

const char *cuda_same_elements(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]->elements != c->out[0]->elements)
            return cuda_fail("an operand has %lld local elements, the output %lld",
                             (long long)c->in[i]->elements, (long long)c->out[0]->elements);
    return NULL;
}

bool cuda_same_shape(const hap_tensor *a, const hap_tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->local[d] != b->local[d]) return false;
    return true;
}
