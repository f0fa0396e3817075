// Large products of matrices whose rows are no multiple of 16 bytes (a vocabulary of 50257): such
// an operand is copied to padded rows in the workspace, such a result is computed there and copied
// back. The copies run at memory speed, over stripes of rows of at most x->stripe bytes.

#include "cuda/cuda_kernels.cuh"
#include "cuda/cuda_product.h"

static const double WORTH = 1e9; // products under so many multiplications run as they are

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

// One matrix of a product: as it is, or padded in the workspace.
struct matrix {
    hap_dtype type;
    char *own, *at; // at: where the product reads or writes its stripe
    int64_t rows, cols, ld;
    bool odd, striped;
};

static matrix matrix_of(hap_dtype type, const void *p, int64_t rows, int64_t cols, bool striped)
{
    int64_t each = 16 / hap_dtype_bytes(type);
    matrix m = {type, (char *)p, (char *)p, rows, cols, cols, false, striped};
    m.odd = cols % each != 0 || (uintptr_t)p % 16 != 0;
    if (m.odd) m.ld = ceil_div(cols, each) * each;
    return m;
}

static int64_t row_bytes(const matrix &m)
{
    return m.ld * hap_dtype_bytes(m.type);
}

static char *own_row(const matrix &m, int64_t row)
{
    return m.own + row * m.cols * hap_dtype_bytes(m.type);
}

// `a` and y, or with a_t `a` and b, are walked over in stripes of their rows; the third is whole.
const char *cuda_multiply_rows(cuda_context *x, cuda_product p, const void *a, const void *b,
                               const void *bias, void *y)
{
    int64_t rows = p.a_t ? p.k : p.m;
    hap_dtype y_type = p.y_type;
    matrix ma = matrix_of(p.type, a, rows, p.la, true);
    matrix mb = matrix_of(p.type, b, p.b_t ? p.n : p.k, p.lb, p.a_t);
    matrix my = matrix_of(p.y_type, y, p.m, p.ly, !p.a_t);
    if ((!ma.odd && !mb.odd && !my.odd) || (double)p.m * (double)p.n * (double)p.k < WORTH)
        return cuda_multiply(x, p, a, b, bias, y);

    matrix *all[] = {&ma, &mb, &my};
    int64_t per_row = 0, whole = 0;
    for (matrix *m : all)
        if (m->odd && m->striped) per_row += row_bytes(*m);
    int64_t stripe = per_row ? x->stripe / per_row / 256 * 256 : rows;
    stripe = stripe < 256 ? 256 : stripe;
    if (stripe > rows) stripe = rows;
    bool sums = p.a_t && stripe < rows; // over stripes: in f32
    if (sums && p.y_type != HAP_F32) {
        my = matrix_of(HAP_F32, y, p.m, ceil_div(p.ly, 4) * 4, false);
        my.cols = p.ly, my.odd = true;
    }
    for (matrix *m : all)
        if (m->odd && !m->striped) whole += ceil_div(m->rows * row_bytes(*m), 256) * 256;
    const char *why = NULL;
    char *work = (char *)cuda_work(x, whole + per_row * stripe + 3 * 256, &why);
    if (!work) return why;
    for (matrix *m : all)
        if (m->odd) {
            m->at = work;
            work += ceil_div((m->striped ? stripe : m->rows) * row_bytes(*m), 256) * 256;
        }
    if (mb.odd && !mb.striped)
        CUDA_TRY(cuda_copy_rows(x->stream, p.type, mb.at, mb.ld, p.type, mb.own, mb.cols, mb.rows,
                                mb.cols));
    p.la = ma.ld, p.lb = mb.ld, p.ly = my.ld, p.y_type = my.type;
    for (int64_t from = 0; from < rows; from += stripe) {
        int64_t n = rows - from < stripe ? rows - from : stripe;
        for (matrix *m : {&ma, &mb}) {
            if (!m->striped) continue;
            if (!m->odd)
                m->at = own_row(*m, from);
            else
                CUDA_TRY(cuda_copy_rows(x->stream, p.type, m->at, m->ld, p.type, own_row(*m, from),
                                        m->cols, n, m->cols));
        }
        if (my.striped && !my.odd) my.at = own_row(my, from);
        (p.a_t ? p.k : p.m) = n;
        p.adds = sums && from > 0;
        CUDA_TRY(cuda_multiply(x, p, ma.at, mb.at, bias, my.at));
        if (my.striped && my.odd)
            CUDA_TRY(cuda_copy_rows(x->stream, my.type, own_row(my, from), my.cols, my.type, my.at,
                                    my.ld, n, my.cols));
    }
    if (my.odd && !my.striped)
        return cuda_copy_rows(x->stream, y_type, y, my.cols, my.type, my.at, my.ld, my.rows,
                              my.cols);
    return NULL;
}
