// A matmul and gelu, or its gradient, or what a gated MLP makes of it, by a tile kernel.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/float16.h"
#include "core/tensor.h"
#include "cuda/fuse/cuda_record.h"
#include "tests/cuda/chain_calls.h"
#include "tests/support/few.h"
#include "tests/support/run_cuda.h"

// Numbers whose products add up exactly, in whatever order.
static hap_tensor *make_exact(int64_t rows, int64_t cols)
{
    hap_tensor *t = chain_tensor(HAP_BF16, rows, cols, 0, 0);
    for (int64_t i = 0; i < t->elements; i++)
        ((uint16_t *)t->data)[i] = hap_f32_to_bf16((float)(int)chain_uniform(-4.99, 4.99) / 16);
    return t;
}

static const char *gelu_alone(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                              bool *done)
{
    return cuda_gelu_chain(x, c, n, unread | 1, done);
}
static const char *slope_alone(cuda_context *x, const hap_op_call *const *c, int n, unsigned unread,
                               bool *done)
{
    return cuda_dense_slope_chain(x, c, n, unread | 1, done);
}

static void near_sums(const hap_tensor *y, const float *sum, const char *what)
{
    int64_t rows = y->local[0], cols = y->local[1];
    for (int64_t k = 0; k < cols; k++) {
        double want = 0, all = 0;
        for (int64_t i = 0; i < rows; i++) {
            double v = (double)hap_bf16_to_f32(((uint16_t *)y->data)[i * cols + k]);
            want += v, all += fabs(v);
        }
        ck_assert_msg(fabs((double)sum[k] - want) <= 1e-6 * all,
                      "%s: column %lld sums to %g, not %g", what, (long long)k, (double)sum[k],
                      want);
    }
}

// One by one, then as a chain that leaves the matmul's own result out where a tile kernel runs it
// and `alone`. The kernel takes all but the last size.
static void in_a_matmul(int64_t rows, int64_t k, int64_t n, int way, bool alone, bool tiles)
{
    chain_calls s = {0};
    const bool nk = way & 1, tanh_form = way & 2, slope = way & 4, last = way & 8;
    const char *what = slope ? "gradient of gelu" : "gelu";
    hap_op_call *linear = chain_call(&s, HAP_OP_linear, 1, slope ? 2 : 3);
    hap_tensor *t = chain_tensor(HAP_BF16, rows, n, 0, 0),
               *y = chain_tensor(HAP_BF16, rows, n, 0, 0), *sum = NULL;
    linear->n_attr = 1, linear->attr[0].i = nk;
    linear->in[0] = make_exact(rows, k);
    linear->in[1] = nk ? make_exact(n, k) : make_exact(k, n);
    if (!slope) linear->in[2] = last ? NULL : chain_tensor(HAP_BF16, n, 0, -1, 1);
    linear->out[0] = t;
    hap_op_call *c = chain_call(&s, slope ? HAP_OP_gelu_bwd : HAP_OP_gelu, 1, slope ? 2 : 1);
    c->n_attr = 1, c->attr[0].i = tanh_form;
    c->in[0] = t, c->out[0] = y;
    if (slope) c->in[1] = chain_tensor(HAP_BF16, rows, n, -3, 3);
    if (slope && last) {
        static const int64_t dims[1] = {0};
        hap_op_call *total = chain_call(&s, HAP_OP_sum, 1, 1);
        total->n_attr = 1, total->attr[0].v = (hap_ints){.n = 1, .v = dims};
        total->in[0] = y, total->out[0] = sum = chain_tensor(HAP_F32, n, 0, 0, 0);
    }
    const char *why = test_cuda_run_all(&chain_now, s.c, s.n);
    ck_assert_msg(!why, "%s: %s", what, why);
    void *one = malloc((size_t)y->bytes), *before = malloc((size_t)t->bytes);
    memcpy(one, y->data, (size_t)y->bytes);
    memcpy(before, t->data, (size_t)t->bytes);
    if (sum) near_sums(y, sum->data, what);
    bool done = false;
    memset(y->data, 0x7B, (size_t)y->bytes);
    memset(t->data, 0x7B, (size_t)t->bytes);
    if (sum) memset(sum->data, 0x7B, (size_t)sum->bytes);
    why = test_cuda_run_chain(&chain_now, s.c, s.n,
                              slope ? (alone ? slope_alone : cuda_dense_slope_chain)
                                    : (alone ? gelu_alone : cuda_gelu_chain),
                              &done);
    ck_assert_msg(!why && done, "%s: %s", what, why ? why : "not taken");
    ck_assert_msg(memcmp(one, y->data, (size_t)y->bytes) == 0, "%s %d: other bits", what, way);
    if (alone && tiles) memset(before, 0x7B, (size_t)t->bytes);
    ck_assert_msg(memcmp(before, t->data, (size_t)t->bytes) == 0,
                  "%s %d: the matmul's own result%s", what, way,
                  alone && tiles ? " is written" : "");
    if (sum) near_sums(y, sum->data, what);
    free(one), free(before);
    for (int i = 0; i < s.n; i++)
        for (int j = 0; j < s.c[i].n_in; j++)
            if (s.c[i].in[j] && s.c[i].in[j] != t && s.c[i].in[j] != y) free(s.c[i].in[j]->data);
    free(t->data), free(y->data);
    if (sum) free(sum->data);
}

