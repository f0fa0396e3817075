// Copies between rows of different lengths, and products with extents rounded up.

#include <utility>

#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/fuse/cuda_product.h"
#include "cuda/kernels/cuda_shadow.h"

// 16 bytes from any even address: two aligned vectors that overlap them, shifted. Both hold bytes
// that are wanted, so nothing outside the tensor's vectors is read.
__device__ inline uint4 load_shifted(const void *p)
{
    uintptr_t at = (uintptr_t)p;
    const uint4 *v = (const uint4 *)(at & ~(uintptr_t)15);
    unsigned by = (unsigned)(at & 15);
    if (by == 0) return v[0];
    uint4 lo = v[0], hi = v[1];
    uint32_t w[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w}, r[4];
    // By whole words (constant indices, so that w stays in registers), then by half a word.
    if (by & 8)
#pragma unroll
        for (int i = 0; i < 6; i++)
            w[i] = w[i + 2];
    if (by & 4)
#pragma unroll
        for (int i = 0; i < 5; i++)
            w[i] = w[i + 1];
#pragma unroll
    for (int i = 0; i < 4; i++)
        r[i] = by & 2 ? __funnelshift_r(w[i], w[i + 1], 16) : w[i];
    return make_uint4(r[0], r[1], r[2], r[3]);
}

// Elements of 2 bytes; vectors where y's address allows them.
__global__ void copy_halves(uint16_t *y, int64_t ly, const uint16_t *x, int64_t lx, int64_t rows,
                            int64_t cols)
{
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y) {
        uint16_t *to = y + row * ly;
        const uint16_t *from = x + row * lx;
        int64_t head = (int64_t)((16 - ((uintptr_t)to & 15)) & 15) / 2;
        if (head > cols) head = cols;
        int64_t n = (cols - head) / 8, tail = head + n * 8;
        int64_t t = (int64_t)blockIdx.x * blockDim.x + threadIdx.x,
                step = (int64_t)gridDim.x * blockDim.x;
        for (int64_t i = t; i < n; i += step)
            *(uint4 *)(to + head + i * 8) = load_shifted(from + head + i * 8);
        if (t < head) to[t] = from[t];
        if (tail + t < cols && t < 8) to[tail + t] = from[tail + t];
    }
}

__global__ void copy_any(view y, int64_t ly, view x, int64_t lx, int64_t rows, int64_t cols)
{
    for (int64_t row = blockIdx.y; row < rows; row += gridDim.y)
        for (int64_t j = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; j < cols;
             j += (int64_t)gridDim.x * blockDim.x)
            store(y, row * ly + j, load(x, row * lx + j));
}

const char *cuda_copy_rows(cudaStream_t s, hap_dtype y_type, void *y, int64_t ly, hap_dtype x_type,
                           const void *x, int64_t lx, int64_t rows, int64_t cols)
{
    if (rows == 0 || cols == 0) return NULL;
    bool halves = y_type == x_type && hap_dtype_bytes(y_type) == 2;
    int64_t wide = ceil_div(cols, 256 * (halves ? 32 : 4));
    dim3 grid((unsigned)(wide < 64 ? wide : 64), (unsigned)(rows < 65535 ? rows : 65535));
    if (halves)
        copy_halves<<<grid, 256, 0, s>>>((uint16_t *)y, ly, (const uint16_t *)x, lx, rows, cols);
    else
        copy_any<<<grid, 256, 0, s>>>({y, (int)y_type}, ly, {(void *)x, (int)x_type}, lx, rows,
                                      cols);
    return launched();
}

// One matrix of a product: stored [rows, cols], wanted [more_rows, more_cols].
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

static const char *as_it_is(cuda_context *x, cuda_product p, const hap_tensor *a,
                            const hap_tensor *b, const void *bias, const hap_tensor *y)
{
    cuda_rows ra, rb;
    CUDA_TRY(cuda_rows_of(x, a, &ra));
    CUDA_TRY(cuda_rows_of(x, b, &rb));
    cuda_will_write(x, y->data, y->bytes);
    p.la = ra.ld, p.lb = rb.ld;
    return cuda_multiply(x, p, ra.data, rb.data, bias, y->data);
}

const char *cuda_multiply_rows(cuda_context *x, cuda_product p, const hap_tensor *a,
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
