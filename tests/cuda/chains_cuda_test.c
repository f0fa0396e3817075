// Chains of the CUDA backend (cuda_chains.h) against the same calls one by one: the same bits, at
// every width that a kernel is made for, in the types that the models bring.

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/float16.h"
#include "core/tensor.h"
#include "cuda/fuse/cuda_record.h"
#include "tests/cuda/chain_calls.h"
#include "tests/support/few.h"
#include "tests/support/run_cuda.h"

typedef struct widths {
    int64_t rows, cols;
} widths;
// Rows of a warp and of a block, of whole vectors and not, and wider than a chain takes.
static const widths sizes[] = {{300, 64},    {1100, 256}, {2048, 512},  {33, 776},    {5000, 768},
                               {700, 1024},  {64, 1280},  {50, 2048},   {4096, 1600}, {301, 1536},
                               {1300, 2056}, {33, 3000},  {601, 4096},  {257, 4104},  {260, 5120},
                               {35, 8192},   {60, 8200},  {100, 12296}, {7, 16384},   {70, 1020},
                               {40, 4100},   {9, 16392}};

static widths size_at(int i)
{
    widths w = sizes[i];
    if (test_few() && w.rows > 70) w.rows = 70;
    return w;
}

static bool norm_takes(int64_t cols)
{
    return cols % CUDA_NORM_VECTOR == 0 && cols <= CUDA_NORM_COLUMNS;
}

static hap_tensor *add_calls(chain_calls *s, hap_dtype a, hap_dtype b, int64_t rows, int64_t cols)
{
    hap_op_call *c = chain_call(s, HAP_OP_add, 1, 2);
    c->in[0] = chain_tensor(a, rows, cols, -1, 1), c->in[1] = chain_tensor(b, rows, cols, -1, 1);
    return c->out[0] = chain_tensor(HAP_F32, rows, cols, 0, 0);
}

enum { N_SIZES = sizeof sizes / sizeof *sizes };

// A norm's application to x: layer norm's, or RMS norm's, which has no row sum and no bias.
static void applied(hap_op_call *c, bool rms, hap_tensor *x, hap_tensor *sum, hap_tensor *m2)
{
    int64_t cols = x->local[1], n = 0;
    c->op = rms ? HAP_OP_rms_apply : HAP_OP_norm_apply;
    c->in[n++] = x;
    if (!rms) c->in[n++] = sum;
    c->in[n++] = m2;
    c->in[n++] = chain_tensor(HAP_F32, cols, 0, .5, 1.5);
    if (!rms) c->in[n++] = chain_tensor(HAP_F32, cols, 0, -1, 1);
    c->n_in = (int)n, c->n_attr = 1, c->attr[0].f = 1e-5;
}

START_TEST(norms_forward)
{
    static const hap_dtype types[][2] = {{HAP_F32, HAP_BF16}, {HAP_BF16, HAP_F32},
                                         {HAP_F32, HAP_F32},  {HAP_F32, HAP_I64},
                                         {HAP_BF16, HAP_F32}, {HAP_F32, HAP_F32}};
    widths w = size_at(_i / 2);
    bool rms = _i % 2;
    for (int k = 0; k < 6; k++) { // 3: no sum before; 4 and 5: of what another norm makes
        chain_calls s = {.n = 0};
        hap_op_call *again = k > 3 ? chain_call(&s, HAP_OP_norm_apply, 1, 5) : NULL;
        hap_tensor *x = types[k][1] == HAP_I64
                            ? chain_tensor(HAP_F32, w.rows, w.cols, -1, 2)
                            : add_calls(&s, types[k][0], types[k][1], w.rows, w.cols);
        if (again) {
            applied(again, rms, chain_tensor(HAP_F32, w.rows, w.cols, -1, 2),
                    rms ? NULL : chain_tensor(HAP_F32, w.rows, 0, -.2, .2),
                    chain_tensor(HAP_F32, w.rows, 0, (double)w.cols, 2 * (double)w.cols));
            hap_op_call *add = again + 1;
            if (k == 5) { // a sum has no order
                hap_tensor *swap = add->in[0];
                add->in[0] = add->in[1], add->in[1] = swap;
            }
            again->out[0] = add->in[k == 5 ? 0 : 1];
        }
        hap_op_call *sum = rms ? NULL : chain_call(&s, HAP_OP_row_sum, 1, 1);
        hap_op_call *m2 = chain_call(&s, rms ? HAP_OP_row_sq : HAP_OP_row_m2, 1, rms ? 1 : 2);
        hap_op_call *apply = chain_call(&s, HAP_OP_norm_apply, 1, 5);
        m2->in[0] = x;
        m2->out[0] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
        if (sum) sum->in[0] = x, sum->out[0] = m2->in[1] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
        applied(apply, rms, x, sum ? sum->out[0] : NULL, m2->out[0]);
        apply->out[0] = chain_tensor(k % 2 ? HAP_BF16 : HAP_F32, w.rows, w.cols, 0, 0);
        if (k % 2 == 0) {
            hap_op_call *cast = chain_call(&s, HAP_OP_cast, 1, 1);
            cast->in[0] = apply->out[0];
            cast->out[0] = chain_tensor(HAP_BF16, w.rows, w.cols, 0, 0);
        }
        chain_both_ways(&s, cuda_norm_chain, "a norm", w.cols, norm_takes(w.cols));
    }
}
END_TEST

