#include "solver/ms_kernel.h"

#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)
#    define MS_HAVE_AVX 1
#    include <immintrin.h>
#else
#    define MS_HAVE_AVX 0
#endif

// The inner loops of the min-sum solver. Additions, products and minima of single cells only, in
// one order, no contraction possible: all versions give the same bits.

// --- plain ---

static void min_rows_plain(double *restrict out, const double *restrict b, const double *restrict c,
                           const double *restrict d, int own, int inner)
{
    for (int i = 0; i < inner; i++) {
        double m = (double)INFINITY;
        for (int x = 0; x < own; x++) {
            size_t at = (size_t)x * (size_t)inner + (size_t)i;
            double v = b[x] + c[at] + (d ? d[at] : 0);
            m = v < m ? v : m;
        }
        out[i] = m;
    }
}

static void min_many_by(const ms_kernels *kernels, double *out, const ms_many *m)
{
    const double *b[2] = {m->b[0], m->b[1]}, *c[2] = {m->c[0], m->c[1]};
    for (int t = 0; t < m->times; t++, out += m->inner) {
        if (b[1]) kernels->add(m->sum, b[0], b[1], m->own);
        kernels->min_rows(out, b[1] ? m->sum : b[0], c[0], c[1], m->own, m->inner);
        for (int i = 0; i < 2; i++) {
            b[i] = b[i] ? b[i] + m->b_step[i] : NULL;
            c[i] = c[i] ? c[i] + m->c_step[i] : NULL;
        }
    }
}

static void visit_plain(const ms_visit *v, double *restrict th, double *restrict h, bool settle)
{
    int n = ms_padded(v->n);
    memcpy(th, v->u, sizeof *th * (size_t)n);
    for (int k = 0; k < v->n_halves; k++)
        for (int i = 0; i < n; i++)
            th[i] += v->half[k].own[i];
    for (int k = 0; k < v->n_halves; k++) {
        const ms_half *e = &v->half[k];
        if ((e->other > v->v) == v->back) continue;
        for (int i = 0; i < n; i++)
            h[i] = v->share * th[i] - e->own[i];
        min_rows_plain(e->to, h, e->table, NULL, v->n, e->width);
        for (int i = 0; settle && i < n; i++)
            e->own[i] = -h[i];
    }
}

static double least_plain(const double *x, int n)
{
    double m[4] = {x[0], x[0], x[0], x[0]};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++)
            m[k] = x[i + k] < m[k] ? x[i + k] : m[k];
    for (; i < n; i++)
        m[0] = x[i] < m[0] ? x[i] : m[0];
    double a = m[0] < m[1] ? m[0] : m[1], b = m[2] < m[3] ? m[2] : m[3];
    return a < b ? a : b;
}

static double least_difference_plain(const double *x, const double *y, int n)
{
    double least = (double)INFINITY;
    for (int i = 0; i < n; i++)
        least = x[i] - y[i] < least ? x[i] - y[i] : least;
    return least;
}

static void rooms_plain(double *restrict room, uint64_t *restrict may, double own,
                        const double *restrict u, const ms_column *c, int n, int rows)
{
    memset(may, 0, sizeof *may * (size_t)(rows / 64 + 1));
    for (int k = 0; k < rows; k++) {
        double r = own - u[k];
        for (int e = 0; e < n; e++)
            r += c[e].times * (c[e].own - c[e].p[k]);
        room[k] = r;
        may[k / 64] |= (uint64_t)(r >= 0) << k % 64;
    }
}

static void cheapest_plain(int *restrict at, const double *restrict p, int rows, int cols)
{
    for (int i = 0; i < rows; i++, p += cols) {
        double least = least_plain(p, cols);
        int k = 0;
        while (p[k] > least)
            k++;
        at[i] = k;
    }
}

static void turn_plain(double *restrict to, const double *restrict p, int rows, int cols)
{
    for (int i0 = 0; i0 < rows; i0 += MS_TRANSPOSE)
        for (int j = 0; j < cols; j++)
            for (int i = i0; i < rows && i < i0 + MS_TRANSPOSE; i++)
                to[j * rows + i] = p[i * cols + j];
}

