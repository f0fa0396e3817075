// Layer norm from row statistics over the last dim: row sum and m2 = sum of (x - mean)^2, both
// already reduced. n is the dim's global size, however the dim is cut.
//
//     mean = sum / n    rstd = 1 / sqrt(m2 / n + eps)    xhat = (x - mean) rstd
//
// RMS norm (rms_*) is the same with mean 0: it has no row sum, m2 is the sum of squares, and there
// is no bias. Operands are those of layer norm without what it has not.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

typedef struct norm {
    int64_t rows, cols;
    double n, eps;
    const float *sum, *m2; // sum is NULL of RMS norm
} norm;

static bool is_rms(const hap_op_call *c)
{
    return c->op == HAP_OP_rms_apply || c->op == HAP_OP_rms_bwd_stats || c->op == HAP_OP_rms_bwd ||
           c->op == HAP_OP_rms_bwd_params;
}

// x is operand i_x; its statistics follow it.
static const char *norm_of(norm *o, const hap_op_call *c, int i_x)
{
    CPU_TRY(cpu_want_f32(c));
    bool rms = is_rms(c);
    const hap_tensor *x = c->in[i_x], *sum = rms ? NULL : c->in[i_x + 1];
    const hap_tensor *m2 = c->in[i_x + 2 - rms];
    int last = x->rank - 1;
    cpu_axis a = cpu_axis_of(x, last);
    *o = (norm){cpu_entries(x, 0, last), x->local[last], (double)cpu_axis_size(&a), c->attr[0].f,
                sum ? sum->data : NULL,  m2->data};
    if ((sum && sum->elements != o->rows) || m2->elements != o->rows)
        return cpu_fail("norm: a statistic does not have one entry a row");
    return NULL;
}

static const char *weight_fits(const norm *o, const hap_tensor *w)
{
    if (!w || w->elements == o->cols) return NULL;
    return cpu_fail("norm: weight or bias of %lld entries, rows of %lld", (long long)w->elements,
                    (long long)o->cols);
}

static float mean_of(const norm *o, int64_t i)
{
    return o->sum ? (float)((double)o->sum[i] / o->n) : 0.0f;
}

static float rstd_of(const norm *o, int64_t i)
{
    return (float)(1.0 / sqrt((double)o->m2[i] / o->n + o->eps));
}

static const float *floats(const hap_tensor *t)
{
    return t ? t->data : NULL;
}

const char *cpu_norm_apply(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    norm o;
    CPU_TRY(norm_of(&o, c, 0));
    const hap_tensor *weight = cpu_in(c, is_rms(c) ? 2 : 3);
    const hap_tensor *bias = is_rms(c) ? NULL : cpu_in(c, 4);
    CPU_TRY(weight_fits(&o, weight));
    CPU_TRY(weight_fits(&o, bias));
    const float *w = floats(weight), *b = floats(bias);
    for (int64_t i = 0; i < o.rows; i++) {
        const float *x = (const float *)c->in[0]->data + i * o.cols;
        float *y = (float *)c->out[0]->data + i * o.cols, mean = mean_of(&o, i);
        float rstd = rstd_of(&o, i);
        for (int64_t j = 0; j < o.cols; j++)
            y[j] = (x[j] - mean) * rstd;
        for (int64_t j = 0; w && j < o.cols; j++)
            y[j] *= w[j];
        for (int64_t j = 0; b && j < o.cols; j++)
            y[j] += b[j];
    }
    return NULL;
}

