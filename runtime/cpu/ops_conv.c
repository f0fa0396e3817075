// Convolution and its two gradients: windows gathered into columns, then sgemm. One image and one
// group at a time; columns are made by tiles, so scratch is one tile, whatever the sizes.
//
//     col[k, l] = x[c, h, w]    k = (c, p, q), l = (i, j), h = i stride + p dilation - padding
//     y = w col                 dw = sum over images of dy col'                dx: col = w' dy, and
//                                                                             each entry is added
//                                                                             where it was read
// Places are whole on every rank; batch, groups, c and o may be cut, so local sizes are all it
// needs: this rank's groups are as many as its channels hold the weight's.

#include "cpu/ops_kernels.h"

#include <cblas.h>
#include <string.h>

enum { TILE_ENTRIES = 1 << 20, TILE_ROWS = 1 << 14 };

typedef struct conv {
    int64_t b, g, c, o, h, w, i, j, p, q; // local sizes; g, c and o: of groups
    int64_t stride[2], padding[2], dilation[2];
    bool dense; // windows of one place, moved by one: columns are the image
} conv;

static const char *conv_of(conv *v, const hap_op_call *c, const hap_tensor *x, const hap_tensor *w,
                           const hap_tensor *y)
{
    CPU_TRY(cpu_want_f32(c));
    const char *name = hap_op_names[c->op];
    if (x->rank != 4 || w->rank != 4 || y->rank != 4)
        return cpu_fail("%s: operands of rank 4 are wanted", name);
    *v = (conv){.b = x->local[0],
                .c = w->local[1],
                .h = x->local[2],
                .w = x->local[3],
                .i = y->local[2],
                .j = y->local[3],
                .p = w->local[2],
                .q = w->local[3]};
    v->dense = v->p == 1 && v->q == 1;
    for (int d = 0; d < 2; d++) {
        if (c->attr[0].v.n != 2 || c->attr[1].v.n != 2 || c->attr[2].v.n != 2)
            return cpu_fail("%s: two numbers an attribute are wanted", name);
        v->stride[d] = c->attr[0].v.v[d];
        v->padding[d] = c->attr[1].v.v[d];
        v->dilation[d] = c->attr[2].v.v[d];
        v->dense = v->dense && v->stride[d] == 1 && v->padding[d] == 0;
    }
    v->g = v->c ? x->local[1] / v->c : 0;
    v->o = v->g ? w->local[0] / v->g : 0;
    if (y->local[0] != v->b || w->local[0] != y->local[1] || v->g * v->c != x->local[1] ||
        (v->g && v->g * v->o != y->local[1]))
        return cpu_fail("%s: shapes do not fit", name);
    if (v->h * v->w > INT32_MAX || v->i * v->j > INT32_MAX || v->c * v->p * v->q > INT32_MAX)
        return cpu_fail("not supported: an image of over 2^31 - 1 places or windows");
    return NULL;
}

// Tile of columns [l0, l0 + n) and rows [k0, k0 + rows).
typedef struct tile {
    int64_t k0, rows, l0, n;
} tile;

// Rows are gathered (col = x) or, back, added where they were read (x += col).
static void columns(const conv *v, const tile *t, float *x, float *col, bool back)
{
    for (int64_t r = 0; r < t->rows; r++, col += t->n) {
        int64_t k = t->k0 + r, q = k % v->q, p = k / v->q % v->p;
        float *image = x + k / v->q / v->p * v->h * v->w;
        for (int64_t l = 0; l < t->n;) { // a row of windows at a time
            int64_t i = (t->l0 + l) / v->j, j = (t->l0 + l) % v->j;
            int64_t run = v->j - j < t->n - l ? v->j - j : t->n - l;
            int64_t h = i * v->stride[0] + p * v->dilation[0] - v->padding[0];
            int64_t w = j * v->stride[1] + q * v->dilation[1] - v->padding[1];
            for (int64_t e = 0; e < run; e++, w += v->stride[1]) {
                bool there = h >= 0 && h < v->h && w >= 0 && w < v->w;
                if (!back)
                    col[l + e] = there ? image[h * v->w + w] : 0.0f;
                else if (there)
                    image[h * v->w + w] += col[l + e];
            }
            l += run;
        }
    }
}