static bool costs_plain(const double *p, size_t n)
{
    bool all = true;
    for (size_t i = 0; i < n; i++)
        all = all && p[i] > (double)-INFINITY;
    return all;
}

static void add_plain(double *out, const double *x, const double *y, int n)
{
    for (int i = 0; i < n; i++)
        out[i] = x[i] + y[i];
}

static const ms_kernels plain;

static void min_many_plain(double *restrict out, const ms_many *m)
{
    min_many_by(&plain, out, m);
}

static const ms_kernels plain = {
    min_rows_plain, min_many_plain, visit_plain, least_plain, least_difference_plain,
    rooms_plain,    cheapest_plain, turn_plain,  costs_plain, add_plain};

#if MS_HAVE_AVX

// --- AVX2: four cells at a time ---

#    define AVX2   __attribute__((target("avx2")))
#    define INLINE __attribute__((always_inline)) static inline

// `width` vectors of the result, kept in registers over the rows.
INLINE AVX2 void block_avx2(double *out, const double *b, const double *c, const double *d, int own,
                            int inner, int width)
{
    __m256d m[4];
    for (int j = 0; j < width; j++)
        m[j] = _mm256_set1_pd((double)INFINITY);
    for (int x = 0; x < own; x++, c += inner) {
        __m256d bx = _mm256_broadcast_sd(b + x);
        for (int j = 0; j < width; j++) {
            __m256d v = _mm256_add_pd(bx, _mm256_loadu_pd(c + 4 * j));
            if (d) v = _mm256_add_pd(v, _mm256_loadu_pd(d + 4 * j));
            m[j] = _mm256_min_pd(v, m[j]);
        }
        if (d) d += inner;
    }
    for (int j = 0; j < width; j++)
        _mm256_storeu_pd(out + 4 * j, m[j]);
}

// The first n of four cells.
INLINE AVX2 __m256i first_avx2(int n)
{
    return _mm256_set_epi64x(n > 3 ? -1 : 0, n > 2 ? -1 : 0, n > 1 ? -1 : 0, -1);
}

// The last one to three columns.
INLINE AVX2 void tail_avx2(double *out, const double *b, const double *c, const double *d, int own,
                           int inner, int n)
{
    __m256i some = first_avx2(n);
    __m256d m = _mm256_set1_pd((double)INFINITY);
    for (int x = 0; x < own; x++, c += inner) {
        __m256d v = _mm256_add_pd(_mm256_broadcast_sd(b + x), _mm256_maskload_pd(c, some));
        if (d) v = _mm256_add_pd(v, _mm256_maskload_pd(d, some));
        m = _mm256_min_pd(v, m);
        if (d) d += inner;
    }
    _mm256_maskstore_pd(out, some, m);
}

INLINE AVX2 void columns_avx2(double *out, const double *b, const double *c, const double *d,
                              int own, int inner)
{
    int i = 0;
    for (; i + 16 <= inner; i += 16)
        block_avx2(out + i, b, c + i, d ? d + i : NULL, own, inner, 4);
    if (i + 8 <= inner) {
        block_avx2(out + i, b, c + i, d ? d + i : NULL, own, inner, 2);
        i += 8;
    }
    if (i + 4 <= inner) {
        block_avx2(out + i, b, c + i, d ? d + i : NULL, own, inner, 1);
        i += 4;
    }
    if (i < inner) tail_avx2(out + i, b, c + i, d ? d + i : NULL, own, inner, inner - i);
}

AVX2 static void min_rows_avx2(double *restrict out, const double *restrict b,
                               const double *restrict c, const double *restrict d, int own,
                               int inner)
{
    if (d)
        columns_avx2(out, b, c, d, own, inner);
    else
        columns_avx2(out, b, c, NULL, own, inner);
}

