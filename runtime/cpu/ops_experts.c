// Rows by the matrices of their experts. The rows of an expert are gathered, tile by tile in their
// order, multiplied as one matrix, and go back to where they stood: as many rows as chose it, none
// more. An expert that this rank does not hold gives zero, its rows' gradient no part.

#include "cpu/ops_kernels.h"

#include <cblas.h>
#include <string.h>

enum { TILE_ENTRIES = 1 << 20, TILE_ROWS = 1 << 12 };

static _Thread_local float scratch[TILE_ENTRIES];

// Leading dims of a call; its rows, of k entries on one side and n on the other.
typedef struct experts {
    int lead;
    int64_t size[HAP_MAX_RANK], rows, k, n, tile;
    const hap_tensor *index;
    cpu_axis held;
} experts;

// Dims that a and b have before their last one.
static void leading(experts *v, const hap_tensor *a, const hap_tensor *b)
{
    v->lead = (a->rank > b->rank ? a->rank : b->rank) - 1;
    v->rows = 1;
    for (int d = 0; d < v->lead; d++) {
        int i = d + a->rank - 1 - v->lead, j = d + b->rank - 1 - v->lead;
        v->size[d] = i >= 0 ? a->local[i] : 1;
        if (v->size[d] == 1 && j >= 0) v->size[d] = b->local[j];
        v->rows *= v->size[d];
    }
}

static const char *experts_of(experts *v, const hap_tensor *x, const hap_tensor *index,
                              const hap_tensor *y, const hap_tensor *w, bool trans)
{
    const hap_tensor *floats[] = {x, y, w};
    for (int i = 0; i < 3; i++)
        CPU_TRY(cpu_want(floats[i], HAP_F32, "an operand"));
    CPU_TRY(cpu_want(index, HAP_I64, "the index"));
    if (x->rank < 1 || y->rank < 1 || w->rank != 3) return cpu_fail("shapes do not fit");
    leading(v, x, y);
    CPU_TRY(cpu_rows_fit(x, 1, v->lead, v->size));
    CPU_TRY(cpu_rows_fit(y, 1, v->lead, v->size));
    CPU_TRY(cpu_rows_fit(index, 0, v->lead, v->size));
    v->k = x->local[x->rank - 1];
    v->n = y->local[y->rank - 1];
    if (w->local[1 + trans] != v->k || w->local[2 - trans] != v->n)
        return cpu_fail("shapes do not fit");
    if (v->k + v->n > TILE_ENTRIES)
        return cpu_fail("not supported: experts of over %d entries a row", TILE_ENTRIES);
    v->tile = v->k + v->n ? TILE_ENTRIES / (v->k + v->n) : 1;
    if (v->tile > TILE_ROWS) v->tile = TILE_ROWS;
    v->index = index;
    v->held = cpu_axis_of(w, 0);
    return NULL;
}

// The expert of row r as this rank numbers it, -1: another rank's.
static int64_t expert_of(const experts *v, int64_t r)
{
    int64_t run, at = cpu_row_at(v->index, 0, v->lead, v->size, r);
    return cpu_axis_local(&v->held, ((const int64_t *)v->index->data)[at], &run);
}

static const char *all_inside(const experts *v)
{
    const int64_t *index = v->index->data, n = cpu_axis_size(&v->held);
    for (int64_t i = 0; i < v->index->elements; i++)
        if (index[i] < 0 || index[i] >= n) return cpu_outside(index[i], n);
    return NULL;
}

// The next rows of the expert from *from on, at most a tile.
static int64_t rows_of(const experts *v, int64_t expert, int64_t *from, int64_t *list)
{
    int64_t many = 0;
    for (; *from < v->rows && many < v->tile; ++*from)
        if (expert_of(v, *from) == expert) list[many++] = *from;
    return many;
}

static void collect(const experts *v, const hap_tensor *t, int64_t width, const int64_t *list,
                    int64_t many, float *to)
{
    for (int64_t i = 0; i < many; i++)
        memcpy(to + i * width,
               (const float *)t->data + cpu_row_at(t, 1, v->lead, v->size, list[i]) * width,
               (size_t)width * sizeof *to);
}

const char *cpu_expert_linear(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *w = c->in[2], *y = c->out[0];
    bool trans = c->attr[0].i == 1;
    experts v;
    int64_t list[TILE_ROWS];
    CPU_TRY(experts_of(&v, x, c->in[1], y, w, trans));
    if (y->elements != v.rows * v.n) return cpu_fail("shapes do not fit");
    CPU_TRY(all_inside(&v));
    if (y->bytes) memset(y->data, 0, (size_t)y->bytes);
    for (int64_t e = 0; e < w->local[0] && v.k && v.n; e++) {
        const float *matrix = (const float *)w->data + e * v.k * v.n;
        for (int64_t from = 0, many; (many = rows_of(&v, e, &from, list)) > 0;) {
            float *a = scratch, *b = scratch + many * v.k;
            collect(&v, x, v.k, list, many, a);
            cblas_sgemm(CblasRowMajor, CblasNoTrans, trans ? CblasTrans : CblasNoTrans,
                        (blasint)many, (blasint)v.n, (blasint)v.k, 1.0f, a, (blasint)v.k, matrix,
                        (blasint)(trans ? v.k : v.n), 0.0f, b, (blasint)v.n);
            for (int64_t i = 0; i < many; i++)
                memcpy((float *)y->data + list[i] * v.n, b + i * v.n, (size_t)v.n * sizeof *b);
        }
    }
    return NULL;
}

const char *cpu_expert_linear_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    hap_tensor *x = c->in[0], *dy = c->in[2], *w = c->out[0];
    experts v;
    int64_t list[TILE_ROWS];
    CPU_TRY(experts_of(&v, x, c->in[1], dy, w, false));
    CPU_TRY(all_inside(&v));
    if (w->bytes) memset(w->data, 0, (size_t)w->bytes);
    for (int64_t e = 0; e < w->local[0] && v.k && v.n; e++) {
        float *matrix = (float *)w->data + e * v.k * v.n;
        for (int64_t from = 0, many; (many = rows_of(&v, e, &from, list)) > 0;) {
            float *a = scratch, *b = scratch + many * v.k;
            collect(&v, x, v.k, list, many, a);
            collect(&v, dy, v.n, list, many, b);
            cblas_sgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (blasint)v.k, (blasint)v.n,
                        (blasint)many, 1.0f, a, (blasint)v.k, b, (blasint)v.n, 1.0f, matrix,
                        (blasint)v.n);
        }
    }
    return NULL;
}
