// Chains of batch norms.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/tensor.h"
#include "cuda/fuse/cuda_record.h"
#include "tests/cuda/chain_calls.h"
#include "tests/support/run_cuda.h"

// [images, channels, places]
static hap_tensor *images(hap_dtype type, const int64_t *size, double lo, double hi)
{
    hap_tensor *t = chain_tensor(type, size[0] * size[1], size[2], lo, hi);
    t->rank = 3;
    for (int d = 0; d < 3; d++)
        t->local[d] = size[d], t->dim[d] = WHOLE(size[d]);
    return t;
}

static const int64_t batches[][3] = {{40, 64, 49},   {9, 33, 130}, {300, 72, 1},
                                     {4, 200, 3000}, {1, 16, 70},  {70, 1, 40}};
enum { N_BATCHES = sizeof batches / sizeof *batches };

static hap_op_call *batch_applied(chain_calls *s, hap_dtype type, const int64_t *size)
{
    hap_op_call *c = chain_call(s, HAP_OP_batch_apply, 1, 5);
    c->n_attr = 1, c->attr[0].f = 1e-5;
    c->in[0] = images(type, size, -1, 2);
    c->in[1] = chain_tensor(HAP_F32, size[1], 0, -10, 10);
    c->in[2] = chain_tensor(HAP_F32, size[1], 0, 1000, 3000);
    c->in[3] = chain_tensor(HAP_F32, size[1], 0, .5, 1.5);
    c->in[4] = chain_tensor(HAP_F32, size[1], 0, -1, 1);
    c->out[0] = images(type, size, 0, 0);
    return c;
}

// Batch norm, relu and a sum before it, of operands as declared and channels last; of the sum in
// either place.
START_TEST(batch_norms)
{
    const int64_t *size = batches[_i / 12];
    hap_dtype type = _i % 2 ? HAP_F32 : HAP_BF16;
    int adds = _i / 4 % 3;
    chain_calls s = {.n = 0};
    hap_tensor *y = batch_applied(&s, type, size)->out[0];
    if (adds) {
        hap_op_call *add = chain_call(&s, HAP_OP_add, 1, 2);
        add->in[adds - 1] = y, add->in[2 - adds] = images(type, size, -1, 2);
        y = add->out[0] = images(type, size, 0, 0);
    }
    if (adds < 2) {
        hap_op_call *relu = chain_call(&s, HAP_OP_relu, 1, 1);
        relu->in[0] = y, relu->out[0] = images(type, size, 0, 0);
    }
    test_cuda_channels_last(_i / 2 % 2);
    chain_same_bits(&s, cuda_batch_chain, "batch norm, a sum, relu", size[1]);
    test_cuda_channels_last(false);
}
END_TEST

// The gradient of relu, alone or of a sum of two, with the statistics of batch norm behind it.
START_TEST(batch_slopes)
{
    const int64_t *size = batches[_i / 8];
    hap_dtype type = _i % 2 ? HAP_F32 : HAP_BF16;
    bool adds = _i / 4 % 2;
    chain_calls s = {.n = 0};
    hap_tensor *dy = images(type, size, -1, 1);
    if (adds) {
        hap_op_call *add = chain_call(&s, HAP_OP_add, 1, 2);
        add->in[0] = dy, add->in[1] = images(type, size, -1, 1);
        dy = add->out[0] = images(type, size, 0, 0);
    }
    hap_op_call *relu = chain_call(&s, HAP_OP_relu_bwd, 1, 2);
    relu->in[0] = dy, relu->in[1] = images(type, size, -1, 1);
    relu->out[0] = images(type, size, 0, 0);
    hap_op_call *stats = chain_call(&s, HAP_OP_batch_bwd_stats, 2, 4);
    stats->n_attr = 1, stats->attr[0].f = 1e-5;
    stats->in[0] = relu->out[0], stats->in[1] = images(type, size, -1, 2);
    stats->in[2] = chain_tensor(HAP_F32, size[1], 0, -10, 10);
    stats->in[3] = chain_tensor(HAP_F32, size[1], 0, 1000, 3000);
    for (int k = 0; k < 2; k++)
        stats->out[k] = chain_tensor(HAP_F32, size[1], 0, 0, 0);
    chain_not_read = adds;
    test_cuda_channels_last(_i / 2 % 2);
    chain_same_bits(&s, cuda_batch_bwd_chain, "relu's gradient, a batch norm's statistics",
                    size[1]);
    test_cuda_channels_last(false);
    chain_not_read = 0;
}
END_TEST