START_TEST(norms_backward)
{
    // Gradient, what is added to it before, what is added to the result.
    static const struct {
        hap_dtype dy, before, more;
    } types[] = {{HAP_BF16, HAP_I64, HAP_I64}, {HAP_BF16, HAP_I64, HAP_F32},
                 {HAP_F32, HAP_I64, HAP_I64},  {HAP_F32, HAP_I64, HAP_F32},
                 {HAP_F32, HAP_BF16, HAP_I64}, {HAP_BF16, HAP_F32, HAP_I64},
                 {HAP_F32, HAP_F32, HAP_I64}};
    widths w = size_at(_i / 2);
    bool rms = _i % 2;
    int n_stats = rms ? 1 : 2, n_in = 2 + n_stats; // gradient, input, statistics
    for (int twice = 0; twice < 14; twice++) {
        const int k = twice % 7;
        const bool only_last = twice >= 7; // the norm's gradient is read by the chain alone
        chain_calls s = {.n = 0};
        hap_tensor *dy = types[k].before == HAP_I64
                             ? chain_tensor(types[k].dy, w.rows, w.cols, -1, 1)
                             : add_calls(&s, types[k].dy, types[k].before, w.rows, w.cols);
        hap_tensor *x = chain_tensor(HAP_F32, w.rows, w.cols, -1, 2);
        hap_tensor *sum = rms ? NULL : chain_tensor(HAP_F32, w.rows, 0, -.2, .2),
                   *weight = chain_tensor(HAP_F32, w.cols, 0, .5, 1.5);
        hap_tensor *m2 = chain_tensor(HAP_F32, w.rows, 0, (double)w.cols, 2 * (double)w.cols);
        hap_op_call *stats =
            chain_call(&s, rms ? HAP_OP_rms_bwd_stats : HAP_OP_norm_bwd_stats, n_stats, n_in + 1);
        hap_op_call *bwd =
            chain_call(&s, rms ? HAP_OP_rms_bwd : HAP_OP_norm_bwd, 1, n_in + n_stats + 1);
        hap_op_call *both[] = {stats, bwd};
        for (int i = 0; i < 2; i++) {
            both[i]->in[0] = dy, both[i]->in[1] = x, both[i]->in[n_in - 1] = m2;
            if (sum) both[i]->in[2] = sum;
            both[i]->n_attr = 1, both[i]->attr[0].f = 1e-5;
        }
        stats->in[n_in] = bwd->in[n_in + n_stats] = weight;
        for (int i = 0; i < n_stats; i++)
            stats->out[i] = bwd->in[n_in + i] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
        hap_tensor *dx = bwd->out[0] = chain_tensor(HAP_F32, w.rows, w.cols, 0, 0);
        if (k != 2) {
            hap_op_call *params =
                chain_call(&s, rms ? HAP_OP_rms_bwd_params : HAP_OP_norm_bwd_params, n_stats, n_in);
            memcpy(params->in, stats->in, (size_t)n_in * sizeof *params->in);
            params->n_attr = 1, params->attr[0].f = 1e-5;
            for (int i = 0; i < n_stats; i++)
                params->out[i] = chain_tensor(HAP_F32, w.cols, 0, 0, 0);
        }
        if (types[k].more == HAP_F32) {
            hap_op_call *add = chain_call(&s, HAP_OP_add, 1, 2);
            add->in[k % 2] = dx, add->in[1 - k % 2] = chain_tensor(HAP_F32, w.rows, w.cols, -1, 1);
            dx = add->out[0] = chain_tensor(HAP_F32, w.rows, w.cols, 0, 0);
        }
        if (k != 3) {
            hap_op_call *cast = chain_call(&s, HAP_OP_cast, 1, 1);
            cast->in[0] = dx;
            dx = cast->out[0] = chain_tensor(HAP_BF16, w.rows, w.cols, 0, 0);
        }
        if (k != 1) {
            static const int64_t rows[] = {0};
            hap_op_call *total = chain_call(&s, HAP_OP_sum, 1, 1);
            total->in[0] = dx;
            total->n_attr = 2, total->attr[0].v = (hap_ints){1, rows};
            total->out[0] = chain_tensor(HAP_F32, w.cols, 0, 0, 0);
        }
        chain_not_read = k % 2 ? 1u << (stats - s.c) : 0;
        if (only_last && dx != bwd->out[0]) chain_not_read |= 1u << (bwd - s.c);
        chain_both_ways(&s, cuda_norm_bwd_chain, "a norm's gradient", w.cols, norm_takes(w.cols));
        chain_not_read = 0;
    }
}
END_TEST

