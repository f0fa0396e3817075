#include <math.h>

#include "solver/minsum_parts.h"

#if defined(__x86_64__) && defined(__GNUC__)
#    define MS_HAVE_AVX2 1
#    include <immintrin.h>
#else
#    define MS_HAVE_AVX2 0
#endif

// The one inner loop of the min-sum solver. Additions and minima only, no contraction possible: all
// versions give the same bits.

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

static void hand_over_plain(double *restrict to, double *restrict own, double *restrict h,
                            const double *restrict th, double share, const double *restrict table,
                            int n, int width, bool settle)
{
    for (int i = 0; i < ms_padded(n); i++)
        h[i] = share * th[i] - own[i];
    min_rows_plain(to, h, table, NULL, n, width);
    for (int i = 0; settle && i < ms_padded(n); i++)
        own[i] = -h[i];
}

#if MS_HAVE_AVX2

// `width` vectors of the result, kept in registers over the rows.
__attribute__((always_inline, target("avx2"))) static inline void
block(double *out, const double *b, const double *c, const double *d, int own, int inner, int width)
{
    __m256d m[4];
    for (int j = 0; j < width; j++)
        m[j] = _mm256_set1_pd((double)INFINITY);
    for (int x = 0; x < own; x++, c += inner) {
        __m256d bx = _mm256_broadcast_sd(b + x);
        for (int j = 0; j < width; j++) {
            __m256d v = _mm256_add_pd(bx, _mm256_loadu_pd(c + MS_LANES * j));
            if (d) v = _mm256_add_pd(v, _mm256_loadu_pd(d + MS_LANES * j));
            m[j] = _mm256_min_pd(v, m[j]);
        }
        if (d) d += inner;
    }
    for (int j = 0; j < width; j++)
        _mm256_storeu_pd(out + MS_LANES * j, m[j]);
}

// The last one to three columns.
__attribute__((always_inline, target("avx2"))) static inline void
tail(double *out, const double *b, const double *c, const double *d, int own, int inner, int n)
{
    __m256i some = _mm256_set_epi64x(0, n > 2 ? -1 : 0, n > 1 ? -1 : 0, -1);
    __m256d m = _mm256_set1_pd((double)INFINITY);
    for (int x = 0; x < own; x++, c += inner) {
        __m256d v = _mm256_add_pd(_mm256_broadcast_sd(b + x), _mm256_maskload_pd(c, some));
        if (d) v = _mm256_add_pd(v, _mm256_maskload_pd(d, some));
        m = _mm256_min_pd(v, m);
        if (d) d += inner;
    }
    _mm256_maskstore_pd(out, some, m);
}

__attribute__((always_inline, target("avx2"))) static inline void
columns(double *out, const double *b, const double *c, const double *d, int own, int inner)
{
    int i = 0;
    for (; i + 4 * MS_LANES <= inner; i += 4 * MS_LANES)
        block(out + i, b, c + i, d ? d + i : NULL, own, inner, 4);
    if (i + 2 * MS_LANES <= inner) {
        block(out + i, b, c + i, d ? d + i : NULL, own, inner, 2);
        i += 2 * MS_LANES;
    }
    if (i + MS_LANES <= inner) {
        block(out + i, b, c + i, d ? d + i : NULL, own, inner, 1);
        i += MS_LANES;
    }
    if (i < inner) tail(out + i, b, c + i, d ? d + i : NULL, own, inner, inner - i);
}

__attribute__((target("avx2"))) static void
min_rows_avx2(double *restrict out, const double *restrict b, const double *restrict c,
              const double *restrict d, int own, int inner)
{
    if (d)
        columns(out, b, c, d, own, inner);
    else
        columns(out, b, c, NULL, own, inner);
}

__attribute__((target("avx2"))) static void hand_over_avx2(double *restrict to,
                                                           double *restrict own, double *restrict h,
                                                           const double *restrict th, double share,
                                                           const double *restrict table, int n,
                                                           int width, bool settle)
{
    __m256d s = _mm256_set1_pd(share), sign = _mm256_set1_pd(-0.0);
    for (int i = 0; i < n; i += MS_LANES) {
        __m256d x =
            _mm256_sub_pd(_mm256_mul_pd(s, _mm256_loadu_pd(th + i)), _mm256_loadu_pd(own + i));
        _mm256_storeu_pd(h + i, x);
        if (settle) _mm256_storeu_pd(own + i, _mm256_xor_pd(x, sign));
    }
    columns(to, h, table, NULL, n, width);
}
#endif

double ms_least(const double *x, int n)
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

double ms_least_difference(const double *x, const double *y, int n)
{
    double m[4] = {(double)INFINITY, (double)INFINITY, (double)INFINITY, (double)INFINITY};
    int i = 0;
    for (; i + 4 <= n; i += 4)
        for (int k = 0; k < 4; k++) {
            double d = x[i + k] - y[i + k];
            m[k] = d < m[k] ? d : m[k];
        }
    for (; i < n; i++)
        m[0] = x[i] - y[i] < m[0] ? x[i] - y[i] : m[0];
    double a = m[0] < m[1] ? m[0] : m[1], b = m[2] < m[3] ? m[2] : m[3];
    return a < b ? a : b;
}

ms_min_rows *ms_best_min_rows(void)
{
#if MS_HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) return min_rows_avx2;
#endif
    return min_rows_plain;
}

ms_hand_over *ms_best_hand_over(void)
{
#if MS_HAVE_AVX2
    if (__builtin_cpu_supports("avx2")) return hand_over_avx2;
#endif
    return hand_over_plain;
}