// The same where relu's slope is told by batch norm's result, made again; with the gradient of
// batch norm and without, whether or not others read that of relu.
START_TEST(batch_slopes_again)
{
    const int64_t *size = batches[_i / 12];
    hap_dtype type = _i % 2 ? HAP_F32 : HAP_BF16;
    int form = _i / 4 % 3;
    chain_calls s = {.n = 0};
    hap_op_call *made = batch_applied(&s, type, size);
    hap_op_call *relu = chain_call(&s, HAP_OP_relu_bwd, 1, 2);
    relu->in[0] = images(type, size, -1, 1), relu->in[1] = made->out[0];
    relu->out[0] = images(type, size, 0, 0);
    hap_op_call *stats = chain_call(&s, HAP_OP_batch_bwd_stats, 2, 4);
    stats->n_attr = 1, stats->attr[0].f = 1e-5;
    stats->in[0] = relu->out[0];
    for (int k = 0; k < 3; k++)
        stats->in[1 + k] = made->in[k];
    for (int k = 0; k < 2; k++)
        stats->out[k] = chain_tensor(HAP_F32, size[1], 0, 0, 0);
    if (form) {
        hap_op_call *bwd = chain_call(&s, HAP_OP_batch_bwd, 1, 7);
        bwd->n_attr = 1, bwd->attr[0].f = 1e-5;
        for (int k = 0; k < 4; k++)
            bwd->in[k] = stats->in[k];
        bwd->in[4] = stats->out[0], bwd->in[5] = stats->out[1], bwd->in[6] = made->in[3];
        bwd->out[0] = images(type, size, 0, 0);
    }
    chain_not_read = form == 2 ? 3 : 1;
    test_cuda_channels_last(_i / 2 % 2);
    chain_same_bits(&s, cuda_batch_bwd_chain, "relu's gradient of a batch norm made again",
                    size[1]);
    test_cuda_channels_last(false);
    chain_not_read = 0;
}
END_TEST

// In one pass, around another number than the mean: near what two passes give, of entries whose
// mean is 30 times their spread.
START_TEST(moments)
{
    const int64_t *size = batches[_i / 4];
    static const int64_t dims[] = {0, 2};
    hap_op_call c[2] = {{.op = HAP_OP_sum, .n_out = 1, .n_in = 1, .n_attr = 2},
                        {.op = HAP_OP_batch_m2, .n_out = 1, .n_in = 2}};
    hap_tensor *x = images(_i % 2 ? HAP_F32 : HAP_BF16, size, 29, 31);
    hap_tensor *sum = chain_tensor(HAP_F32, size[1], 0, 0, 0),
               *m2 = chain_tensor(HAP_F32, size[1], 0, 0, 0);
    float *two = malloc((size_t)(2 * sum->bytes));
    bool done = false, whole = size[0] > 1 && size[1] > 1 && size[2] > 1;
    c[0].attr[0].v = (hap_ints){2, dims};
    c[0].in[0] = c[1].in[0] = x, c[0].out[0] = c[1].in[1] = sum, c[1].out[0] = m2;
    test_cuda_channels_last(_i / 2 % 2);
    ck_assert_ptr_null(test_cuda_run_all(&chain_now, c, 2));
    memcpy(two, sum->data, (size_t)sum->bytes);
    memcpy(two + size[1], m2->data, (size_t)m2->bytes);
    memset(sum->data, 0x7B, (size_t)sum->bytes), memset(m2->data, 0x7B, (size_t)m2->bytes);
    ck_assert_ptr_null(test_cuda_run_chain(&chain_now, c, 2, cuda_moments_chain, &done));
    test_cuda_channels_last(false);
    ck_assert_int_eq(done, whole);
    for (int64_t k = 0; done && k < 2 * size[1]; k++) {
        const hap_tensor *of = k < size[1] ? sum : m2;
        double is = (double)((const float *)of->data)[k % size[1]], want = (double)two[k];
        ck_assert_msg(fabs(is - want) <= 1e-5 * fabs(want), "%s of channel %lld: %g, not %g",
                      k < size[1] ? "sum" : "squares", (long long)(k % size[1]), is, want);
    }
    free(two);
    hap_tensor *all[] = {x, sum, m2};
    for (int k = 0; k < 3; k++)
        free(all[k]->data), free(all[k]);
}
END_TEST

void chains_of_batch_norms(TCase *t)
{
    tcase_add_loop_test(t, batch_norms, 0, 12 * N_BATCHES);
    tcase_add_loop_test(t, batch_slopes, 0, 8 * N_BATCHES);
    tcase_add_loop_test(t, batch_slopes_again, 0, 12 * N_BATCHES);
    tcase_add_loop_test(t, moments, 0, 4 * N_BATCHES);
}