START_TEST(slopes)
{
    static const int64_t rows[] = {0};
    static const hap_op_id ops[] = {HAP_OP_gelu_bwd, HAP_OP_gelu_bwd, HAP_OP_relu_bwd,
                                    HAP_OP_tanh_bwd, HAP_OP_silu_bwd};
    static const widths of[] = {{40, 8}, {1500, 64}, {3001, 768}, {257, 3072}};
    for (int k = 0; k < 12; k++) {
        widths w = of[k % 4];
        hap_dtype type = k / 4 == 1 ? HAP_F32 : HAP_BF16;
        chain_calls s = {.n = 0};
        hap_op_call *c = chain_call(&s, ops[_i], 1, 2), *sum = chain_call(&s, HAP_OP_sum, 1, 1);
        c->in[0] = chain_tensor(type, w.rows, w.cols, -1, 1),
        c->in[1] = chain_tensor(type, w.rows, w.cols, -6, 6);
        if (_i < 2) c->n_attr = 1, c->attr[0].i = _i;
        c->out[0] = sum->in[0] = chain_tensor(k / 4 == 2 ? HAP_F32 : type, w.rows, w.cols, 0, 0);
        sum->n_attr = 2, sum->attr[0].v = (hap_ints){1, rows};
        sum->out[0] = chain_tensor(HAP_F32, w.cols, 0, 0, 0);
        chain_same_bits(&s, cuda_slope_chain, "a gradient of points", w.cols);
    }
}
END_TEST

// Rows that start off a vector, as those of an odd width without padding, are not taken.
START_TEST(cross_entropy)
{
    static const widths of[] = {{70, 2056},   {30, 20016}, {9, 15264}, {200, 4104},
                                {1100, 4104}, {30, 20011}, {9, 15262}, {200, 4099}};
    enum { N = sizeof of / sizeof *of };
    for (int k = 0; k < 2 * N; k++) {
        widths w = of[k % N];
        hap_dtype type = k < N ? HAP_BF16 : HAP_F32;
        chain_calls s = {.n = 0};
        hap_op_call *max = chain_call(&s, HAP_OP_row_max, 1, 1),
                    *sum = chain_call(&s, HAP_OP_row_expsum, 1, 2);
        max->in[0] = sum->in[0] = chain_tensor(type, w.rows, w.cols, -8, 8);
        max->out[0] = sum->in[1] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
        sum->out[0] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
        if (_i) {
            hap_op_call *grad = chain_call(&s, HAP_OP_ce_bwd, 1, 5);
            grad->in[0] = max->in[0], grad->in[1] = max->out[0], grad->in[2] = sum->out[0];
            grad->in[3] = chain_tensor(HAP_I64, w.rows, 0, 0, (double)w.cols);
            ((int64_t *)grad->in[3]->data)[1] = -100; // ignored
            grad->in[4] = chain_tensor(HAP_F32, 1, 0, .01, .02);
            grad->n_attr = 1, grad->attr[0].i = -100;
            grad->out[0] = chain_tensor(type, w.rows, w.cols, 0, 0);
        }
        chain_both_ways(&s, cuda_ce_chain, "cross entropy", w.cols, w.cols % 8 == 0);
    }
}
END_TEST

