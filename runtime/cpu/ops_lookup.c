// Rows of a table, or entries of a row, that are looked up by an i64 index. The dim that is
// indexed may be cut: an index outside this rank's part reads as zero, so results are partial sums;
// an index outside the whole dim is an error.

#include "cpu/ops_kernels.h"

#include <string.h>

const char *cpu_embedding(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *table = c->in[0], *ids = c->in[1];
    CPU_TRY(cpu_want(table, HAP_F32, "the table"));
    CPU_TRY(cpu_want(ids, HAP_I64, "the index"));
    CPU_TRY(cpu_want(y, HAP_F32, "the output"));
    int64_t width = table->local[1], run;
    if (y->elements != ids->elements * width) return cpu_fail("embedding: shapes do not fit");
    cpu_axis v = cpu_axis_of(table, 0);
    const int64_t *id = ids->data;
    float *py = y->data;
    for (int64_t i = 0; i < ids->elements && width; i++) {
        if (id[i] < 0 || id[i] >= cpu_axis_size(&v)) return cpu_outside(id[i], cpu_axis_size(&v));
        int64_t l = cpu_axis_local(&v, id[i], &run);
        if (l >= 0)
            memcpy(py + i * width, (const float *)table->data + l * width,
                   (size_t)width * sizeof *py);
        else
            memset(py + i * width, 0, (size_t)width * sizeof *py);
    }
    return NULL;
}

// Scatter-add in row order: the same sum, bit for bit, for every cut of the vocabulary.
const char *cpu_embedding_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *dy = c->in[0], *ids = c->in[1];
    CPU_TRY(cpu_want(dy, HAP_F32, "the gradient"));
    CPU_TRY(cpu_want(ids, HAP_I64, "the index"));
    CPU_TRY(cpu_want(y, HAP_F32, "the output"));
    int64_t width = y->local[1], run;
    if (dy->elements != ids->elements * width) return cpu_fail("embedding_bwd: shapes do not fit");
    cpu_axis v = cpu_axis_of(y, 0);
    const int64_t *id = ids->data;
    const float *px = dy->data;
    float *py = y->data;
    if (y->bytes) memset(py, 0, (size_t)y->bytes);
    for (int64_t i = 0; i < ids->elements && width; i++) {
        if (id[i] < 0 || id[i] >= cpu_axis_size(&v)) return cpu_outside(id[i], cpu_axis_size(&v));
        int64_t l = cpu_axis_local(&v, id[i], &run);
        if (l < 0) continue;
        float *row = py + l * width;
        for (int64_t j = 0; j < width; j++)
            row[j] += px[i * width + j];
    }
    return NULL;
}

const char *cpu_target_logit(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0], *labels = c->in[1];
    CPU_TRY(cpu_want(x, HAP_F32, "the logits"));
    CPU_TRY(cpu_want(labels, HAP_I64, "the labels"));
    CPU_TRY(cpu_want(y, HAP_F32, "the output"));
    int64_t cols = x->local[x->rank - 1], rows = cpu_entries(x, 0, x->rank - 1), run;
    if (labels->elements != rows || y->elements != rows)
        return cpu_fail("target_logit: shapes do not fit");
    cpu_axis v = cpu_axis_of(x, x->rank - 1);
    const int64_t *label = labels->data;
    float *py = y->data;
    for (int64_t i = 0; i < rows; i++) {
        py[i] = 0.0f;
        if (label[i] == c->attr[0].i) continue;
        if (label[i] < 0 || label[i] >= cpu_axis_size(&v))
            return cpu_outside(label[i], cpu_axis_size(&v));
        int64_t l = cpu_axis_local(&v, label[i], &run);
        if (l >= 0) py[i] = ((const float *)x->data)[i * cols + l];
    }
    return NULL;
}

// --- entries of a row, by an index of the row ---

// The row of t that meets row r of y.
static int64_t row_for(const hap_tensor *y, const hap_tensor *t, int64_t r)
{
    return cpu_row_at(t, 1, y->rank - 1, y->local, r);
}

static const char *gather_want(const hap_op_call *c)
{
    CPU_TRY(cpu_want(c->in[0], HAP_F32, "the operand"));
    CPU_TRY(cpu_want(c->in[1], HAP_I64, "the index"));
    CPU_TRY(cpu_want(c->out[0], HAP_F32, "the output"));
    const hap_tensor *y = c->out[0];
    CPU_TRY(cpu_rows_fit(c->in[0], 1, y->rank - 1, y->local));
    return cpu_rows_fit(c->in[1], 1, y->rank - 1, y->local);
}

const char *cpu_gather(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *x = c->in[0], *ids = c->in[1];
    CPU_TRY(gather_want(c));
    int64_t k = y->local[y->rank - 1], n = x->local[x->rank - 1], run;
    if (ids->local[ids->rank - 1] != k) return cpu_fail("gather: shapes do not fit");
    cpu_axis v = cpu_axis_of(x, x->rank - 1);
    float *py = y->data;
    for (int64_t r = 0; r < cpu_entries(y, 0, y->rank - 1); r++) {
        const float *px = (const float *)x->data + row_for(y, x, r) * n;
        const int64_t *id = (const int64_t *)ids->data + row_for(y, ids, r) * k;
        for (int64_t i = 0; i < k; i++) {
            if (id[i] < 0 || id[i] >= cpu_axis_size(&v))
                return cpu_outside(id[i], cpu_axis_size(&v));
            int64_t l = cpu_axis_local(&v, id[i], &run);
            py[r * k + i] = l >= 0 ? px[l] : 0.0f;
        }
    }
    return NULL;
}

// Sums in the order of the entries.
const char *cpu_gather_bwd(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *y = c->out[0], *dy = c->in[0], *ids = c->in[1];
    CPU_TRY(gather_want(c));
    int64_t k = dy->local[dy->rank - 1], n = y->local[y->rank - 1], run;
    if (ids->local[ids->rank - 1] != k) return cpu_fail("gather_bwd: shapes do not fit");
    cpu_axis v = cpu_axis_of(y, y->rank - 1);
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t r = 0; r < cpu_entries(y, 0, y->rank - 1); r++) {
        const float *px = (const float *)dy->data + row_for(y, dy, r) * k;
        const int64_t *id = (const int64_t *)ids->data + row_for(y, ids, r) * k;
        float *py = (float *)y->data + r * n;
        for (int64_t i = 0; i < k; i++) {
            if (id[i] < 0 || id[i] >= cpu_axis_size(&v))
                return cpu_outside(id[i], cpu_axis_size(&v));
            int64_t l = cpu_axis_local(&v, id[i], &run);
            if (l >= 0) py[l] += px[i];
        }
    }
    return NULL;
}
