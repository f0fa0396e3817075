// Dense rows on OpenBLAS: linear, its weight gradient, batched matmul. f32, row-major.
//
// A cut of a contracted factor only shortens k here: the result is this rank's summand. Sizes of
// zero are legal: k = 0 gives zeros.

#include "cpu/ops_kernels.h"

#include <cblas.h>
#include <string.h>

// y[m,n] = a b (+ y if beta); at, bt: the operand is stored transposed.
static void gemm(bool at, bool bt, int64_t m, int64_t n, int64_t k, const float *a, const float *b,
                 float beta, float *y)
{
    if (m == 0 || n == 0) return;
    if (k == 0) {
        if (beta == 0.0f) memset(y, 0, (size_t)(m * n) * sizeof *y);
        return;
    }
    cblas_sgemm(CblasRowMajor, at ? CblasTrans : CblasNoTrans, bt ? CblasTrans : CblasNoTrans,
                (blasint)m, (blasint)n, (blasint)k, 1.0f, a, (blasint)(at ? m : k), b,
                (blasint)(bt ? k : n), beta, y, (blasint)n);
}

static const char *sizes_fit(int64_t m, int64_t n, int64_t k)
{
    if (m > INT32_MAX || n > INT32_MAX || k > INT32_MAX)
        return cpu_fail("not supported: a matrix dim over 2^31 - 1");
    return NULL;
}

const char *cpu_linear(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *x = c->in[0], *w = c->in[1];
    const hap_tensor *bias = cpu_in(c, 2);
    bool nk = c->attr[0].i == 1;
    int64_t rows = cpu_entries(x, 0, x->rank - 1), k = x->local[x->rank - 1];
    int64_t n = y->local[y->rank - 1];
    if (w->local[nk ? 0 : 1] != n || w->local[nk ? 1 : 0] != k || y->elements != rows * n)
        return cpu_fail("linear: [%lld %lld] times [%lld %lld]%s does not give %lld x %lld",
                        (long long)rows, (long long)k, (long long)w->local[0],
                        (long long)w->local[1], nk ? "'" : "", (long long)rows, (long long)n);
    CPU_TRY(sizes_fit(rows, n, k));
    float *py = y->data;
    if (bias) {
        if (bias->elements != n) return cpu_fail("linear: bias of another length");
        for (int64_t i = 0; i < rows && n; i++)
            memcpy(py + i * n, bias->data, (size_t)n * sizeof *py);
    }
    gemm(false, nk, rows, n, k, x->data, w->data, bias ? 1.0f : 0.0f, py);
    return NULL;
}

const char *cpu_linear_dw(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *a = c->in[0], *b = c->in[1];
    int64_t rows = cpu_entries(a, 0, a->rank - 1), k = a->local[a->rank - 1];
    int64_t n = b->local[b->rank - 1];
    if (cpu_entries(b, 0, b->rank - 1) != rows || y->local[0] != k || y->local[1] != n)
        return cpu_fail("linear_dw: shapes do not fit");
    CPU_TRY(sizes_fit(k, n, rows));
    gemm(true, false, k, n, rows, a->data, b->data, 0.0f, y->data);
    return NULL;
}

const char *cpu_matmul(const hap_step_state *s, const hap_op_call *c)
{
    (void)s;
    CPU_TRY(cpu_want_f32(c));
    hap_tensor *y = c->out[0], *a = c->in[0], *b = c->in[1];
    bool at = c->attr[0].i == 2, bt = c->attr[0].i == 1;
    const int64_t *la = a->local + a->rank - 2, *lb = b->local + b->rank - 2;
    int64_t m = la[at ? 1 : 0], k = la[at ? 0 : 1], n = lb[bt ? 0 : 1];
    if (lb[bt ? 1 : 0] != k || y->local[y->rank - 2] != m || y->local[y->rank - 1] != n)
        return cpu_fail("matmul: shapes do not fit");
    CPU_TRY(sizes_fit(m, n, k));

    // Leading dims, aligned right; a stride of 0 repeats a matrix.
    int lead = y->rank - 2;
    int64_t sa[HAP_MAX_RANK], sb[HAP_MAX_RANK], na = m * k, nb = k * n, batch = 1;
    for (int d = lead - 1; d >= 0; d--) {
        int da = d - (y->rank - a->rank), db = d - (y->rank - b->rank);
        int64_t size = y->local[d], ia = da >= 0 ? a->local[da] : 1,
                ib = db >= 0 ? b->local[db] : 1;
        if ((ia != 1 && ia != size) || (ib != 1 && ib != size))
            return cpu_fail("matmul: leading dim %d does not broadcast", d);
        sa[d] = ia == 1 ? 0 : na, sb[d] = ib == 1 ? 0 : nb;
        na *= ia, nb *= ib, batch *= size;
    }
    if (a->rank - 2 > lead || b->rank - 2 > lead) return cpu_fail("matmul: ranks do not fit");

    // One matrix b for all of a: one tall product.
    if (!at && b->elements == k * n && a->elements == batch * m * k) {
        gemm(false, bt, batch * m, n, k, a->data, b->data, 0.0f, y->data);
        return NULL;
    }
    int64_t at_d[HAP_MAX_RANK] = {0}, oa = 0, ob = 0;
    for (int64_t i = 0; i < batch; i++) {
        gemm(at, bt, m, n, k, (const float *)a->data + oa, (const float *)b->data + ob, 0.0f,
             (float *)y->data + i * m * n);
        for (int d = lead - 1; d >= 0; d--) {
            oa += sa[d], ob += sb[d];
            if (++at_d[d] < y->local[d]) break;
            oa -= at_d[d] * sa[d], ob -= at_d[d] * sb[d], at_d[d] = 0;
        }
    }
    return NULL;
}