// Rows that no block's shared memory holds: sums are near, and gradients up to a rounding to 16
// bits.
START_TEST(cross_entropy_wide)
{
    static const widths of[] = {{140, 151936}, {3, 128256}, {4, 116504}, {3, 256000}};
    widths w = of[_i / 2];
    if (_i % 2 == 0 && w.rows > 5) w.rows = 5; // many rows once
    chain_calls s = {.n = 0};
    hap_op_call *max = chain_call(&s, HAP_OP_row_max, 1, 1),
                *sum = chain_call(&s, HAP_OP_row_expsum, 1, 2);
    hap_tensor *x = max->in[0] = sum->in[0] = chain_tensor(HAP_BF16, w.rows, w.cols, -8, 8),
               *dx = NULL;
    for (int64_t k = 0; k < w.cols / 3; k++) // words that nobody says
        ((uint16_t *)x->data)[2 * w.cols + k] = hap_f32_to_bf16(-INFINITY);
    // A maximum far above all else, of the widest row where that is read again: exponentials are
    // off by 3e-5 of themselves then, and their sum by as much, however often it moves on.
    ((uint16_t *)x->data)[w.cols / 8 * 5] = hap_f32_to_bf16(1000);
    hap_tensor *most = max->out[0] = sum->in[1] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
    hap_tensor *total = sum->out[0] = chain_tensor(HAP_F32, w.rows, 0, 0, 0);
    if (_i % 2) {
        hap_op_call *grad = chain_call(&s, HAP_OP_ce_bwd, 1, 5);
        grad->in[0] = x, grad->in[1] = most, grad->in[2] = total;
        grad->in[3] = chain_tensor(HAP_I64, w.rows, 0, 0, (double)w.cols);
        ((int64_t *)grad->in[3]->data)[1] = -100;            // ignored
        grad->in[4] = chain_tensor(HAP_F32, 1, 0, 100, 200); // so that gradients are not tiny
        grad->n_attr = 1, grad->attr[0].i = -100;
        dx = grad->out[0] = chain_tensor(HAP_BF16, w.rows, w.cols, 0, 0);
    }
    const char *why = test_cuda_run_all(&chain_now, s.c, s.n);
    ck_assert_msg(!why, "%s", why);
    size_t stat = (size_t)most->bytes, grad = dx ? (size_t)dx->bytes : 0;
    float *want_most = malloc(stat), *want = malloc(stat);
    uint16_t *want_dx = malloc(grad + 1);
    memcpy(want_most, most->data, stat), memcpy(want, total->data, stat);
    if (dx) memcpy(want_dx, dx->data, grad), memset(dx->data, 0x7B, grad);
    memset(most->data, 0x7B, stat), memset(total->data, 0x7B, stat);
    bool done = false;
    why = test_cuda_run_chain(&chain_now, s.c, s.n, cuda_ce_chain, &done);
    ck_assert_msg(!why && done, "%lld columns: %s", (long long)w.cols, why ? why : "not taken");
    ck_assert_msg(memcmp(want_most, most->data, stat) == 0, "%lld columns: other maxima",
                  (long long)w.cols);
    for (int64_t i = 0; i < w.rows; i++) {
        double got = (double)((float *)total->data)[i];
        ck_assert_msg(fabs(got - (double)want[i]) <= 1e-5 * (double)want[i],
                      "row %lld of %lld columns sums to %g, not %g", (long long)i,
                      (long long)w.cols, got, (double)want[i]);
    }
    for (int64_t k = 0; dx && k < dx->elements; k++) {
        double a = (double)hap_bf16_to_f32(want_dx[k]),
               b = (double)hap_bf16_to_f32(((uint16_t *)dx->data)[k]);
        ck_assert_msg(fabs(a - b) <= 0x1p-7 * fabs(a), "column %lld of %lld: gradient %g, not %g",
                      (long long)k, (long long)w.cols, b, a);
    }
    free(want_most), free(want), free(want_dx);
    for (int k = 0; k < s.n; k++)
        for (int i = 0; i < s.c[k].n_in + s.c[k].n_out; i++) {
            hap_tensor *t = i < s.c[k].n_in ? s.c[k].in[i] : s.c[k].out[i - s.c[k].n_in];
            free(t->data);
            t->data = NULL;
        }
}
END_TEST

START_TEST(sums)
{
    static const int64_t rows[] = {0};
    widths w = size_at(_i);
    chain_calls s = {.n = 0};
    for (int k = 0; k < 3; k++) {
        hap_op_call *c = chain_call(&s, HAP_OP_sum, 1, 1);
        c->in[0] = chain_tensor(_i % 2 ? HAP_BF16 : HAP_F32, w.rows, w.cols, -1, 1);
        c->n_attr = 2, c->attr[0].v = (hap_ints){1, rows};
        c->out[0] = chain_tensor(HAP_F32, w.cols, 0, 0, 0);
    }
    chain_same_bits(&s, cuda_sums_chain, "sums", w.cols);
}
END_TEST

START_TEST(casts)
{
    chain_calls s = {.n = 0};
    for (int k = 0; k < 9; k++) {
        hap_op_call *c = chain_call(&s, HAP_OP_cast, 1, 1);
        c->in[0] = chain_tensor(k % 4 == 3 ? HAP_BF16 : HAP_F32, 1 + 57 * k * k * k, 0, -3, 3);
        c->out[0] = chain_tensor(k % 4 == 3 ? HAP_F32 : HAP_BF16, 1 + 57 * k * k * k, 0, 0, 0);
    }
    chain_same_bits(&s, cuda_cast_chain, "casts", 0);
}
END_TEST