static float
    scratch[TILE_ENTRIES]; // one thread calls ops, and a thread's own is taken from its stack

// m x n of c (ldc) = or += a b, k long.
static void gemm(bool at, bool bt, int64_t m, int64_t n, int64_t k, const float *a, int64_t lda,
                 const float *b, int64_t ldb, float beta, float *c, int64_t ldc)
{
    cblas_sgemm(CblasRowMajor, at ? CblasTrans : CblasNoTrans, bt ? CblasTrans : CblasNoTrans,
                (blasint)m, (blasint)n, (blasint)k, 1.0f, a, (blasint)lda, b, (blasint)ldb, beta, c,
                (blasint)ldc);
}

// One image and group: x [c, h w], w [o, c p q], y [o, i j]; what the op makes is added to.
static void one(const conv *v, int op, float *x, float *w, float *y)
{
    int64_t k = v->c * v->p * v->q, l = v->i * v->j;
    int64_t rows = k < TILE_ROWS ? k : TILE_ROWS, n = TILE_ENTRIES / rows;
    if (v->dense) rows = k, n = l;
    for (tile t = {.l0 = 0}; t.l0 < l; t.l0 += n) {
        t.n = l - t.l0 < n ? l - t.l0 : n;
        for (t.k0 = 0; t.k0 < k; t.k0 += rows) {
            t.rows = k - t.k0 < rows ? k - t.k0 : rows;
            float *col = v->dense ? x : scratch;
            if (op == HAP_OP_conv_transposed) {
                gemm(true, false, t.rows, t.n, v->o, w + t.k0, k, y + t.l0, l, v->dense, col, t.n);
                if (!v->dense) columns(v, &t, x, col, true);
                continue;
            }
            if (!v->dense) columns(v, &t, x, col, false);
            if (op == HAP_OP_conv)
                gemm(false, false, v->o, t.n, t.rows, w + t.k0, k, col, t.n, 1.0f, y + t.l0, l);
            else
                gemm(false, true, v->o, t.rows, t.n, y + t.l0, l, col, t.n, 1.0f, w + t.k0, k);
        }
    }
}

static void all(const conv *v, int op, float *x, float *w, float *y)
{
    if (v->b * v->g * v->c * v->o * v->p * v->q * v->i * v->j * v->h * v->w == 0) return;
    int64_t in = v->c * v->h * v->w, wide = v->o * v->c * v->p * v->q, out = v->o * v->i * v->j;
    for (int64_t b = 0; b < v->b; b++)
        for (int64_t g = 0; g < v->g; g++)
            one(v, op, x + (b * v->g + g) * in, w + g * wide, y + (b * v->g + g) * out);
}

const char *cpu_conv(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    conv v;
    hap_tensor *y = c->out[0];
    const hap_tensor *bias = cpu_in(c, 2);
    CPU_TRY(conv_of(&v, c, c->in[0], c->in[1], y));
    if (bias && bias->elements != y->local[1]) return cpu_fail("conv: bias of another length");
    float *to = y->data;
    int64_t places = v.i * v.j, n = y->local[0] * y->local[1];
    for (int64_t r = 0; r < n; r++) {
        float value = bias ? ((const float *)bias->data)[r % y->local[1]] : 0.0f;
        for (int64_t l = 0; l < places; l++)
            to[r * places + l] = value;
    }
    all(&v, c->op, c->in[0]->data, c->in[1]->data, to);
    return NULL;
}

const char *cpu_conv_transposed(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    conv v;
    hap_tensor *x = c->out[0];
    CPU_TRY(conv_of(&v, c, x, c->in[1], c->in[0]));
    if (x->bytes) memset(x->data, 0, (size_t)x->bytes);
    all(&v, c->op, x->data, c->in[1]->data, c->in[0]->data);
    return NULL;
}

const char *cpu_conv_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    conv v;
    hap_tensor *w = c->out[0];
    CPU_TRY(conv_of(&v, c, c->in[0], w, c->in[1]));
    if (w->bytes) memset(w->data, 0, (size_t)w->bytes);
    all(&v, c->op, c->in[0]->data, w->data, c->in[1]->data);
    return NULL;
}