AVX2 static void visit_avx2(const ms_visit *v, double *restrict th, double *restrict h, bool settle)
{
    __m256d s = _mm256_set1_pd(v->share), sign = _mm256_set1_pd(-0.0);
    for (int i = 0; i < v->n; i += 4) {
        __m256d x = _mm256_loadu_pd(v->u + i);
        for (int k = 0; k < v->n_halves; k++)
            x = _mm256_add_pd(x, _mm256_loadu_pd(v->half[k].own + i));
        _mm256_storeu_pd(th + i, x);
    }
    for (int k = 0; k < v->n_halves; k++) {
        const ms_half *e = &v->half[k];
        if ((e->other > v->v) == v->back) continue;
        for (int i = 0; i < v->n; i += 4) {
            __m256d x = _mm256_sub_pd(_mm256_mul_pd(s, _mm256_loadu_pd(th + i)),
                                      _mm256_loadu_pd(e->own + i));
            _mm256_storeu_pd(h + i, x);
            if (settle) _mm256_storeu_pd(e->own + i, _mm256_xor_pd(x, sign));
        }
        columns_avx2(e->to, h, e->table, NULL, v->n, e->width);
    }
}

INLINE AVX2 double lanes_least_avx2(__m256d m)
{
    __m128d x = _mm_min_pd(_mm256_castpd256_pd128(m), _mm256_extractf128_pd(m, 1));
    return _mm_cvtsd_f64(_mm_min_sd(x, _mm_unpackhi_pd(x, x)));
}

INLINE AVX2 double row_least_avx2(const double *x, int n)
{
    __m256d m = _mm256_set1_pd((double)INFINITY);
    int i = 0;
    for (; i + 4 <= n; i += 4)
        m = _mm256_min_pd(_mm256_loadu_pd(x + i), m);
    double least = lanes_least_avx2(m);
    for (; i < n; i++)
        least = x[i] < least ? x[i] : least;
    return least;
}

AVX2 static double least_avx2(const double *x, int n)
{
    return row_least_avx2(x, n);
}

AVX2 static double least_difference_avx2(const double *x, const double *y, int n)
{
    __m256d m = _mm256_set1_pd((double)INFINITY);
    int i = 0;
    for (; i + 4 <= n; i += 4) // min_pd takes its second operand where the first is no number
        m = _mm256_min_pd(_mm256_sub_pd(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i)), m);
    double least = lanes_least_avx2(m);
    for (; i < n; i++)
        least = x[i] - y[i] < least ? x[i] - y[i] : least;
    return least;
}

// `width` vectors of rows from k on; gives the bits of those that may be dominated.
INLINE AVX2 uint64_t rooms_block_avx2(double *room, double own, const double *u, const ms_column *c,
                                      int n, int k, int width)
{
    __m256d r[4];
    uint64_t may = 0;
    for (int j = 0; j < width; j++)
        r[j] = _mm256_sub_pd(_mm256_set1_pd(own), _mm256_loadu_pd(u + k + 4 * j));
    for (int e = 0; e < n; e++) {
        __m256d x = _mm256_broadcast_sd(&c[e].own), times = _mm256_broadcast_sd(&c[e].times);
        for (int j = 0; j < width; j++) {
            __m256d d = _mm256_sub_pd(x, _mm256_loadu_pd(c[e].p + k + 4 * j));
            r[j] = _mm256_add_pd(r[j], _mm256_mul_pd(times, d));
        }
    }
    for (int j = 0; j < width; j++) {
        __m256d not_less = _mm256_cmp_pd(r[j], _mm256_setzero_pd(), _CMP_GE_OQ);
        may |= (uint64_t)_mm256_movemask_pd(not_less) << 4 * j;
        _mm256_storeu_pd(room + k + 4 * j, r[j]);
    }
    return may;
}

