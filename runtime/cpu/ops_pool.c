// Largest entries of windows, and their gradient. Places are whole; leading dims are images.

#include "cpu/ops_kernels.h"

#include <math.h>
#include <string.h>

typedef struct pool {
    int64_t images, size[2], at[2]; // places and windows
    int64_t window[2], stride[2], padding[2], dilation[2];
} pool;

static const char *pool_of(pool *v, const hap_op_call *c, const hap_tensor *x, const hap_tensor *y)
{
    CPU_TRY(cpu_want_f32(c));
    int64_t *to[] = {v->window, v->stride, v->padding, v->dilation};
    if (x->rank < 2 || x->rank != y->rank) return cpu_fail("max_pool: ranks do not fit");
    v->images = cpu_entries(x, 0, x->rank - 2);
    if (cpu_entries(y, 0, y->rank - 2) != v->images)
        return cpu_fail("max_pool: %lld images become %lld", (long long)v->images,
                        (long long)cpu_entries(y, 0, y->rank - 2));
    for (int d = 0; d < 2; d++) {
        v->size[d] = x->local[x->rank - 2 + d];
        v->at[d] = y->local[y->rank - 2 + d];
        for (int k = 0; k < 4; k++) {
            if (c->attr[k].v.n != 2) return cpu_fail("max_pool: two numbers an attribute");
            to[k][d] = c->attr[k].v.v[d];
        }
    }
    return NULL;
}

// The place of the largest entry of window (i, j), of equal ones the first; a NaN is larger than
// all, as in PyTorch. -1: the window has no places.
static int64_t largest(const pool *v, const float *x, int64_t i, int64_t j)
{
    int64_t best = -1;
    for (int64_t p = 0; p < v->window[0]; p++) {
        int64_t h = i * v->stride[0] + p * v->dilation[0] - v->padding[0];
        for (int64_t q = 0; q < v->window[1] && h >= 0 && h < v->size[0]; q++) {
            int64_t w = j * v->stride[1] + q * v->dilation[1] - v->padding[1];
            if (w < 0 || w >= v->size[1]) continue;
            float e = x[h * v->size[1] + w];
            if (best < 0 || e > x[best] || isnan(e)) best = h * v->size[1] + w;
        }
    }
    return best;
}

const char *cpu_max_pool(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    pool v;
    CPU_TRY(pool_of(&v, c, c->in[0], c->out[0]));
    const float *x = c->in[0]->data;
    float *y = c->out[0]->data;
    for (int64_t n = 0; n < v.images; n++, x += v.size[0] * v.size[1])
        for (int64_t i = 0; i < v.at[0]; i++)
            for (int64_t j = 0; j < v.at[1]; j++) {
                int64_t best = largest(&v, x, i, j);
                *y++ = best < 0 ? -INFINITY : x[best];
            }
    return NULL;
}

const char *cpu_max_pool_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    pool v;
    CPU_TRY(pool_of(&v, c, c->in[1], c->in[0]));
    const float *dy = c->in[0]->data, *x = c->in[1]->data;
    float *dx = c->out[0]->data;
    if (!cpu_same_shape(c->in[1], c->out[0])) return cpu_fail("max_pool_bwd: shapes do not fit");
    if (c->out[0]->bytes) memset(dx, 0, (size_t)c->out[0]->bytes);
    for (int64_t n = 0; n < v.images; n++) {
        for (int64_t i = 0; i < v.at[0]; i++)
            for (int64_t j = 0; j < v.at[1]; j++, dy++) {
                int64_t best = largest(&v, x, i, j);
                if (best >= 0) dx[best] += *dy;
            }
        x += v.size[0] * v.size[1];
        dx += v.size[0] * v.size[1];
    }
    return NULL;
}
