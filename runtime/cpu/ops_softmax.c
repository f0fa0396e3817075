// Softmax, log-softmax and cross entropy from row statistics: max and sum of exp(x - max), both
// already reduced over all ranks. Entries of the last dim are local, rows are leading dims.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

#include <string.h>

typedef struct rows {
    int64_t n, cols;
} rows;

static rows rows_of(const hap_tensor *x)
{
    return (rows){cpu_entries(x, 0, x->rank - 1), x->local[x->rank - 1]};
}

static const char *stat_fits(rows r, const hap_tensor *stat, const char *what)
{
    CPU_TRY(cpu_want(stat, HAP_F32, what));
    if (stat->elements == r.n) return NULL;
    return cpu_fail("%s has %lld entries for %lld rows", what, (long long)stat->elements,
                    (long long)r.n);
}

CPU_WIDE static void softmax_row(float *y, const float *x, int64_t n, float max, float inv)
{
    for (int64_t j = 0; j < n; j++)
        y[j] = cpu_expf(x[j] - max) * inv;
}

CPU_WIDE static void log_softmax_bwd_row(float *dx, const float *dy, const float *y, int64_t n,
                                         float sum)
{
    for (int64_t j = 0; j < n; j++)
        dx[j] = dy[j] - cpu_expf(y[j]) * sum;
}

const char *cpu_softmax_apply(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    rows r = rows_of(c->in[0]);
    CPU_TRY(stat_fits(r, c->in[1], "the row max"));
    CPU_TRY(stat_fits(r, c->in[2], "the row sum"));
    const float *x = c->in[0]->data, *max = c->in[1]->data, *sum = c->in[2]->data;
    for (int64_t i = 0; i < r.n; i++)
        softmax_row((float *)c->out[0]->data + i * r.cols, x + i * r.cols, r.cols, max[i],
                    1.0f / sum[i]);
    return NULL;
}

const char *cpu_softmax_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    rows r = rows_of(c->in[0]);
    CPU_TRY(stat_fits(r, c->in[2], "the row dot"));
    const float *dy = c->in[0]->data, *y = c->in[1]->data, *dot = c->in[2]->data;
    float *dx = c->out[0]->data;
    for (int64_t i = 0; i < r.n; i++)
        for (int64_t j = i * r.cols; j < (i + 1) * r.cols; j++)
            dx[j] = y[j] * (dy[j] - dot[i]);
    return NULL;
}

const char *cpu_log_softmax_apply(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    rows r = rows_of(c->in[0]);
    CPU_TRY(stat_fits(r, c->in[1], "the row max"));
    CPU_TRY(stat_fits(r, c->in[2], "the row sum"));
    const float *x = c->in[0]->data, *max = c->in[1]->data, *sum = c->in[2]->data;
    float *y = c->out[0]->data;
    for (int64_t i = 0; i < r.n; i++) {
        float log_sum = logf(sum[i]);
        for (int64_t j = i * r.cols; j < (i + 1) * r.cols; j++)
            y[j] = x[j] - max[i] - log_sum;
    }
    return NULL;
}

const char *cpu_log_softmax_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    rows r = rows_of(c->in[0]);
    CPU_TRY(stat_fits(r, c->in[2], "the row sum"));
    const float *dy = c->in[0]->data, *y = c->in[1]->data, *sum = c->in[2]->data;
    for (int64_t i = 0; i < r.n; i++)
        log_softmax_bwd_row((float *)c->out[0]->data + i * r.cols, dy + i * r.cols, y + i * r.cols,
                            r.cols, sum[i]);
    return NULL;
}

// Sum over rows with a label of max + log(sum of exp) - the label's logit.
const char *cpu_nll_sum(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want(c->in[3], HAP_I64, "the labels"));
    CPU_TRY(cpu_want(c->out[0], HAP_F32, "the output"));
    rows r = {c->in[3]->elements, 0};
    CPU_TRY(stat_fits(r, c->in[0], "the row max"));
    CPU_TRY(stat_fits(r, c->in[1], "the row sum"));
    CPU_TRY(stat_fits(r, c->in[2], "the label's logit"));
    const float *max = c->in[0]->data, *sum = c->in[1]->data, *target = c->in[2]->data;
    const int64_t *label = c->in[3]->data;
    double total = 0;
    for (int64_t i = 0; i < r.n; i++)
        if (label[i] != c->attr[0].i)
            total += (double)max[i] + log((double)sum[i]) - (double)target[i];
    *(float *)c->out[0]->data = (float)total;
    return NULL;
}

const char *cpu_count(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want(c->in[0], HAP_I64, "the labels"));
    CPU_TRY(cpu_want(c->out[0], HAP_F32, "the output"));
    const int64_t *label = c->in[0]->data;
    int64_t n = 0;
    for (int64_t i = 0; i < c->in[0]->elements; i++)
        n += label[i] != c->attr[0].i;
    *(float *)c->out[0]->data = (float)n;
    return NULL;
}

// dx = g (softmax(x) - [class = label]); g is one number.
const char *cpu_ce_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *dx = c->out[0], *x = c->in[0], *labels = c->in[3];
    CPU_TRY(cpu_want(x, HAP_F32, "the logits"));
    CPU_TRY(cpu_want(dx, HAP_F32, "the output"));
    CPU_TRY(cpu_want(labels, HAP_I64, "the labels"));
    CPU_TRY(cpu_want(c->in[4], HAP_F32, "the loss gradient"));
    rows r = rows_of(x);
    CPU_TRY(stat_fits(r, c->in[1], "the row max"));
    CPU_TRY(stat_fits(r, c->in[2], "the row sum"));
    if (labels->elements != r.n) return cpu_fail("ce_bwd: one label a row is wanted");
    const float *max = c->in[1]->data, *sum = c->in[2]->data, g = *(const float *)c->in[4]->data;
    const int64_t *label = labels->data;
    cpu_axis v = cpu_axis_of(x, x->rank - 1);
    for (int64_t i = 0; i < r.n; i++) {
        float *row = (float *)dx->data + i * r.cols;
        if (label[i] == c->attr[0].i) {
            if (r.cols) memset(row, 0, (size_t)r.cols * sizeof *row);
            continue;
        }
        softmax_row(row, (const float *)x->data + i * r.cols, r.cols, max[i], g / sum[i]);
        int64_t run, l = cpu_axis_local(&v, label[i], &run);
        if (l >= 0) row[l] -= g;
    }
    return NULL;
}