AVX2 static void rooms_avx2(double *restrict room, uint64_t *restrict may, double own,
                            const double *restrict u, const ms_column *c, int n, int rows)
{
    int k = 0;
    uint64_t bits = 0;
    for (; k + 16 <= rows; k += 16) {
        bits |= rooms_block_avx2(room, own, u, c, n, k, 4) << k % 64;
        may[k / 64] = bits;
        if (k % 64 + 16 == 64) bits = 0;
    }
    for (; k + 4 <= rows; k += 4)
        bits |= rooms_block_avx2(room, own, u, c, n, k, 1) << k % 64;
    for (; k < rows; k++) {
        double r = own - u[k];
        for (int e = 0; e < n; e++)
            r += c[e].times * (c[e].own - c[e].p[k]);
        room[k] = r;
        bits |= (uint64_t)(r >= 0) << k % 64;
    }
    may[rows / 64] = bits;
}

AVX2 static void cheapest_avx2(int *restrict at, const double *restrict p, int rows, int cols)
{
    for (int i = 0; i < rows; i++, p += cols) {
        double least = row_least_avx2(p, cols);
        int k = 0;
        while (p[k] > least)
            k++;
        at[i] = k;
    }
}

// Four by four.
INLINE AVX2 void turn_block_avx2(double *to, const double *p, int rows, int cols)
{
    __m256d a = _mm256_loadu_pd(p), b = _mm256_loadu_pd(p + cols);
    __m256d c = _mm256_loadu_pd(p + 2 * cols), d = _mm256_loadu_pd(p + 3 * cols);
    __m256d ab0 = _mm256_unpacklo_pd(a, b), ab1 = _mm256_unpackhi_pd(a, b);
    __m256d cd0 = _mm256_unpacklo_pd(c, d), cd1 = _mm256_unpackhi_pd(c, d);
    _mm256_storeu_pd(to, _mm256_permute2f128_pd(ab0, cd0, 0x20));
    _mm256_storeu_pd(to + rows, _mm256_permute2f128_pd(ab1, cd1, 0x20));
    _mm256_storeu_pd(to + 2 * rows, _mm256_permute2f128_pd(ab0, cd0, 0x31));
    _mm256_storeu_pd(to + 3 * rows, _mm256_permute2f128_pd(ab1, cd1, 0x31));
}

AVX2 static void turn_avx2(double *restrict to, const double *restrict p, int rows, int cols)
{
    int whole = cols / 4 * 4, i = 0;
    for (; i + 4 <= rows; i += 4) {
        const double *from = p + (size_t)i * (size_t)cols;
        for (int j = 0; j < whole; j += 4)
            turn_block_avx2(to + (size_t)j * (size_t)rows + i, from + j, rows, cols);
        for (int j = whole; j < cols; j++)
            for (int k = 0; k < 4; k++)
                to[j * rows + i + k] = from[k * cols + j];
    }
    for (; i < rows; i++)
        for (int j = 0; j < cols; j++)
            to[j * rows + i] = p[i * cols + j];
}

AVX2 static bool costs_avx2(const double *p, size_t n)
{
    __m256d least = _mm256_set1_pd((double)-INFINITY),
            all = _mm256_cmp_pd(least, least, _CMP_EQ_OQ);
    size_t i = 0;
    for (; i + 4 <= n; i += 4)
        all = _mm256_and_pd(all, _mm256_cmp_pd(_mm256_loadu_pd(p + i), least, _CMP_GT_OQ));
    return _mm256_movemask_pd(all) == 0xf && costs_plain(p + i, n - i);
}

AVX2 static void add_avx2(double *out, const double *x, const double *y, int n)
{
    int i = 0;
    for (; i + 4 <= n; i += 4)
        _mm256_storeu_pd(out + i, _mm256_add_pd(_mm256_loadu_pd(x + i), _mm256_loadu_pd(y + i)));
    for (; i < n; i++)
        out[i] = x[i] + y[i];
}

static const ms_kernels avx2;

static void min_many_avx2(double *restrict out, const ms_many *m)
{
    min_many_by(&avx2, out, m);
}

static const ms_kernels avx2 = {
    min_rows_avx2, min_many_avx2, visit_avx2, least_avx2, least_difference_avx2,
    rooms_avx2,    cheapest_avx2, turn_avx2,  costs_avx2, add_avx2};