// Sums of the rows of dy that have one index, the same added to another tensor: sorted with long
// runs and short ones, among few indices, into few rows.
START_TEST(lookups)
{
    static const struct {
        int64_t n, rows, cols, hot; // hot: of the indices are 1
    } of[] = {{5000, 700, 64, 900}, {3000, 5000, 768, 0}, {300, 200, 768, 70},
              {128, 128, 33, 0},    {6000, 2, 776, 4000}, {2000, 4, 33, 10}};
    chain_calls s = {.n = 0};
    hap_op_call *c = chain_call(&s, HAP_OP_embedding_bwd, 1, 2);
    int64_t n = of[_i].n, rows = of[_i].rows, cols = of[_i].cols;
    hap_tensor *dy = chain_tensor(_i % 2 ? HAP_BF16 : HAP_F32, n, cols, -1, 1);
    hap_tensor *id = chain_tensor(HAP_I64, n, 0, 0, (double)rows);
    for (int64_t i = 0; i < of[_i].hot; i++)
        ((int64_t *)id->data)[i * (n / of[_i].hot)] = 1;
    c->in[0] = dy, c->in[1] = id;
    hap_tensor *y = c->out[0] = chain_tensor(HAP_F32, rows, cols, 0, 0);
    double *sum = calloc((size_t)(rows * cols), sizeof *sum);
    for (int64_t i = 0; i < n * cols; i++) {
        double v = dy->type == HAP_F32 ? (double)((float *)dy->data)[i]
                                       : (double)hap_bf16_to_f32(((uint16_t *)dy->data)[i]);
        sum[((int64_t *)id->data)[i / cols] * cols + i % cols] += v;
    }
    const char *why = test_cuda_run(&chain_now, c);
    ck_assert_msg(!why, "%s", why);
    for (int64_t i = 0; i < rows * cols; i++)
        ck_assert_double_eq_tol((double)((float *)y->data)[i], sum[i], 2e-4);
    free(sum);
    hap_op_call *add = chain_call(&s, HAP_OP_add, 1, 2);
    add->in[_i % 2] = y, add->in[1 - _i % 2] = chain_tensor(HAP_F32, rows, cols, -1, 1);
    add->out[0] = chain_tensor(HAP_F32, rows, cols, 0, 0);
    chain_both_ways(&s, cuda_lookup_chain, "a lookup's gradient", cols, rows > 4 || n <= 1024);
}
END_TEST

static hap_tensor *heads(hap_tensor *t, int64_t b, int64_t s, int64_t e)
{
    t->rank = e ? 4 : 3;
    t->local[0] = b, t->local[1] = 1, t->local[2] = s, t->local[3] = e;
    for (int d = 0; d < t->rank; d++)
        t->dim[d] = WHOLE(t->local[d]);
    return t;
}

// Attention's gradient with the sums of its rows: the same gradients, and their sums as stored, by
// the kernel of few positions and beside cuDNN's.
START_TEST(attention_sums)
{
    static const int64_t positions[] = {128, 77, 160}, b = 5, e = 64;
    int64_t s = positions[_i], rows = b * s;
    hap_op_call f = {.op = HAP_OP_sdpa, .n_out = 2, .n_in = 3, .n_attr = 4};
    for (int k = 0; k < 3; k++)
        f.in[k] = heads(chain_tensor(HAP_BF16, rows, e, -1, 1), b, s, e);
    f.out[0] = heads(chain_tensor(HAP_BF16, rows, e, 0, 0), b, s, e);
    f.out[1] = heads(chain_tensor(HAP_F32, rows, 0, 0, 0), b, s, 0);
    const char *why = test_cuda_run(&chain_now, &f);
    ck_assert_msg(!why, "%s", why);
    hap_op_call c = {.op = HAP_OP_sdpa_bwd, .n_out = 3, .n_in = 6, .n_attr = 4};
    c.in[0] = heads(chain_tensor(HAP_BF16, rows, e, -1, 1), b, s, e);
    memcpy(c.in + 1, f.in, 3 * sizeof *f.in);
    c.in[4] = f.out[0], c.in[5] = f.out[1];
    hap_tensor *grad[3];
    for (int k = 0; k < 3; k++)
        c.out[k] = grad[k] = heads(chain_tensor(HAP_BF16, rows, e, 0, 0), b, s, e);
    why = test_cuda_run(&chain_now, &c);
    ck_assert_msg(!why, "%s", why);
    for (int k = 0; k < 3; k++)
        c.out[k] = heads(chain_tensor(HAP_BF16, rows, e, 0, 0), b, s, e);
    hap_tensor *total = c.out[c.n_out++] = chain_tensor(HAP_F32, 3 * e, 0, 0, 0);
    why = test_cuda_run(&chain_now, &c);
    ck_assert_msg(!why, "%s", why);
    for (int k = 0; k < 3; k++) {
        const uint16_t *x = c.out[k]->data;
        ck_assert(memcmp(x, grad[k]->data, (size_t)grad[k]->bytes) == 0);
        for (int64_t j = 0; j < e; j++) {
            double sum = 0;
            for (int64_t i = 0; i < rows; i++)
                sum += (double)hap_bf16_to_f32(x[i * e + j]);
            ck_assert_double_eq_tol((double)((float *)total->data)[k * e + j], sum, 2e-4);
        }
    }
}
END_TEST

