// Sums over chosen dims, and statistics of the last dim. Sums run in double: a shard's partial sums
// then add up to what one rank would find, to float rounding.

#include "cpu/ops_kernels.h"
#include "cpu/ops_math.h"

enum { STRIPE = 512 };

// Next index over the dims that are summed (or kept), without dim `skip`; moves *at by strides.
static bool sum_next(const hap_sum_shape *s, bool summed, int skip, int64_t *idx, int64_t *at)
{
    for (int k = s->n - 1; k >= 0; k--) {
        if (s->summed[k] != summed || k == skip) continue;
        *at += s->stride[k];
        if (++idx[k] < s->size[k]) return true;
        *at -= idx[k] * s->stride[k], idx[k] = 0;
    }
    return false;
}

static void sum_f32(const hap_sum_shape *s, const float *x, float *y)
{
    int last = s->n - 1;
    int64_t kept[HAP_MAX_RANK] = {0}, at = 0, o = 0;
    if (s->n == 0) {
        *y = *x;
    } else if (s->summed[last]) {
        do {
            int64_t idx[HAP_MAX_RANK] = {0}, in = at;
            double total = 0;
            do
                total += cpu_lane_sum(x + in, s->size[last]);
            while (sum_next(s, true, last, idx, &in));
            y[o++] = (float)total;
        } while (sum_next(s, false, -1, kept, &at));
    } else {
        do {
            for (int64_t j0 = 0; j0 < s->size[last]; j0 += STRIPE) {
                int64_t n = s->size[last] - j0 < STRIPE ? s->size[last] - j0 : STRIPE;
                int64_t idx[HAP_MAX_RANK] = {0}, in = at + j0;
                double total[STRIPE] = {0};
                do
                    for (int64_t j = 0; j < n; j++)
                        total[j] += (double)x[in + j];
                while (sum_next(s, true, -1, idx, &in));
                for (int64_t j = 0; j < n; j++)
                    y[o + j0 + j] = (float)total[j];
            }
            o += s->size[last];
        } while (sum_next(s, false, last, kept, &at));
    }
}

static void sum_i64(const hap_sum_shape *s, const int64_t *x, int64_t *y)
{
    int64_t kept[HAP_MAX_RANK] = {0}, at = 0, o = 0;
    do {
        int64_t idx[HAP_MAX_RANK] = {0}, in = at, total = 0;
        do
            total += x[in];
        while (sum_next(s, true, -1, idx, &in));
        y[o++] = total;
    } while (sum_next(s, false, -1, kept, &at));
}

const char *cpu_sum(const hap_step_state *st, const hap_op_call *c)
{
    (void)st;
    hap_tensor *y = c->out[0], *x = c->in[0];
    if (x->type != y->type || (x->type != HAP_F32 && x->type != HAP_I64))
        return cpu_fail("not supported: sum of %s to %s", hap_dtype_name(x->type),
                        hap_dtype_name(y->type));
    if (y->elements == 0) return NULL;
    if (x->elements == 0) {
        cpu_fill(y, 0);
        return NULL;
    }
    hap_sum_shape s = hap_sum_shape_of(x, c->attr[0].v);
    int64_t kept = 1;
    for (int k = 0; k < s.n; k++)
        kept *= s.summed[k] ? 1 : s.size[k];
    if (kept != y->elements) return cpu_fail("sum: the output has another size");
    if (x->type == HAP_F32)
        sum_f32(&s, x->data, y->data);
    else
        sum_i64(&s, x->data, y->data);
    return NULL;
}

// --- statistics of rows ---

typedef struct rows {
    int64_t n, cols;
    float *y;
    const float *x, *stat;
} rows;

static const char *rows_of(rows *r, const hap_op_call *c, bool with_stat)
{
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *x = c->in[0];
    *r = (rows){cpu_entries(x, 0, x->rank - 1), x->local[x->rank - 1], c->out[0]->data, x->data,
                with_stat ? c->in[1]->data : NULL};
    if (c->out[0]->elements != r->n || (with_stat && c->in[1]->elements != r->n))
        return cpu_fail("a row statistic has %lld entries for %lld rows",
                        (long long)c->out[0]->elements, (long long)r->n);
    return NULL;
}

const char *cpu_row_sum(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, false));
    for (int64_t i = 0; i < r.n; i++)
        r.y[i] = (float)cpu_lane_sum(r.x + i * r.cols, r.cols);
    return NULL;
}