// --- AVX-512: eight cells at a time, the last ones by a mask ---

#    define AVX512 __attribute__((target("avx512f,avx512dq,avx512vl")))

INLINE AVX512 __mmask8 first_avx512(int n)
{
    return (__mmask8)(n >= 8 ? 0xff : (1u << n) - 1);
}

// `width` vectors of the result, the last of them masked.
INLINE AVX512 void block_avx512(double *out, const double *b, const double *c, const double *d,
                                int own, int inner, int width, __mmask8 last)
{
    __m512d m[4];
    for (int j = 0; j < width; j++)
        m[j] = _mm512_set1_pd((double)INFINITY);
    for (int x = 0; x < own; x++, c += inner) {
        __m512d bx = _mm512_set1_pd(b[x]);
        for (int j = 0; j < width; j++) {
            __mmask8 some = j == width - 1 ? last : 0xff;
            __m512d v = _mm512_add_pd(bx, _mm512_maskz_loadu_pd(some, c + 8 * j));
            if (d) v = _mm512_add_pd(v, _mm512_maskz_loadu_pd(some, d + 8 * j));
            m[j] = _mm512_min_pd(v, m[j]);
        }
        if (d) d += inner;
    }
    for (int j = 0; j < width; j++)
        _mm512_mask_storeu_pd(out + 8 * j, j == width - 1 ? last : 0xff, m[j]);
}

INLINE AVX512 void columns_avx512(double *out, const double *b, const double *c, const double *d,
                                  int own, int inner)
{
    int i = 0;
    for (; i + 32 <= inner; i += 32)
        block_avx512(out + i, b, c + i, d ? d + i : NULL, own, inner, 4, 0xff);
    int left = inner - i;
    const double *e = d ? d + i : NULL;
    if (left > 3 * 8)
        block_avx512(out + i, b, c + i, e, own, inner, 4, first_avx512(left - 3 * 8));
    else if (left > 16)
        block_avx512(out + i, b, c + i, e, own, inner, 3, first_avx512(left - 16));
    else if (left > 8)
        block_avx512(out + i, b, c + i, e, own, inner, 2, first_avx512(left - 8));
    else if (left > 0)
        block_avx512(out + i, b, c + i, e, own, inner, 1, first_avx512(left));
}

AVX512 static void min_rows_avx512(double *restrict out, const double *restrict b,
                                   const double *restrict c, const double *restrict d, int own,
                                   int inner)
{
    if (d)
        columns_avx512(out, b, c, d, own, inner);
    else
        columns_avx512(out, b, c, NULL, own, inner);
}

// Rows of at most three whole vectors and perhaps half of one, without masks. Every other row has a
// minimum of its own: a single one would wait for itself.
INLINE AVX512 void padded_rows_avx512(double *out, const double *h, const double *c, int own,
                                      int inner, int whole, bool half)
{
    __m512d m[2][3];
    __m256d e[2];
    for (int w = 0; w < 2; w++) {
        for (int j = 0; j < whole; j++)
            m[w][j] = _mm512_set1_pd((double)INFINITY);
        e[w] = _mm256_set1_pd((double)INFINITY);
    }
    int x = 0;
    for (; x + 1 < own; x += 2, c += 2 * inner) {
        __m512d even = _mm512_set1_pd(h[x]), odd = _mm512_set1_pd(h[x + 1]);
        for (int j = 0; j < whole; j++) {
            m[0][j] = _mm512_min_pd(_mm512_add_pd(even, _mm512_loadu_pd(c + 8 * j)), m[0][j]);
            m[1][j] =
                _mm512_min_pd(_mm512_add_pd(odd, _mm512_loadu_pd(c + inner + 8 * j)), m[1][j]);
        }
        if (!half) continue;
        const double *end = c + 8 * whole;
        e[0] =
            _mm256_min_pd(_mm256_add_pd(_mm512_castpd512_pd256(even), _mm256_loadu_pd(end)), e[0]);
        e[1] = _mm256_min_pd(
            _mm256_add_pd(_mm512_castpd512_pd256(odd), _mm256_loadu_pd(end + inner)), e[1]);
    }
    if (x < own) {
        __m512d even = _mm512_set1_pd(h[x]);
        for (int j = 0; j < whole; j++)
            m[0][j] = _mm512_min_pd(_mm512_add_pd(even, _mm512_loadu_pd(c + 8 * j)), m[0][j]);
        if (half)
            e[0] = _mm256_min_pd(
                _mm256_add_pd(_mm512_castpd512_pd256(even), _mm256_loadu_pd(c + 8 * whole)), e[0]);
    }
    for (int j = 0; j < whole; j++)
        _mm512_storeu_pd(out + 8 * j, _mm512_min_pd(m[1][j], m[0][j]));
    if (half) _mm256_storeu_pd(out + 8 * whole, _mm256_min_pd(e[1], e[0]));
}

