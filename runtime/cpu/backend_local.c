// What a rank does alone: ops, keeping its part of a whole tensor, turning whole into partial.

#include <math.h>
#include <string.h>

#include "core/backend.h"
#include "core/tensor.h"
#include "cpu/cpu.h"
#include "cpu/mpi_groups.h"

void hap_backend_op(hap_rank *r, const hap_op_call *c)
{
    hap_cpu_op(r, c);
    if (c->op == HAP_OP_clip_scale) cpu_of(r)->norm = sqrt((double)*(const float *)c->in[0]->data);
}

double hap_backend_norm(const hap_rank *r)
{
    return cpu_of(r)->norm;
}

void hap_backend_trace(hap_rank *r)
{
    (void)r; // core takes the times (core/dispatch.c)
}

void hap_backend_fuse(hap_rank *r, const char *kernel)
{
    (void)r; // one by one
    (void)kernel;
}

void hap_backend_fused(hap_rank *r, int n, hap_tensor *const *kept)
{
    (void)r;
    (void)n;
    (void)kept;
}

// y's part of dims [i, rank) of x. Each dim is [outer, part, inner] in both.
static void cut_dims(const hap_rank *r, const hap_tensor *yt, const hap_tensor *xt, int i, char *y,
                     const char *x, int64_t y_bytes, int64_t x_bytes)
{
    if (i == yt->rank || y_bytes == x_bytes) { // the same from here on
        memmove(y, x, (size_t)y_bytes);
        return;
    }
    const hap_dim *d = &yt->dim[i];
    int64_t n = yt->local[i], y_item = y_bytes / n, x_item = x_bytes / xt->local[i];
    hap_range want = hap_dim_range(r, d, 0, 0), have = {0, d->n};
    if (d->axis < 0) {
        for (int64_t k = 0; k < n; k++)
            cut_dims(r, yt, xt, i + 1, y + k * y_item, x + k * x_item, y_item, x_item);
        return;
    }
    if (xt->dim[i].axis >= 0) have = hap_dim_range(r, &xt->dim[i], 0, 0);
    for (int64_t o = 0; o < d->outer; o++) {
        char *yo = y + o * want.n * d->inner * y_item;
        const char *xo = x + (o * have.n + want.lo - have.lo) * d->inner * x_item;
        if (y_item == x_item) {
            memmove(yo, xo, (size_t)(want.n * d->inner * y_item));
            continue;
        }
        for (int64_t k = 0; k < want.n * d->inner; k++)
            cut_dims(r, yt, xt, i + 1, yo + k * y_item, xo + k * x_item, y_item, x_item);
    }
}

void hap_backend_cut(hap_rank *r, hap_tensor *y, hap_tensor *x)
{
    if (y->bytes) cut_dims(r, y, x, 0, y->data, x->data, y->bytes, x->bytes);
}

void hap_backend_partial(hap_rank *r, bool keep, hap_tensor *y, hap_tensor *x)
{
    (void)r;
    if (!keep)
        memset(y->data, 0, (size_t)y->bytes);
    else if (y->data != x->data)
        memmove(y->data, x->data, (size_t)y->bytes);
}

// Bits of the largest finite number of the type, sign cleared, are below `infinity`.
static int64_t first_such(const void *p, hap_dtype type, int64_t n, bool nan)
{
    if (type == HAP_F32) {
        const uint32_t *x = p, infinity = 0x7F800000u;
        for (int64_t i = 0; i < n; i++) {
            uint32_t u = x[i] & 0x7FFFFFFFu;
            if (nan ? u > infinity : u == infinity) return i;
        }
        return -1;
    }
    if (type != HAP_BF16 && type != HAP_F16) return -1;
    const uint16_t *x = p, infinity = type == HAP_BF16 ? 0x7F80u : 0x7C00u;
    for (int64_t i = 0; i < n; i++) {
        uint16_t u = x[i] & 0x7FFFu;
        if (nan ? u > infinity : u == infinity) return i;
    }
    return -1;
}

int64_t hap_backend_find(hap_rank *r, const hap_tensor *t, bool nan)
{
    (void)r;
    return first_such(t->data, t->type, t->elements, nan);
}