// Updates that write copies: the chain's parameters are those of single updates, and copies are
// what a cast makes of them.
START_TEST(updates_with_copies)
{
    chain_calls s = {.n = 0};
    hap_tensor *w[3], *alone[3];
    for (int k = 0; k < 3; k++) {
        int64_t n = 1 + 4001 * k;
        hap_op_call *c = chain_call(&s, HAP_OP_adam, 3 + (k != 1), 4);
        for (int i = 0; i < 4; i++)
            c->in[i] = chain_tensor(i == 3 && k ? HAP_BF16 : HAP_F32, n, 0, i == 2 ? 0 : -1, 1);
        memcpy(c->out, c->in, 3 * sizeof *c->in);
        if (k != 1) c->out[3] = chain_tensor(HAP_BF16, n, 0, 0, 0);
        c->n_attr = 6;
        c->attr[0].f = 1, c->attr[1].f = .9, c->attr[2].f = .95, c->attr[3].f = 1e-8;
        c->attr[4].f = .1, c->attr[5].i = 1;
        w[k] = c->in[0];
        hap_op_call single = *c;
        for (int i = 0; i < 3; i++) { // copies of what it starts from
            single.in[i] = single.out[i] = chain_tensor(HAP_F32, n, 0, 0, 0);
            memcpy(single.in[i]->data, c->in[i]->data, (size_t)c->in[i]->bytes);
        }
        single.n_out = 3;
        alone[k] = single.in[0];
        const char *why = test_cuda_run(&chain_now, &single);
        ck_assert_msg(!why, "%s", why);
    }
    bool done = false;
    const char *why = test_cuda_run_chain(&chain_now, s.c, s.n, cuda_update_chain, &done);
    ck_assert_msg(!why && done, "%s", why ? why : "not taken");
    for (int k = 0; k < 3; k++) {
        const float *x = w[k]->data;
        ck_assert(memcmp(x, alone[k]->data, (size_t)w[k]->bytes) == 0);
        for (int64_t i = 0; k != 1 && i < w[k]->elements; i++)
            ck_assert_uint_eq(((uint16_t *)s.c[k].out[3]->data)[i], hap_f32_to_bf16(x[i]));
    }
}
END_TEST

// An update of n elements. Every third parameter has a copy, every second gradient is bf16, and
// some lie off a vector. Rates are those of one of n_rates groups.
static hap_op_call update(hap_op_id op, int k, int64_t n, int n_rates, hap_tensor *clip)
{
    int places = cuda_update_places(op), group = k % n_rates;
    hap_op_call c = {.op = op, .n_out = places, .n_in = places + 1};
    for (int i = 0; i <= places; i++)
        c.in[i] = chain_tensor(i == places && k % 2 ? HAP_BF16 : HAP_F32, n, 0, i == 2 ? 0 : -1, 1);
    if (k % 7 == 3) {
        hap_tensor *t = c.in[k % (places + 1)];
        int64_t by = hap_dtype_bytes(t->type);
        char *more = malloc((size_t)(t->bytes + by));
        memcpy(more + by, t->data, (size_t)t->bytes);
        t->data = more + by;
    }
    memcpy(c.out, c.in, (size_t)places * sizeof *c.out);
    if (k % 3 == 1) c.out[c.n_out++] = chain_tensor(k % 2 ? HAP_BF16 : HAP_F16, n, 0, 0, 0);
    if (clip && group != 1) c.in[c.n_in++] = clip;
    double scale = 1 + group / 2 * .25, wd = group % 2 ? 0 : .1;
    hap_attr adam[] = {{.f = scale}, {.f = .9}, {.f = .95},
                       {.f = 1e-8},  {.f = wd}, {.i = group % 3 > 0}};
    hap_attr momentum[] = {{.f = scale}, {.f = .9}, {.i = group % 3 > 0}, {.f = wd}};
    hap_attr sgd[] = {{.f = scale}, {.f = wd}};
    c.n_attr = op == HAP_OP_adam ? 6 : op == HAP_OP_momentum ? 4 : 2;
    memcpy(c.attr,
           op == HAP_OP_adam       ? adam
           : op == HAP_OP_momentum ? momentum
                                   : sgd,
           (size_t)c.n_attr * sizeof *c.attr);
    return c;
}

static void *bytes_of(const hap_tensor *t)
{
    return memcpy(malloc((size_t)t->bytes + 1), t->data, (size_t)t->bytes);
}