// The same of any multiple of four cells.
INLINE AVX512 void padded_columns_avx512(double *out, const double *h, const double *c, int own,
                                         int inner)
{
    bool half = inner % 8 != 0;
    int whole = inner / 8;
    if (whole > 3)
        columns_avx512(out, h, c, NULL, own, inner);
    else if (whole == 3 && half)
        padded_rows_avx512(out, h, c, own, inner, 3, true);
    else if (whole == 3)
        padded_rows_avx512(out, h, c, own, inner, 3, false);
    else if (whole == 2 && half)
        padded_rows_avx512(out, h, c, own, inner, 2, true);
    else if (whole == 2)
        padded_rows_avx512(out, h, c, own, inner, 2, false);
    else if (whole == 1 && half)
        padded_rows_avx512(out, h, c, own, inner, 1, true);
    else if (whole == 1)
        padded_rows_avx512(out, h, c, own, inner, 1, false);
    else
        padded_rows_avx512(out, h, c, own, inner, 0, true);
}

// th and h of padded states: whole vectors, and perhaps half of one.
INLINE AVX512 void sum_halves_avx512(const ms_visit *v, double *th, int n)
{
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512d x = _mm512_loadu_pd(v->u + i);
        for (int k = 0; k < v->n_halves; k++)
            x = _mm512_add_pd(x, _mm512_loadu_pd(v->half[k].own + i));
        _mm512_storeu_pd(th + i, x);
    }
    if (i == n) return;
    __m256d x = _mm256_loadu_pd(v->u + i);
    for (int k = 0; k < v->n_halves; k++)
        x = _mm256_add_pd(x, _mm256_loadu_pd(v->half[k].own + i));
    _mm256_storeu_pd(th + i, x);
}

INLINE AVX512 void hand_over_avx512(const double *th, double *own, double *h, double share, int n,
                                    bool settle)
{
    __m512d s = _mm512_set1_pd(share), sign = _mm512_set1_pd(-0.0);
    int i = 0;
    for (; i + 8 <= n; i += 8) {
        __m512d x =
            _mm512_sub_pd(_mm512_mul_pd(s, _mm512_loadu_pd(th + i)), _mm512_loadu_pd(own + i));
        _mm512_storeu_pd(h + i, x);
        if (settle) _mm512_storeu_pd(own + i, _mm512_xor_pd(x, sign));
    }
    if (i == n) return;
    __m256d x = _mm256_sub_pd(_mm256_mul_pd(_mm512_castpd512_pd256(s), _mm256_loadu_pd(th + i)),
                              _mm256_loadu_pd(own + i));
    _mm256_storeu_pd(h + i, x);
    if (settle) _mm256_storeu_pd(own + i, _mm256_xor_pd(x, _mm512_castpd512_pd256(sign)));
}

AVX512 static void visit_avx512(const ms_visit *v, double *restrict th, double *restrict h,
                                bool settle)
{
    int n = ms_padded(v->n);
    sum_halves_avx512(v, th, n);
    for (int k = 0; k < v->n_halves; k++) {
        const ms_half *e = &v->half[k];
        if ((e->other > v->v) == v->back) continue;
        hand_over_avx512(th, e->own, h, v->share, n, settle);

        padded_columns_avx512(e->to, h, e->table, v->n, e->width);
    }
}

