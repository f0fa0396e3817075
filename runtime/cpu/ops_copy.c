// Copies between layouts: strided (transpose, expand) and shifted along one dim (split, slice,
// concat, pad), the latter right for a dim whose middle factor is cut.

#include "cpu/ops_kernels.h"

#include <string.h>

#include "core/float16.h"

enum { TILE = 16 }; // 16 x 16 elements of 4 bytes: one cache line a row on both sides

#define COPY_TILED(T)                                                                              \
    static void copy_tiled_##T(int64_t m, int64_t n, T *y, int64_t ym, int64_t yn, const T *x,     \
                               int64_t xm, int64_t xn)                                             \
    {                                                                                              \
        for (int64_t i0 = 0; i0 < m; i0 += TILE)                                                   \
            for (int64_t j0 = 0; j0 < n; j0 += TILE) {                                             \
                int64_t i1 = i0 + TILE < m ? i0 + TILE : m, j1 = j0 + TILE < n ? j0 + TILE : n;    \
                for (int64_t i = i0; i < i1; i++)                                                  \
                    for (int64_t j = j0; j < j1; j++)                                              \
                        y[i * ym + j * yn] = x[i * xm + j * xn];                                   \
            }                                                                                      \
    }
COPY_TILED(uint8_t)
COPY_TILED(uint16_t)
COPY_TILED(uint32_t)
COPY_TILED(uint64_t)

static void copy_plane(int64_t m, int64_t n, char *y, int64_t ym, int64_t yn, const char *x,
                       int64_t xm, int64_t xn, int64_t elem)
{
    if (yn == 1 && xn == 1) {
        for (int64_t i = 0; i < m; i++)
            memcpy(y + i * ym * elem, x + i * xm * elem, (size_t)(n * elem));
        return;
    }
    switch (elem) {
    case 1:
        copy_tiled_uint8_t(m, n, (void *)y, ym, yn, (const void *)x, xm, xn);
        break;
    case 2:
        copy_tiled_uint16_t(m, n, (void *)y, ym, yn, (const void *)x, xm, xn);
        break;
    case 4:
        copy_tiled_uint32_t(m, n, (void *)y, ym, yn, (const void *)x, xm, xn);
        break;
    default:
        copy_tiled_uint64_t(m, n, (void *)y, ym, yn, (const void *)x, xm, xn);
        break;
    }
}

void cpu_copy(int rank, const int64_t *size, void *y, const int64_t *ys, const void *x,
              const int64_t *xs, int64_t elem)
{
    // Drop dims of one entry, merge neighbours that are one run on both sides.
    int64_t n[HAP_MAX_RANK + 2], a[HAP_MAX_RANK + 2], b[HAP_MAX_RANK + 2];
    int k = 0;
    for (int d = 0; d < rank; d++) {
        if (size[d] == 0) return;
        if (size[d] == 1) continue;
        if (k > 0 && a[k - 1] == ys[d] * size[d] && b[k - 1] == xs[d] * size[d]) {
            n[k - 1] *= size[d], a[k - 1] = ys[d], b[k - 1] = xs[d];
        } else {
            n[k] = size[d], a[k] = ys[d], b[k] = xs[d], k++;
        }
    }
    if (k == 0) {
        memcpy(y, x, (size_t)elem);
        return;
    }
    // The plane: the last dim, and with it the dim in which x is dense (else the one before).
    int q = k >= 2 ? k - 2 : -1;
    for (int d = 0; d < k - 1; d++)
        if (b[d] == 1 && b[k - 1] != 1) q = d;
    int64_t m = q >= 0 ? n[q] : 1, ym = q >= 0 ? a[q] : 0, xm = q >= 0 ? b[q] : 0;
    int outer[HAP_MAX_RANK + 2], n_outer = 0;
    for (int d = 0; d < k - 1; d++)
        if (d != q) outer[n_outer++] = d;

    int64_t at[HAP_MAX_RANK + 2] = {0}, yo = 0, xo = 0;
    for (;;) {
        copy_plane(m, n[k - 1], (char *)y + yo * elem, ym, a[k - 1], (const char *)x + xo * elem,
                   xm, b[k - 1], elem);
        int i = n_outer - 1;
        for (; i >= 0; i--) {
            int d = outer[i];
            yo += a[d], xo += b[d];
            if (++at[i] < n[d]) break;
            yo -= at[i] * a[d], xo -= at[i] * b[d], at[i] = 0;
        }
        if (i < 0) return;
    }
}