// Hundreds of updates at rates of two groups in one launch, of each kind; more of all kinds, at
// more rates, than a launch takes: the bits of single updates.
START_TEST(many_updates)
{
    static const hap_op_id kinds[] = {HAP_OP_adam, HAP_OP_momentum, HAP_OP_sgd};
    static const int64_t lengths[] = {1, 768, 0, 7, 2304, 4800, 8, 33, 4097, 70001, 15};
    enum { ONE = 590, MORE = 900, N_LENGTHS = sizeof lengths / sizeof *lengths, MOST_OUT = 4 };
    int n = _i < 3 ? ONE : MORE;
    hap_op_call *c = calloc(MORE, sizeof *c);
    void *(*start)[MOST_OUT] = calloc(MORE, sizeof *start),
         *(*one)[MOST_OUT] = calloc(MORE, sizeof *one);
    hap_tensor *clip = chain_tensor(HAP_F32, 1, 0, .3, .9);
    test_cuda_keep_offsets(true);
    for (int k = 0; k < n; k++) {
        c[k] = update(_i < 3 ? kinds[_i] : kinds[k / 2 % 3], k,
                      k == 60 ? 3000001 : lengths[k % N_LENGTHS], _i < 3 ? 2 : 20, clip);
        for (int o = 0; o < c[k].n_out; o++)
            start[k][o] = bytes_of(c[k].out[o]);
        const char *why = test_cuda_run(&chain_now, &c[k]);
        ck_assert_msg(!why, "%s", why);
        for (int o = 0; o < c[k].n_out; o++) {
            one[k][o] = bytes_of(c[k].out[o]);
            memcpy(c[k].out[o]->data, start[k][o], (size_t)c[k].out[o]->bytes);
        }
    }
    bool done = false;
    const char *why = test_cuda_run_chain(&chain_now, c, n, cuda_update_chain, &done);
    ck_assert_msg(!why && done, "%s", why ? why : "not taken");
    test_cuda_keep_offsets(false);
    for (int k = 0; k < n; k++)
        for (int o = 0; o < c[k].n_out; o++) {
            const hap_tensor *t = c[k].out[o];
            bool changed = memcmp(t->data, start[k][o], (size_t)t->bytes) != 0;
            ck_assert_msg(changed || t->bytes == 0, "update %d leaves output %d as it was", k, o);
            ck_assert_msg(memcmp(t->data, one[k][o], (size_t)t->bytes) == 0,
                          "output %d of update %d differs", o, k);
            free(start[k][o]), free(one[k][o]);
        }
    free(c), free(start), free(one);
}
END_TEST

// The norm of gradients: sums of squares of tensors of any size and type, each added to the sum
// before; a number from elsewhere comes first, one that is 0 in between, and the sums alternate
// between two places.
START_TEST(squares)
{
    static const int64_t lengths[] = {2600000, 1, 4800, 70001, 0, 1600, 300000};
    enum { N = sizeof lengths / sizeof *lengths };
    chain_calls s = {.n = 0};
    hap_tensor *total = chain_tensor(HAP_F32, 1, 0, 1, 2), *square[N], *place[2];
    for (int k = 0; k < 2; k++)
        place[k] = chain_tensor(HAP_F32, 1, 0, 0, 0);
    for (int k = 0; k < N; k++) {
        hap_op_call *c = chain_call(&s, HAP_OP_sumsq, 1, 1);
        c->in[0] = chain_tensor(k % 3 == 2 ? HAP_BF16 : HAP_F32, lengths[k], 0, -1, 1);
        square[k] = c->out[0] = chain_tensor(HAP_F32, 1, 0, 0, 0);
        if (k == 5) square[k] = chain_tensor(HAP_F32, 1, 0, 0, 0); // 0, in place of the sum
        hap_op_call *add = chain_call(&s, HAP_OP_add, 1, 2);
        add->in[k % 2] = total, add->in[1 - k % 2] = square[k];
        total = add->out[0] = _i ? place[k % 2] : chain_tensor(HAP_F32, 1, 0, 0, 0);
    }
    const float *got;
    double want = 0;
    for (int k = 0; k < N; k++)
        for (int64_t i = 0; k != 5 && i < lengths[k]; i++) {
            const hap_tensor *x = s.c[2 * k].in[0];
            double v = x->type == HAP_F32 ? (double)((float *)x->data)[i]
                                          : (double)hap_bf16_to_f32(((uint16_t *)x->data)[i]);
            want += v * v;
        }
    want += (double)*(float *)s.c[1].in[0]->data;
    const char *why = test_cuda_run_all(&chain_now, s.c, s.n);
    ck_assert_msg(!why, "%s", why);
    got = total->data;
    ck_assert_msg(fabs((double)*got - want) < 1e-6 * want, "the sum is %g, not %g", (double)*got,
                  want);
    if (_i == 0) {
        chain_same_bits(&s, cuda_squares_chain, "squares", 0);
        return;
    }
    float one = *got;
    bool done = false;
    why = test_cuda_run_chain(&chain_now, s.c, s.n, cuda_squares_chain, &done);
    ck_assert_msg(!why && done, "%s", why ? why : "not taken");
    ck_assert(memcmp(total->data, &one, sizeof one) == 0);
}
END_TEST

static cuda_head_at turns_at[CUDA_HEAD_ROLES];

static const char *turn_in_place(cuda_context *x, const hap_op_call *const *c, int n,
                                 unsigned unread, bool *done)
{
    (void)n, (void)unread;
    *done = true;
    return cuda_rotary_at(x, c[0], turns_at);
}