INLINE AVX512 uint64_t rooms_block_avx512(double *room, double own, const double *u,
                                          const ms_column *c, int n, int k, int width,
                                          __mmask8 last)
{
    __m512d r[4];
    uint64_t may = 0;
    for (int j = 0; j < width; j++) {
        __mmask8 some = j == width - 1 ? last : 0xff;
        r[j] = _mm512_sub_pd(_mm512_set1_pd(own), _mm512_maskz_loadu_pd(some, u + k + 8 * j));
    }
    for (int e = 0; e < n; e++) {
        __m512d x = _mm512_set1_pd(c[e].own), times = _mm512_set1_pd(c[e].times);
        for (int j = 0; j < width; j++) {
            __mmask8 some = j == width - 1 ? last : 0xff;
            __m512d d = _mm512_sub_pd(x, _mm512_maskz_loadu_pd(some, c[e].p + k + 8 * j));
            r[j] = _mm512_add_pd(r[j], _mm512_mul_pd(times, d));
        }
    }
    for (int j = 0; j < width; j++) {
        __mmask8 some = j == width - 1 ? last : 0xff;
        may |= (uint64_t)_mm512_mask_cmp_pd_mask(some, r[j], _mm512_setzero_pd(), _CMP_GE_OQ)
               << 8 * j;
        _mm512_mask_storeu_pd(room + k + 8 * j, some, r[j]);
    }
    return may;
}

AVX512 static void rooms_avx512(double *restrict room, uint64_t *restrict may, double own,
                                const double *restrict u, const ms_column *c, int n, int rows)
{
    may[rows / 64] = 0;
    for (int k = 0; k < rows; k += 32) {
        int left = rows - k;
        uint64_t bits =
            left > 3 * 8 ? rooms_block_avx512(room, own, u, c, n, k, 4, first_avx512(left - 3 * 8))
            : left > 16  ? rooms_block_avx512(room, own, u, c, n, k, 3, first_avx512(left - 16))
            : left > 8   ? rooms_block_avx512(room, own, u, c, n, k, 2, first_avx512(left - 8))
                         : rooms_block_avx512(room, own, u, c, n, k, 1, first_avx512(left));
        may[k / 64] = k % 64 ? may[k / 64] | bits << 32 : bits;
    }
}

// The first of the least cells of a row of at most `width` vectors, the last of them masked.
INLINE AVX512 int first_least_avx512(const double *p, int width, __mmask8 last)
{
    __m512d x[4], least = _mm512_set1_pd((double)INFINITY);
    for (int j = 0; j < width; j++) {
        x[j] = _mm512_mask_loadu_pd(_mm512_set1_pd((double)INFINITY), j == width - 1 ? last : 0xff,
                                    p + 8 * j);
        least = _mm512_min_pd(x[j], least);
    }
    __m256d half = _mm256_min_pd(_mm512_castpd512_pd256(least), _mm512_extractf64x4_pd(least, 1));
    __m512d all = _mm512_set1_pd(lanes_least_avx2(half));
    unsigned is = 0;
    for (int j = 0; j < width; j++)
        is |= (unsigned)_mm512_cmp_pd_mask(x[j], all, _CMP_EQ_OQ) << 8 * j;
    return __builtin_ctz(is);
}

INLINE AVX512 void cheapest_of_avx512(int *at, const double *p, int rows, int cols, int width)
{
    __mmask8 last = first_avx512(cols - 8 * (width - 1));
    for (int i = 0; i < rows; i++, p += cols)
        at[i] = first_least_avx512(p, width, last);
}

AVX512 static void cheapest_avx512(int *restrict at, const double *restrict p, int rows, int cols)
{
    if (cols <= 8)
        cheapest_of_avx512(at, p, rows, cols, 1);
    else if (cols <= 16)
        cheapest_of_avx512(at, p, rows, cols, 2);
    else if (cols <= 3 * 8)
        cheapest_of_avx512(at, p, rows, cols, 3);
    else if (cols <= 32)
        cheapest_of_avx512(at, p, rows, cols, 4);
    else
        cheapest_avx2(at, p, rows, cols);
}

