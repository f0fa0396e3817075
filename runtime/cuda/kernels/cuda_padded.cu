// Matmuls with extents rounded up.

#include <utility>

#include "cuda/kernels/cuda_copy_rows.h"
#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_shadow.h"

// One matrix of a matmul: stored [rows, cols], wanted [more_rows, more_cols].
struct matrix {
    const hap_tensor *t;
    int64_t rows, cols, more_rows, more_cols;
    cuda_rows at;
    bool in_work; // more rows of the same length
};

static int64_t work_bytes(const matrix &m)
{
    return ceil_div(m.more_rows * m.cols * hap_dtype_bytes(m.t->type), 256) * 256;
}

static const char *as_it_is(cuda_context *x, cuda_gemm p, const hap_tensor *a, const hap_tensor *b,
                            const void *bias, const hap_tensor *y)
{
    cuda_rows ra, rb;
    CUDA_TRY(cuda_rows_of(x, a, &ra));
    CUDA_TRY(cuda_rows_of(x, b, &rb));
    cuda_will_write(x, y->data, y->bytes);
    p.la = ra.ld, p.lb = rb.ld;
    return cuda_multiply(x, p, ra.data, rb.data, bias, y->data);
}

const char *cuda_multiply_rows(cuda_context *x, cuda_gemm p, const hap_tensor *a,
                               const hap_tensor *b, const void *bias, const hap_tensor *y)
{
    // Columns of a, b or y are rounded: m as those of a, k as those of a or b, n as those of y.
    int64_t each = CUDA_VECTOR / hap_dtype_bytes(p.type);
    auto up = [&](int64_t n) { return n % each ? cuda_round(n) : n; };
    int64_t m = p.a_t ? up(p.m) : p.m, n = up(p.n), k = p.a_t && !p.b_t ? p.k : up(p.k);
    if ((m == p.m && n == p.n && k == p.k) || (double)p.m * (double)p.n * (double)p.k < CUDA_WORTH)
        return as_it_is(x, p, a, b, bias, y);

    matrix ma = {a, p.m, p.k, m, k}, mb = {b, p.k, p.n, k, n}, my = {y, p.m, p.n, m, n};
    for (matrix *t : {&ma, &mb})
        if (t == &ma ? p.a_t : p.b_t) {
            std::swap(t->rows, t->cols);
            std::swap(t->more_rows, t->more_cols);
        }
    int64_t work = 0, more_bias = bias && n != p.n ? n * hap_dtype_bytes(p.bias_type) : 0;
    for (matrix *t : {&ma, &mb, &my}) {
        if (t->cols != t->more_cols) {
            CUDA_TRY(t == &my ? cuda_rows_new(x, t->t, &t->at) : cuda_rows_padded(x, t->t, &t->at));
            if (!t->at.data) return as_it_is(x, p, a, b, bias, y); // too little memory
        } else if (t == &my) {
            cuda_will_write(x, y->data, y->bytes);
            t->at = {y->data, t->cols};
        } else {
            CUDA_TRY(cuda_rows_of(x, t->t, &t->at));
        }
        t->in_work = t->cols == t->more_cols && t->rows != t->more_rows;
        if (t->in_work) work += work_bytes(*t);
    }
    const char *why = NULL;
    char *space = work + more_bias ? (char *)cuda_work(x, work + more_bias, &why) : NULL;
    if (work + more_bias && !space) return why;
    for (matrix *t : {&ma, &mb, &my}) {
        if (!t->in_work) continue;
        int64_t elem = hap_dtype_bytes(t->t->type), row = t->cols * elem;
        if (t != &my) {
            CUDA_TRY(cuda_copy_rows(x->stream, t->t->type, space, t->cols, t->t->type, t->at.data,
                                    t->at.ld, t->rows, t->cols));
            CUDA_CALL(cudaMemsetAsync(space + t->rows * row, 0,
                                      (size_t)((t->more_rows - t->rows) * row), x->stream));
        }
        t->at = {space, t->cols};
        space += work_bytes(*t);
    }
    if (more_bias) {
        int64_t elem = hap_dtype_bytes(p.bias_type);
        CUDA_TRY(cuda_copy(x->stream, space, bias, p.n * elem));
        CUDA_CALL(cudaMemsetAsync(space + p.n * elem, 0, (size_t)((n - p.n) * elem), x->stream));
        bias = space;
    }
    p.m = m, p.n = n, p.k = k, p.la = ma.at.ld, p.lb = mb.at.ld, p.ly = my.at.ld;
    CUDA_TRY(cuda_multiply(x, p, ma.at.data, mb.at.data, bias, my.at.data));
    if (my.in_work) return cuda_copy(x->stream, y->data, my.at.data, y->bytes);
    return NULL;
}
