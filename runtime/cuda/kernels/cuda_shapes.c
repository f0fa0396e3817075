#include "cuda/kernels/cuda_shapes.h"

#include "core/tensor.h"

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