static void fill(void *p, hap_dtype type, int64_t n, double value)
{
    switch (type) {
    case HAP_F32:
        for (int64_t i = 0; i < n; i++)
            ((float *)p)[i] = (float)value;
        break;
    case HAP_I64:
        for (int64_t i = 0; i < n; i++)
            ((int64_t *)p)[i] = (int64_t)value;
        break;
    case HAP_I32:
        for (int64_t i = 0; i < n; i++)
            ((int32_t *)p)[i] = (int32_t)value;
        break;
    case HAP_BOOL:
        memset(p, value != 0, (size_t)n);
        break;
    case HAP_U8:
        memset(p, (uint8_t)value, (size_t)n);
        break;
    case HAP_BF16:
    case HAP_F16:
        for (int64_t i = 0; i < n; i++)
            ((uint16_t *)p)[i] =
                type == HAP_BF16 ? hap_f32_to_bf16((float)value) : hap_f32_to_f16((float)value);
        break;
    }
}

void cpu_fill(hap_tensor *y, double value)
{
    fill(y->data, y->type, y->elements, value);
}

// Both tensors without `dim` must look alike.
static const char *alike(const hap_tensor *y, const hap_tensor *x, int dim)
{
    if (y->rank != x->rank || y->type != x->type)
        return cpu_fail("rank or type differ between operand and output");
    for (int d = 0; d < y->rank; d++)
        if (d != dim && y->local[d] != x->local[d])
            return cpu_fail("dim %d has %lld local entries in the output, %lld in the operand", d,
                            (long long)y->local[d], (long long)x->local[d]);
    return NULL;
}

static int64_t min64(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

// Copies `run` entries of `dim` between local places, for every outer index.
static void copy_run(hap_tensor *y, const hap_tensor *x, int dim, int64_t ly, int64_t lx,
                     int64_t run)
{
    int64_t outer = cpu_entries(y, 0, dim), elem = hap_dtype_bytes(y->type);
    int64_t inner = cpu_entries(y, dim + 1, y->rank) * elem;
    char *py = (char *)y->data + ly * inner;
    const char *px = (const char *)x->data + lx * inner;
    for (int64_t o = 0; o < outer; o++)
        memcpy(py + o * y->local[dim] * inner, px + o * x->local[dim] * inner,
               (size_t)(run * inner));
}

const char *cpu_copy_shifted(hap_tensor *y, const hap_tensor *x, int dim, int64_t shift,
                             const double *pad)
{
    CPU_TRY(alike(y, x, dim));
    cpu_axis ay = cpu_axis_of(y, dim), ax = cpu_axis_of(x, dim);
    int64_t run_y, run_x, size = cpu_axis_size(&ax);
    if (y->elements == 0) return NULL;
    for (int64_t l = 0; l < y->local[dim];) {
        int64_t g = cpu_axis_global(&ay, l, &run_y) + shift, run = run_y;
        if (g < 0 || g >= size) {
            if (!pad) return cpu_fail("entry %lld lies outside the operand", (long long)g);
            if (g < 0) run = min64(run, -g);
            int64_t inner = cpu_entries(y, dim + 1, y->rank), outer = cpu_entries(y, 0, dim);
            for (int64_t o = 0; o < outer; o++)
                fill((char *)y->data + (o * y->local[dim] + l) * inner * hap_dtype_bytes(y->type),
                     y->type, run * inner, *pad);
        } else {
            int64_t lx = cpu_axis_local(&ax, g, &run_x);
            if (lx < 0)
                return cpu_fail("the output needs entry %lld of another rank", (long long)g);
            run = min64(run, run_x);
            copy_run(y, x, dim, l, lx, run);
        }
        l += run;
    }
    return NULL;
}

const char *cpu_copy_into(hap_tensor *y, const hap_tensor *x, int dim, int64_t shift)
{
    CPU_TRY(alike(y, x, dim));
    cpu_axis ay = cpu_axis_of(y, dim), ax = cpu_axis_of(x, dim);
    int64_t run_y, run_x;
    if (x->elements == 0) return NULL;
    for (int64_t l = 0; l < x->local[dim];) {
        int64_t g = cpu_axis_global(&ax, l, &run_x) + shift;
        int64_t ly = cpu_axis_local(&ay, g, &run_y), run = min64(run_x, run_y);
        if (ly < 0) return cpu_fail("entry %lld belongs to another rank", (long long)g);
        copy_run(y, x, dim, ly, l, run);
        l += run;
    }
    return NULL;
}