AVX512 static void add_avx512(double *out, const double *x, const double *y, int n)
{
    int i = 0;
    for (; i + 8 <= n; i += 8)
        _mm512_storeu_pd(out + i, _mm512_add_pd(_mm512_loadu_pd(x + i), _mm512_loadu_pd(y + i)));
    if (i == n) return;
    __mmask8 some = first_avx512(n - i);
    __m512d sum =
        _mm512_add_pd(_mm512_maskz_loadu_pd(some, x + i), _mm512_maskz_loadu_pd(some, y + i));
    _mm512_mask_storeu_pd(out + i, some, sum);
}

// All of it for rows of `width` vectors, the last of them masked.
INLINE AVX512 void many_avx512(double *out, const ms_many *m, int width, bool two_b, bool two_c)
{
    const double *b = m->b[0], *e = m->b[1], *c = m->c[0], *d = m->c[1];
    int own = m->own, inner = m->inner;
    __mmask8 last = first_avx512(inner - 8 * (width - 1));
    for (int t = 0; t < m->times; t++, out += inner) {
        const double *p = c, *q = d;
        __m512d least[4];
        for (int j = 0; j < width; j++)
            least[j] = _mm512_set1_pd((double)INFINITY);
        for (int x = 0; x < own; x++, p += inner) {
            __m512d bx = _mm512_set1_pd(two_b ? b[x] + e[x] : b[x]);
            for (int j = 0; j < width; j++) {
                __mmask8 some = j == width - 1 ? last : 0xff;
                __m512d v = _mm512_add_pd(bx, _mm512_maskz_loadu_pd(some, p + 8 * j));
                if (two_c) v = _mm512_add_pd(v, _mm512_maskz_loadu_pd(some, q + 8 * j));
                least[j] = _mm512_min_pd(v, least[j]);
            }
            if (two_c) q += inner;
        }
        for (int j = 0; j < width; j++)
            _mm512_mask_storeu_pd(out + 8 * j, j == width - 1 ? last : 0xff, least[j]);
        b += m->b_step[0];
        c += m->c_step[0];
        if (two_b) e += m->b_step[1];
        if (two_c) d += m->c_step[1];
    }
}

INLINE AVX512 void many_of_avx512(double *out, const ms_many *m, int width)
{
    if (m->b[1] && m->c[1])
        many_avx512(out, m, width, true, true);
    else if (m->b[1])
        many_avx512(out, m, width, true, false);
    else if (m->c[1])
        many_avx512(out, m, width, false, true);
    else
        many_avx512(out, m, width, false, false);
}

static const ms_kernels avx512;

AVX512 static void min_many_avx512(double *restrict out, const ms_many *m)
{
    if (m->inner <= 8)
        many_of_avx512(out, m, 1);
    else if (m->inner <= 16)
        many_of_avx512(out, m, 2);
    else if (m->inner <= 3 * 8)
        many_of_avx512(out, m, 3);
    else
        min_many_by(&avx512, out, m);
}

static const ms_kernels avx512 = {
    min_rows_avx512, min_many_avx512, visit_avx512, least_avx2, least_difference_avx2,
    rooms_avx512,    cheapest_avx512, turn_avx2,    costs_avx2, add_avx512};
#endif

const ms_kernels *ms_best_kernels(void)
{
#if MS_HAVE_AVX
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl"))
        return &avx512;
    if (__builtin_cpu_supports("avx2")) return &avx2;
#endif
    return &plain;
}

const ms_kernels *ms_kernels_of(int which)
{
    const ms_kernels *best = ms_best_kernels();
#if MS_HAVE_AVX
    if (which == 1 && best != &plain) return &avx2;
    if (which == 2 && best == &avx512) return &avx512;
#endif
    return which == 0 ? &plain : NULL;
}