// NaN stays NaN only if it comes last; a NaN logit shows up in row_expsum.
CPU_WIDE static float max_of(const float *x, int64_t n)
{
    float m[16];
    int64_t j = 0;
    for (int k = 0; k < 16; k++)
        m[k] = -INFINITY;
    for (; j + 16 <= n; j += 16)
        for (int k = 0; k < 16; k++)
            m[k] = x[j + k] > m[k] ? x[j + k] : m[k];
    for (; j < n; j++)
        m[0] = x[j] > m[0] ? x[j] : m[0];
    for (int k = 1; k < 16; k++)
        m[0] = m[k] > m[0] ? m[k] : m[0];
    return m[0];
}

const char *cpu_row_max(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, false));
    for (int64_t i = 0; i < r.n; i++)
        r.y[i] = max_of(r.x + i * r.cols, r.cols);
    return NULL;
}

const char *cpu_row_m2(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, true));
    cpu_axis a = cpu_axis_of(c->in[0], c->in[0]->rank - 1);
    double n = (double)cpu_axis_size(&a);
    for (int64_t i = 0; i < r.n; i++) {
        const float *x = r.x + i * r.cols;
        double mean = (double)r.stat[i] / n, t[4] = {0};
        for (int64_t j = 0; j < r.cols; j++) {
            double d = (double)x[j] - mean;
            t[j & 3] += d * d;
        }
        r.y[i] = (float)((t[0] + t[1]) + (t[2] + t[3]));
    }
    return NULL;
}

const char *cpu_row_sq(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, false));
    for (int64_t i = 0; i < r.n; i++) {
        const float *x = r.x + i * r.cols;
        double t[4] = {0};
        for (int64_t j = 0; j < r.cols; j++)
            t[j & 3] += (double)x[j] * (double)x[j];
        r.y[i] = (float)((t[0] + t[1]) + (t[2] + t[3]));
    }
    return NULL;
}

CPU_WIDE static double expsum_of(const float *x, int64_t n, float max)
{
    double total = 0;
    for (int64_t j0 = 0; j0 < n; j0 += STRIPE) {
        int64_t m = n - j0 < STRIPE ? n - j0 : STRIPE;
        float e[STRIPE];
        for (int64_t j = 0; j < m; j++)
            e[j] = cpu_expf(x[j0 + j] - max);
        total += cpu_lane_sum(e, m);
    }
    return total;
}

const char *cpu_row_expsum(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, true));
    for (int64_t i = 0; i < r.n; i++)
        r.y[i] = (float)expsum_of(r.x + i * r.cols, r.cols, r.stat[i]);
    return NULL;
}

const char *cpu_cumsum(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    const hap_tensor *x = c->in[0];
    if (!cpu_same_shape(x, c->out[0])) return cpu_fail("cumsum: shapes differ");
    int64_t n_rows = cpu_entries(x, 0, x->rank - 1), n = x->local[x->rank - 1];
    bool reverse = c->attr[0].i;
    for (int64_t i = 0; i < n_rows; i++) {
        const float *p = (const float *)x->data + i * n;
        float *q = (float *)c->out[0]->data + i * n;
        double total = 0;
        for (int64_t k = 0; k < n; k++) {
            int64_t j = reverse ? n - 1 - k : k;
            total += (double)p[j];
            q[j] = (float)total;
        }
    }
    return NULL;
}

const char *cpu_row_dot(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    rows r;
    CPU_TRY(rows_of(&r, c, false));
    if (!cpu_same_shape(c->in[0], c->in[1])) return cpu_fail("row_dot: shapes differ");
    const float *b = c->in[1]->data;
    for (int64_t i = 0; i < r.n; i++) {
        double t[4] = {0};
        for (int64_t j = 0; j < r.cols; j++)
            t[j & 3] += (double)r.x[i * r.cols + j] * (double)b[i * r.cols + j];
        r.y[i] = (float)((t[0] + t[1]) + (t[2] + t[3]));
    }
    return NULL;
}

const char *cpu_sumsq(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    const float *x = c->in[0]->data;
    double t[8] = {0};
    int64_t n = c->in[0]->elements, i = 0;
    for (; i + 8 <= n; i += 8)
        for (int k = 0; k < 8; k++)
            t[k] += (double)x[i + k] * (double)x[i + k];
    for (; i < n; i++)
        t[0] += (double)x[i] * (double)x[i];
    *(float *)c->out[0]->data =
        (float)(((t[0] + t[1]) + (t[2] + t[3])) + ((t[4] + t[5]) + (t[6] + t[7])));
    return NULL;
}
