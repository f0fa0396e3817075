// Batch norm of [batch, channels, places] from the sum of each channel and m2 = sum of (x -
// mean)^2, both already reduced. n is the global number of a channel's entries, however the batch
// is cut.
//
//     mean = sum / n    rstd = 1 / sqrt(m2 / n + eps)    xhat = (x - mean) rstd

#include "cpu/ops_kernels.h"

#include <math.h>

typedef struct batch {
    int64_t b, c, p;
    double n, eps;
} batch;

// x is operand i_x; every operand from there on is of one entry a channel, but for those of x's
// shape. eps is the first attribute, of those that have one.
static const char *batch_of(batch *o, const hap_op_call *c, int i_x)
{
    CPU_TRY(cpu_want_f32(c));
    const hap_tensor *x = c->in[i_x];
    if (x->rank != 3) return cpu_fail("batch norm: [batch, channels, places] is wanted");
    cpu_axis images = cpu_axis_of(x, 0), places = cpu_axis_of(x, 2);
    *o = (batch){x->local[0], x->local[1], x->local[2],
                 (double)cpu_axis_size(&images) * (double)cpu_axis_size(&places),
                 c->n_attr > 0 ? c->attr[0].f : 0};
    for (int i = i_x + 1; i < c->n_in; i++)
        if (c->in[i]->elements != o->c)
            return cpu_fail("batch norm: operand %d does not have one entry a channel", i);
    return i_x && !cpu_same_shape(c->in[0], x) ? cpu_fail("batch norm: shapes differ") : NULL;
}

static float entry(const hap_tensor *t, int64_t i)
{
    return ((const float *)t->data)[i];
}

typedef struct channel {
    float mean, rstd;
} channel;

static channel channel_of(const batch *o, const hap_tensor *sum, const hap_tensor *m2, int64_t c)
{
    return (channel){(float)((double)entry(sum, c) / o->n),
                     (float)(1.0 / sqrt((double)entry(m2, c) / o->n + o->eps))};
}

static const float *run_of(const batch *o, const hap_tensor *t, int64_t b, int64_t c)
{
    return (const float *)t->data + (b * o->c + c) * o->p;
}

const char *cpu_batch_m2(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    batch o;
    CPU_TRY(batch_of(&o, c, 0));
    for (int64_t k = 0; k < o.c; k++) {
        float mean = (float)((double)entry(c->in[1], k) / o.n);
        double m2[4] = {0};
        for (int64_t b = 0; b < o.b; b++) {
            const float *x = run_of(&o, c->in[0], b, k);
            for (int64_t i = 0; i < o.p; i++)
                m2[i & 3] += (double)((x[i] - mean) * (x[i] - mean));
        }
        ((float *)c->out[0]->data)[k] = (float)(m2[0] + m2[1] + m2[2] + m2[3]);
    }
    return NULL;
}

const char *cpu_batch_apply(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    batch o;
    CPU_TRY(batch_of(&o, c, 0));
    for (int64_t r = 0; r < o.b * o.c; r++) {
        channel k = channel_of(&o, c->in[1], c->in[2], r % o.c);
        float w = entry(c->in[3], r % o.c), bias = entry(c->in[4], r % o.c);
        const float *x = run_of(&o, c->in[0], 0, r);
        float *y = (float *)c->out[0]->data + r * o.p;
        for (int64_t i = 0; i < o.p; i++)
            y[i] = (x[i] - k.mean) * k.rstd * w + bias;
    }
    return NULL;
}

// Sums of dy and of dy xhat: the gradients of bias and weight.
const char *cpu_batch_bwd_stats(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    batch o;
    CPU_TRY(batch_of(&o, c, 1));
    for (int64_t k = 0; k < o.c; k++) {
        channel at = channel_of(&o, c->in[2], c->in[3], k);
        double sum[4] = {0}, dot[4] = {0};
        for (int64_t b = 0; b < o.b; b++) {
            const float *dy = run_of(&o, c->in[0], b, k), *x = run_of(&o, c->in[1], b, k);
            for (int64_t i = 0; i < o.p; i++) {
                sum[i & 3] += (double)dy[i];
                dot[i & 3] += (double)(dy[i] * ((x[i] - at.mean) * at.rstd));
            }
        }
        ((float *)c->out[0]->data)[k] = (float)(sum[0] + sum[1] + sum[2] + sum[3]);
        ((float *)c->out[1]->data)[k] = (float)(dot[0] + dot[1] + dot[2] + dot[3]);
    }
    return NULL;
}

const char *cpu_batch_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    batch o;
    CPU_TRY(batch_of(&o, c, 1));
    for (int64_t r = 0; r < o.b * o.c; r++) {
        int64_t k = r % o.c;
        channel at = channel_of(&o, c->in[2], c->in[3], k);
        float u = (float)((double)entry(c->in[4], k) / o.n);
        float v = (float)((double)entry(c->in[5], k) / o.n), w = entry(c->in[6], k) * at.rstd;
        const float *dy = run_of(&o, c->in[0], 0, r), *x = run_of(&o, c->in[1], 0, r);
        float *dx = (float *)c->out[0]->data + r * o.p;
        for (int64_t i = 0; i < o.p; i++)
            dx[i] = w * (dy[i] - u - (x[i] - at.mean) * at.rstd * v);
    }
    return NULL;
}
