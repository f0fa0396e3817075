// Where a shard lies in the whole: local and global indices of one dim; sizes, checks, errors.

#include "cpu/ops_kernels.h"

#include <stdarg.h>
#include <stdio.h>

cpu_axis cpu_axis_of(const hap_tensor *t, int dim)
{
    const hap_dim *d = &t->dim[dim];
    if (d->axis < 0) return (cpu_axis){1, t->local[dim], 0, t->local[dim]};
    return (cpu_axis){d->outer, d->n * d->inner, t->first[dim] * d->inner,
                      t->local[dim] / d->outer};
}

int64_t cpu_axis_size(const cpu_axis *a)
{
    return a->outer * a->block;
}

int64_t cpu_axis_global(const cpu_axis *a, int64_t l, int64_t *run)
{
    int64_t o = l / a->part, in = l % a->part;
    *run = a->part - in;
    return o * a->block + a->first + in;
}

int64_t cpu_axis_local(const cpu_axis *a, int64_t g, int64_t *run)
{
    int64_t o = g / a->block, in = g % a->block - a->first;
    *run = 0;
    if (g < 0 || o >= a->outer || in < 0 || in >= a->part) return -1;
    *run = a->part - in;
    return o * a->part + in;
}

int64_t cpu_entries(const hap_tensor *t, int from, int to)
{
    int64_t n = 1;
    for (int d = from; d < to; d++)
        n *= t->local[d];
    return n;
}

const char *cpu_rows_fit(const hap_tensor *t, int tail, int lead, const int64_t *size)
{
    bool fit = t->rank >= tail && t->rank - tail <= lead;
    for (int d = lead - 1, e = t->rank - tail - 1; fit && e >= 0; d--, e--)
        fit = t->local[e] == 1 || t->local[e] == size[d];
    return fit ? NULL : cpu_fail("shapes do not fit");
}

int64_t cpu_row_at(const hap_tensor *t, int tail, int lead, const int64_t *size, int64_t r)
{
    int64_t at = 0, step = 1;
    for (int d = lead - 1, e = t->rank - tail - 1; e >= 0; d--, e--) {
        if (t->local[e] != 1) at += r % size[d] * step;
        r /= size[d];
        step *= t->local[e];
    }
    return at;
}

const char *cpu_fail(const char *fmt, ...)
{
    static _Thread_local char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    return text;
}

const char *cpu_outside(int64_t index, int64_t n)
{
    return cpu_fail("index %lld lies outside [0, %lld)", (long long)index, (long long)n);
}

const char *cpu_want(const hap_tensor *t, hap_dtype type, const char *what)
{
    if (!t) return cpu_fail("%s is missing", what);
    if (t->type == type) return NULL;
    return cpu_fail("not supported: %s of type %s (this kernel takes %s)", what,
                    hap_dtype_name(t->type), hap_dtype_name(type));
}

const char *cpu_want_f32(const hap_op_call *c)
{
    for (int i = 0; i < c->n_in; i++)
        if (c->in[i]) CPU_TRY(cpu_want(c->in[i], HAP_F32, "an operand"));
    for (int i = 0; i < c->n_out; i++)
        CPU_TRY(cpu_want(c->out[i], HAP_F32, "an output"));
    return NULL;
}

bool cpu_same_shape(const hap_tensor *a, const hap_tensor *b)
{
    if (a->rank != b->rank) return false;
    for (int d = 0; d < a->rank; d++)
        if (a->local[d] != b->local[d]) return false;
    return true;
}