START_TEST(matmuls)
{
    const bool tiles = test_cuda_is_hopper();
    in_a_matmul(1024, 256, 768, _i, true, tiles);
    in_a_matmul(1025, 776, 520, _i, true, tiles);
    in_a_matmul(2048, 512, 768, _i, false, tiles);
    in_a_matmul(1024, 512, 516, _i, true, false); // rows of no multiple of 16 bytes
    in_a_matmul(32, 64, 64, _i, true, false);     // too small to be worth it
}
END_TEST

static hap_tensor *point(chain_calls *s, hap_op_id op, hap_tensor *a, hap_tensor *b)
{
    hap_op_call *c = chain_call(s, op, 1, b ? 2 : 1);
    c->in[0] = a, c->in[1] = b;
    return c->out[0] = chain_tensor(HAP_BF16, a->local[0], a->local[1], 0, 0);
}

// Of the results that `read` has a bit of: as calls, then as a chain.
static void same_results(chain_calls *s, unsigned read, const char *what)
{
    void *one[CHAIN_MOST];
    bool done = false;
    const char *why = test_cuda_run_all(&chain_now, s->c, s->n);
    ck_assert_msg(!why, "%s: %s", what, why);
    for (int k = 0; k < s->n; k++) {
        hap_tensor *t = s->c[k].out[0];
        one[k] = malloc((size_t)t->bytes);
        memcpy(one[k], t->data, (size_t)t->bytes);
        memset(t->data, 0x7B, (size_t)t->bytes);
    }
    test_cuda_unread(~read);
    why = test_cuda_run_chain(&chain_now, s->c, s->n, cuda_gated_chain, &done);
    test_cuda_unread(0);
    ck_assert_msg(!why && done, "%s: %s", what, why ? why : "not taken");
    for (int k = 0; k < s->n; k++) {
        const hap_tensor *t = s->c[k].out[0];
        ck_assert_msg(!(read >> k & 1) || memcmp(one[k], t->data, (size_t)t->bytes) == 0,
                      "%s, %lld x %lld: call %d has other bits", what, (long long)t->local[0],
                      (long long)t->local[1], k);
        free(one[k]);
    }
}

static void free_all(chain_calls *s)
{
    for (int k = 0; k < s->n; k++)
        for (int i = 0; i <= s->c[k].n_in; i++) {
            hap_tensor *t = i < s->c[k].n_in ? s->c[k].in[i] : s->c[k].out[0];
            if (!t || !t->data) continue; // named twice
            free(t->data);
            t->data = NULL;
        }
}

// way: 1: the matmul makes the gate; 2: its result is read by others; 4: the gradients, 8: in
// another order.
static void in_a_gated_mlp(int64_t rows, int64_t k, int64_t n, int way)
{
    chain_calls s = {0};
    hap_op_call *linear = chain_call(&s, HAP_OP_linear, 1, 2);
    hap_tensor *t = chain_tensor(HAP_BF16, rows, n, 0, 0),
               *other = chain_tensor(HAP_BF16, rows, n, -9, 9);
    const bool back = way & 4;
    linear->n_attr = 1, linear->attr[0].i = !back;
    linear->in[0] = make_exact(rows, k), linear->in[1] = back ? make_exact(k, n) : make_exact(n, k);
    linear->out[0] = t;
    if (!back) {
        hap_tensor *silu = point(&s, HAP_OP_silu, way & 1 ? t : other, NULL);
        if (way & 8)
            point(&s, HAP_OP_mul, way & 1 ? other : t, silu);
        else
            point(&s, HAP_OP_mul, silu, way & 1 ? other : t);
        same_results(&s, way & 2 ? 5 : 4, "a product with silu");
    } else {
        hap_tensor *up = chain_tensor(HAP_BF16, rows, n, -3, 3), *silu = NULL;
        if (way & 8) silu = point(&s, HAP_OP_silu, other, NULL);
        if (way & 8) point(&s, HAP_OP_mul, silu, t);
        hap_tensor *by_up = way & 1 ? point(&s, HAP_OP_mul, up, t) : point(&s, HAP_OP_mul, t, up);
        point(&s, HAP_OP_silu_bwd, by_up, other);
        if (!silu) point(&s, HAP_OP_mul, t, point(&s, HAP_OP_silu, other, NULL));
        same_results(&s, 1 << 2 | 1 << 4 | (way & 2 ? 1 : 0), "gradients of silu's product");
    }
    free_all(&s);
}

START_TEST(gated)
{
    in_a_gated_mlp(1024, 256, 768, _i);
    in_a_gated_mlp(1025, 776, 520, _i);
    in_a_gated_mlp(2048, 896, 1216, _i);
    in_a_gated_mlp(1024, 512, 516, _i); // rows of no multiple of 16 bytes
    in_a_gated_mlp(32, 64, 64, _i);     // too small to be worth it
}
END_TEST

void chains_of_matmuls(TCase *t)
{
    if (test_few()) return;
    tcase_add_loop_test(t, matmuls, 0, 16);
    tcase_add_loop_test(t, gated, 0, 16);
}
