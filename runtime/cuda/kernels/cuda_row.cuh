// Rows of the last dim: how blocks take them; layer norm from its statistics (cpu/ops_norm.c states
// the formulas).

#ifndef HAP_RUNTIME_CUDA_ROW_CUH
#define HAP_RUNTIME_CUDA_ROW_CUH

#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_kernels.cuh"

// A warp a row of up to CUDA_WARP_COLUMNS entries, several rows a block; else a block a row.
static inline dim3 row_block(int64_t cols)
{
    const int threads = cuda_row_threads(cols);
    return dim3((unsigned)threads, threads == 32 ? CUDA_ROW_WARPS : 1);
}

struct row_size {
    int64_t rows, cols;
};

static inline row_size rows_of(const hap_tensor *t)
{
    return {cuda_entries(t, 0, t->rank - 1), t->local[t->rank - 1]};
}

static inline const char *stat_fits(row_size r, const hap_tensor *stat)
{
    if (stat && cuda_is_float(stat->type) && stat->elements == r.rows) return NULL;
    return cuda_fail("a row statistic does not have one float a row");
}

// --- layer norm, and RMS norm: the same with mean 0, no row sum, no bias ---

struct norm_row {
    row_size r;
    double n, eps, per_n; // per_n: 1 / n
    view sum, m2, w;      // sum.p is NULL of RMS norm, w.p may be
};

static inline bool is_rms(hap_op_id op)
{
    return op == HAP_OP_rms_apply || op == HAP_OP_rms_bwd_stats || op == HAP_OP_rms_bwd ||
           op == HAP_OP_rms_bwd_params;
}

// x is operand i_x, its statistics follow it; the weight is operand i_w, of RMS norm i_w_rms.
static inline const char *norm_of(norm_row *o, const hap_op_call *c, int i_x, int i_w, int i_w_rms)
{
    CUDA_TRY(cuda_want_floats(c));
    bool rms = is_rms(c->op);
    int at = rms ? i_w_rms : i_w;
    const hap_tensor *x = c->in[i_x], *w = at < 0 ? NULL : cuda_in(c, at);
    const hap_tensor *sum = rms ? NULL : c->in[i_x + 1], *m2 = c->in[rms ? i_x + 1 : i_x + 2];
    cuda_axis a = cuda_axis_of(x, x->rank - 1);
    const double n = (double)cuda_axis_size(&a);
    *o = {rows_of(x), n, c->attr[0].f, 1 / n, view_of(sum), view_of(m2), view_of(w)};
    if (!rms) CUDA_TRY(stat_fits(o->r, sum));
    CUDA_TRY(stat_fits(o->r, m2));
    if (w && w->elements != o->r.cols)
        return cuda_fail("norm: weight of %lld entries, rows of %lld", (long long)w->elements,
                         (long long)o->r.cols);
    return NULL;
}

__device__ inline void stats_of(const norm_row &o, float sum, float m2, float *mean, float *rstd)
{
    *mean = o.sum.p ? (float)((double)sum / o.n) : 0;
    *rstd = (float)(1.0 / sqrt((double)m2 / o.n + o.eps));
}

__device__ inline void row_stats(const norm_row &o, int64_t row, float *mean, float *rstd)
{
    stats_of(o, o.sum.p ? load(o.sum, row) : 0, load(o.m2, row), mean, rstd);
}

// Entries j.. of a vector of the row's length; it is dense, and aligned where j is a multiple of 8.
template <int V> __device__ inline void load_column(view v, int64_t j, float (&x)[V])
{
    if constexpr (V == 1) {
        x[0] = load(v, j);
    } else if (j % 8 == 0) {
        load_vec<V>(v, j, x);
    } else {
        for (int k = 0; k < V; k++)
            x[k] = load(v, j + k);
    }
}

// One vector of each formula, shared by the kernels of single rows and of chains. Roundings are
// spelled out, so that both give the same bits; of `-` alone a compiler leaves out what is minus 0.

template <int V> __device__ inline void m2_vec(const float (&v)[V], float mean, float *m2)
{
    for (int e = 0; e < V; e++) {
        float d = __fsub_rn(v[e], mean);
        *m2 = __fmaf_rn(d, d, *m2);
    }
}

__device__ inline float hat(float x, float mean, float rstd)
{
    return __fmul_rn(x - mean, rstd);
}

// v = x on entry, y on return.
template <int V>
__device__ inline void apply_vec(const norm_row &o, view bias, float mean, float rstd, int64_t j,
                                 float (&v)[V])
{
    float k[V];
    for (int e = 0; e < V; e++)
        v[e] = hat(v[e], mean, rstd);
    if (o.w.p) {
        load_column<V>(o.w, j, k);
        for (int e = 0; e < V; e++)
            v[e] = __fmul_rn(v[e], k[e]);
    }
    if (bias.p) {
        load_column<V>(bias, j, k);
        for (int e = 0; e < V; e++)
            v[e] = __fadd_rn(v[e], k[e]);
    }
}

// u = dy w.
template <int V> __device__ inline void weigh_vec(const norm_row &o, int64_t j, float (&u)[V])
{
    float k[V];
    if (!o.w.p) return;
    load_column<V>(o.w, j, k);
    for (int e = 0; e < V; e++)
        u[e] = __fmul_rn(u[e], k[e]);
}

// v = x on entry, xhat on return.
template <int V> __device__ inline void hat_vec(float mean, float rstd, float (&v)[V])
{
    for (int e = 0; e < V; e++)
        v[e] = hat(v[e], mean, rstd);
}

// Sums of u and of u xhat, and what they are on the average of the row.
template <int V>
__device__ inline void stats_vec(const float (&u)[V], const float (&xhat)[V], float *a, float *b)
{
    for (int e = 0; e < V; e++)
        *a = __fadd_rn(*a, u[e]), *b = __fmaf_rn(u[e], xhat[e], *b);
}

__device__ inline float row_mean(const norm_row &o, float sum)
{
    return (float)((double)sum * o.per_n);
}

// u = rstd (u - a - xhat b).
template <int V>
__device__ inline void grad_vec(float (&u)[V], const float (&xhat)[V], float rstd, float a, float b)
{
    for (int e = 0; e < V; e++)
        u[e] = __fmul_rn(rstd, __fmaf_rn(-xhat[e], b, u[e] - a));
}

// Adds dy xhat to w and dy to b.
template <int V>
__device__ inline void param_vec(const float (&dy)[V], const float (&xhat)[V], float (&w)[V],
                                 float (&b)[V])
{
    for (int e = 0; e < V; e++)
        w[e] = __fmaf_rn(dy[e], xhat[e], w[e]), b[e] = __fadd_rn(b[e], dy[e]);
}

#endif