// u = dy w: sum of u, sum of u xhat.
const char *cpu_norm_bwd_stats(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    norm o;
    CPU_TRY(norm_of(&o, c, 1));
    const hap_tensor *weight = cpu_in(c, is_rms(c) ? 3 : 4);
    CPU_TRY(weight_fits(&o, weight));
    const float *w = floats(weight);
    float *sum = is_rms(c) ? NULL : c->out[0]->data, *dot = c->out[is_rms(c) ? 0 : 1]->data;
    for (int64_t i = 0; i < o.rows; i++) {
        const float *dy = (const float *)c->in[0]->data + i * o.cols;
        const float *x = (const float *)c->in[1]->data + i * o.cols;
        float mean = mean_of(&o, i), rstd = rstd_of(&o, i);
        double su[4] = {0}, sx[4] = {0};
        for (int64_t j = 0; j < o.cols; j++) {
            float u = w ? dy[j] * w[j] : dy[j];
            su[j & 3] += (double)u;
            sx[j & 3] += (double)(u * ((x[j] - mean) * rstd));
        }
        if (sum) sum[i] = (float)(su[0] + su[1] + su[2] + su[3]);
        dot[i] = (float)(sx[0] + sx[1] + sx[2] + sx[3]);
    }
    return NULL;
}

const char *cpu_norm_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    norm o;
    CPU_TRY(norm_of(&o, c, 1));
    const hap_tensor *weight = cpu_in(c, is_rms(c) ? 4 : 6), *sum = is_rms(c) ? NULL : c->in[4];
    const hap_tensor *dot = c->in[is_rms(c) ? 3 : 5];
    CPU_TRY(weight_fits(&o, weight));
    const float *w = floats(weight), *s1 = floats(sum), *s2 = floats(dot);
    if ((sum && sum->elements != o.rows) || dot->elements != o.rows)
        return cpu_fail("norm: a statistic does not have one entry a row");
    for (int64_t i = 0; i < o.rows; i++) {
        const float *dy = (const float *)c->in[0]->data + i * o.cols;
        const float *x = (const float *)c->in[1]->data + i * o.cols;
        float *dx = (float *)c->out[0]->data + i * o.cols, mean = mean_of(&o, i);
        float rstd = rstd_of(&o, i);
        float a = s1 ? (float)((double)s1[i] / o.n) : 0.0f, b = (float)((double)s2[i] / o.n);
        if (w)
            for (int64_t j = 0; j < o.cols; j++)
                dx[j] = rstd * (dy[j] * w[j] - a - (x[j] - mean) * rstd * b);
        else
            for (int64_t j = 0; j < o.cols; j++)
                dx[j] = rstd * (dy[j] - a - (x[j] - mean) * rstd * b);
    }
    return NULL;
}

// dw = sum over rows of dy xhat, db = sum over rows of dy; columns in stripes, sums in double.
const char *cpu_norm_bwd_params(const hap_step_state *s, const hap_op_call *c)
{
    enum { STRIPE = 256 };
    (void)s;
    norm o;
    CPU_TRY(norm_of(&o, c, 1));
    hap_tensor *bias = is_rms(c) ? NULL : c->out[1];
    CPU_TRY(weight_fits(&o, c->out[0]));
    CPU_TRY(weight_fits(&o, bias));
    for (int64_t j0 = 0; j0 < o.cols; j0 += STRIPE) {
        int64_t n = o.cols - j0 < STRIPE ? o.cols - j0 : STRIPE;
        double dw[STRIPE] = {0}, db[STRIPE] = {0};
        for (int64_t i = 0; i < o.rows; i++) {
            const float *dy = (const float *)c->in[0]->data + i * o.cols + j0;
            const float *x = (const float *)c->in[1]->data + i * o.cols + j0;
            float mean = mean_of(&o, i), rstd = rstd_of(&o, i);
            for (int64_t j = 0; j < n; j++) {
                dw[j] += (double)(dy[j] * ((x[j] - mean) * rstd));
                db[j] += (double)dy[j];
            }
        }
        for (int64_t j = 0; j < n; j++) {
            ((float *)c->out[0]->data)[j0 + j] = (float)dw[j];
            if (bias) ((float *)bias->data)[j0 + j] = (float)db[j];
        }
    }
    return NULL;
}
