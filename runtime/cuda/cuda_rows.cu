// Rows of the last dim from their statistics: softmax, cross entropy (cpu/ops_softmax.c states the
// formulas).

#include "cuda/cuda_row.cuh"
#include "cuda/cuda_shadow.h"

// --- softmax ---

enum { SOFTMAX, SOFTMAX_BWD, LOG_SOFTMAX, LOG_SOFTMAX_BWD };

// a: x or dy; b: the row's max, or y; stat: the sum of exp, or the sum of dy (y) over the row.
template <int KIND>
__global__ void softmax_row(row_size r, view y, view a, view b, view stat, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= r.rows) return;
    constexpr bool applies = KIND == SOFTMAX || KIND == LOG_SOFTMAX;
    float s = load(stat, row), max = applies ? load(b, row) : 0.0f;
    float k = KIND == SOFTMAX ? 1.0f / s : KIND == LOG_SOFTMAX ? logf(s) : s;
    for_row(row * r.cols, r.cols, vec, threadIdx.x, blockDim.x, [&](auto w, int64_t i, int64_t) {
        constexpr int V = decltype(w)::value;
        float v[V];
        [[maybe_unused]] float u[V];
        load_vec<V>(a, i, v);
        if constexpr (!applies) load_vec<V>(b, i, u);
#pragma unroll
        for (int e = 0; e < V; e++) {
            if constexpr (KIND == SOFTMAX) v[e] = expf(v[e] - max) * k;
            if constexpr (KIND == LOG_SOFTMAX) v[e] = v[e] - max - k;
            if constexpr (KIND == SOFTMAX_BWD) v[e] = u[e] * (v[e] - k);
            if constexpr (KIND == LOG_SOFTMAX_BWD) v[e] = v[e] - expf(u[e]) * k;
        }
        store_vec<V>(y, i, v);
    });
}

CUDA_ROW(softmax)
{
    CUDA_TRY(cuda_want_floats(c));
    row_size r = rows_of(c->in[0]);
    bool applies = c->op == HAP_OP_softmax_apply || c->op == HAP_OP_log_softmax_apply;
    CUDA_TRY(stat_fits(r, c->in[2]));
    if (applies) CUDA_TRY(stat_fits(r, c->in[1]));
    if (c->out[0]->elements == 0) return NULL;
    dim3 block = row_block(r.cols), grid((unsigned)ceil_div(r.rows, block.y));
    view y = view_of(c->out[0]), a = view_of(c->in[0]), b = view_of(c->in[1]),
         s = view_of(c->in[2]);
    bool vec = all_aligned(c);
    switch ((int)c->op) {
    case HAP_OP_softmax_apply:
        softmax_row<SOFTMAX><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    case HAP_OP_softmax_bwd:
        softmax_row<SOFTMAX_BWD><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    case HAP_OP_log_softmax_apply:
        softmax_row<LOG_SOFTMAX><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
        break;
    default:
        softmax_row<LOG_SOFTMAX_BWD><<<grid, block, 0, x->stream>>>(r, y, a, b, s, vec);
    }
    return launched();
}

// --- cross entropy: dx = g (softmax(x) - [class = label]) ---

// Rows of x and dx are lx and ly elements apart; dx gets zeros between them.
__global__ void ce_grad(row_size r, int64_t ly, view dx, int64_t lx, view x, view max, view sum,
                        const int64_t *label, view loss_grad, int64_t ignore, cuda_axis v, bool vec)
{
    int64_t row = (int64_t)blockIdx.x * blockDim.y + threadIdx.y;
    if (row >= r.rows) return;
    float g = load(loss_grad, 0), m = load(max, row), k = g / load(sum, row);
    int64_t own = label[row];
    bool none = own == ignore;
    int64_t at = none ? -1 : axis_local(v, own);
    for_row(row * ly, r.cols, vec, threadIdx.x, blockDim.x, [&](auto w, int64_t i, int64_t j) {
        constexpr int V = decltype(w)::value;
        float a[V];
        load_vec<V>(x, row * lx + j, a);
#pragma unroll
        for (int e = 0; e < V; e++)
            a[e] = none ? 0.0f : expf(a[e] - m) * k - (j + e == at ? g : 0.0f);
        store_vec<V>(dx, i, a);
    });
    for (int64_t j = r.cols + threadIdx.x; j < ly; j += blockDim.x)
        store(dx, row * ly + j, 0.0f);
}

CUDA_ROW(ce_bwd)
{
    hap_tensor *dx = c->out[0], *a = c->in[0], *labels = c->in[3];
    CUDA_TRY(cuda_want(labels, HAP_I64, "the labels"));
    if (!cuda_is_float(a->type) || !cuda_is_float(dx->type) || !cuda_is_float(c->in[4]->type))
        return cuda_fail("ce_bwd: logits, gradient and output are not all floats");
    row_size r = rows_of(a);
    CUDA_TRY(stat_fits(r, c->in[1]));
    CUDA_TRY(stat_fits(r, c->in[2]));
    if (labels->elements != r.rows) return cuda_fail("ce_bwd: one label a row is wanted");
    if (dx->elements == 0) return NULL;
    dim3 block = row_block(r.cols), grid((unsigned)ceil_div(r.rows, block.y));
    // Logits in a shadow come of a product, and their gradient goes to its products.
    cuda_rows from, to = {NULL, 0};
    CUDA_TRY(cuda_rows_of(x, a, &from));
    if (from.data != a->data) CUDA_TRY(cuda_rows_new(x, dx, &to));
    if (!to.data) {
        cuda_will_write(x, dx->data, dx->bytes);
        to = {dx->data, r.cols};
    }
    bool vec = aligned(dx) && aligned(a) && (from.ld - to.ld) % 8 == 0;
    ce_grad<<<grid, block, 0, x->stream>>>(
        r, to.ld, {to.data, (int)dx->type}, from.ld, {from.data, (int)a->type}, view_of(c->in[1]),
        view_of(c->in[2]), (const int64_t *)labels->data, view_of(c->in[4]), c->attr[0].i,
        cuda_axis_of(a, a->rank - 1), vec);
    return launched();
}