// Heads [b, s, h, e] among the columns of a matrix of ld turn in place: the bits of the op on dense
// ones, and what stands beside them stays.
static void turned(int64_t b, int64_t s, int64_t h, int64_t e, int64_t ld, hap_dtype type,
                   bool pairs, bool back)
{
    int64_t width = h * e, elem = hap_dtype_bytes(type);
    hap_tensor *dense = chain_tensor(type, b * s, width, -2, 2),
               *y = chain_tensor(type, b * s, width, 0, 0);
    hap_tensor *among = chain_tensor(type, b * s, ld, -2, 2), *table[2];
    for (int k = 0; k < 2; k++) {
        table[k] = chain_tensor(HAP_F32, s, e, -1, 1);
        table[k]->rank = 3, table[k]->local[1] = 1, table[k]->local[2] = e;
    }
    hap_tensor *const heads[] = {dense, y, among};
    for (int k = 0; k < 3; k++) {
        hap_tensor *t = heads[k];
        const int64_t local[] = {b, s, h, e};
        t->rank = 4;
        for (int d = 0; d < 4; d++)
            t->local[d] = local[d], t->dim[d] = WHOLE(local[d]);
        t->elements = b * s * width;
    }
    among->bytes = ((b * s - 1) * ld + width) * elem;
    for (int64_t i = 0; i < b * s; i++)
        memcpy((char *)dense->data + i * width * elem, (char *)among->data + i * ld * elem,
               (size_t)(width * elem));
    chain_calls one = {0};
    hap_op_call *c = chain_call(&one, HAP_OP_rotary, 1, 3);
    c->n_attr = 2, c->attr[0].i = pairs, c->attr[1].i = back;
    c->in[0] = dense, c->in[1] = table[0], c->in[2] = table[1], c->out[0] = y;
    const char *why = test_cuda_run_all(&chain_now, one.c, 1);
    ck_assert_msg(!why, "%s", why);
    char *want = malloc((size_t)among->bytes);
    memcpy(want, among->data, (size_t)among->bytes);
    for (int64_t i = 0; i < b * s; i++)
        memcpy(want + i * ld * elem, (char *)y->data + i * width * elem, (size_t)(width * elem));
    bool done = false;
    turns_at[CUDA_Q] = (cuda_head_at){s * ld, e, ld};
    c->in[0] = c->out[0] = among;
    why = test_cuda_run_chain(&chain_now, one.c, 1, turn_in_place, &done);
    ck_assert_msg(!why, "%s", why);
    ck_assert_msg(memcmp(want, among->data, (size_t)among->bytes) == 0,
                  "heads of %lld x %lld that turn in place: other bits", (long long)h,
                  (long long)e);
    free(want);
    for (int k = 0; k < 3; k++)
        free(heads[k]->data), free(heads[k]);
    for (int k = 0; k < 2; k++)
        free(table[k]->data), free(table[k]);
}

START_TEST(turns)
{
    bool pairs = _i & 1, back = _i & 2;
    turned(2, 33, 16, 64, 18 * 64, HAP_BF16, pairs, back);
    turned(3, 7, 6, 8, 64, HAP_BF16, pairs, back);
    turned(1, 5, 3, 6, 23, HAP_BF16, pairs, back); // no vectors
    turned(2, 9, 4, 32, 4 * 32, HAP_F32, pairs, back);
    turned(2, 9, 5, 16, 96, HAP_BF16, pairs, back); // heads that no thread's share divides
}
END_TEST

static TCase *kind(Suite *suite, const char *name)
{
    TCase *t = tcase_create(name);
    tcase_set_timeout(t, 120);
    suite_add_tcase(suite, t);
    return t;
}

int main(void)
{
    const char *given = getenv("HAP_TEST_OPTIONS"); // what it says of tiles holds
    char options[512];
    snprintf(options, sizeof options, "--cuda tiles=all %s", given ? given : "");
    setenv("HAP_TEST_OPTIONS", options, 1);
    Suite *suite = suite_create("chains_cuda");
    TCase *t = kind(suite, "norms");
    tcase_add_loop_test(t, norms_forward, 0, 2 * N_SIZES);
    tcase_add_loop_test(t, norms_backward, 0, 2 * N_SIZES);
    t = kind(suite, "sums and points");
    tcase_add_loop_test(t, slopes, 0, 5);
    tcase_add_loop_test(t, sums, 0, 8);
    chains_of_batch_norms(t);
    tcase_add_test(t, casts);
    tcase_add_loop_test(t, turns, 0, 4);
    tcase_add_loop_test(t, lookups, 0, 6);
    t = kind(suite, "updates");
    tcase_add_test(t, updates_with_copies);
    tcase_add_loop_test(t, many_updates, 0, 4);
    tcase_add_loop_test(t, squares, 0, 2);
    t = kind(suite, "heads");
    if (!test_few()) tcase_add_loop_test(t, attention_sums, 0, 3);
    chains_of_matmuls(kind(suite, "matmuls"));
    t = kind(suite, "cross entropy");
    tcase_add_loop_test(t, cross_entropy, 0, 2);
    tcase_add_loop_test(t, cross_entropy_wide, 0, 8);
    SRunner *r = srunner_create(suite);
    srunner_set_fork_status(r, CK_NOFORK); // a CUDA context does not survive a fork
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed > 0;
}
