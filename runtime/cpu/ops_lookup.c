// Rows that are looked up by an i64 index. The vocabulary dim may be cut: an index outside this
// rank's part reads as zero, so results are partial sums; an index outside the whole vocabulary is
// an error.

#include "cpu/ops_kernels.h"

#include <string.h>

static const char *outside(int64_t id, int64_t n)
{
    return cpu_fail("index %lld lies outside [0, %lld)", (long long)id, (long long)n);
}

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
        if (id[i] < 0 || id[i] >= cpu_axis_size(&v)) return outside(id[i], cpu_axis_size(&v));
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
        if (id[i] < 0 || id[i] >= cpu_axis_size(&v)) return outside(id[i], cpu_axis_size(&v));
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
            return outside(label[i], cpu_axis_size(&v));
        int64_t l = cpu_axis_local(&v, label[i], &run);
        if (l >= 0) py[i] = ((const float *)x->data)[i * cols + l];
    }
    return NULL;
}
