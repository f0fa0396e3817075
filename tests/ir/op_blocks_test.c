// Kernels past the sizes of their internal blocks, tiles and stripes, against plain loops in
// double; and optimizer steps against numbers from torch.optim (2.13). Small shapes are in
// op_values_test.

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/interp.h"

static uint64_t rng = 99;
static const hap_step_state now = {.step = 0, .lr = 0.1, .seed = 1};

enum { DIMS = 4 };
static hap_tensor make(hap_dtype type, int rank, const int64_t *size)
{
    hap_dim dim[DIMS];
    for (int d = 0; d < rank; d++)
        dim[d] = WHOLE(size[d]);
    hap_tensor t = shard_new(type, rank, dim, NULL);
    for (int64_t i = 0; i < t.elements && type == HAP_F32; i++)
        ((float *)t.data)[i] = (float)test_uniform(&rng, -1, 1);
    return t;
}
#define F32(rank, ...) make(HAP_F32, rank, (const int64_t[]){__VA_ARGS__})

static float *at(const hap_tensor *t)
{
    return t->data;
}

static void run(hap_op_id op, int n_out, hap_tensor **out, int n_in, hap_tensor **in, int n_attr,
                const hap_attr *attr)
{
    hap_op_call c = {.op = op, .n_out = n_out, .n_in = n_in, .n_attr = n_attr};
    memcpy(c.out, out, sizeof *out * (size_t)n_out);
    memcpy(c.in, in, sizeof *in * (size_t)n_in);
    memcpy(c.attr, attr, sizeof *attr * (size_t)n_attr);
    const char *why = hap_cpu_run(&now, &c);
    ck_assert_msg(!why, "%s", why);
}
#define OUT(...)                                                                                   \
    (int)(sizeof((hap_tensor *[]){__VA_ARGS__}) / sizeof(void *)), (hap_tensor *[])                \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#define IN(...) OUT(__VA_ARGS__)
#define ATTR(...)                                                                                  \
    (int)(sizeof((hap_attr[]){__VA_ARGS__}) / sizeof(hap_attr)), (hap_attr[])                      \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static void near(double got, double want, double tolerance, const char *what, int64_t i)
{
    ck_assert_msg(fabs(got - want) <= tolerance, "%s[%lld] is %.9g, not %.9g", what, (long long)i,
                  got, want);
}

// --- attention: 70 queries from row 30 of 150, 300 keys; several blocks each way ---

enum { NQ = 150, FIRST = 30, PART = 70, NK = 300, E = 5, D = 3 };

static void plain_attention(const hap_tensor *q, const hap_tensor *k, const hap_tensor *v,
                            const hap_tensor *dy, bool causal, double *y, double *lse, double *dq,
                            double *dk, double *dv)
{
    double scale = 1 / sqrt(E);
    for (int64_t i = 0; i < PART; i++) {
        double w[NK], max = (double)-INFINITY, sum = 0, dp[NK], dot = 0;
        int64_t n = causal && FIRST + i + 1 < NK ? FIRST + i + 1 : NK;
        for (int64_t j = 0; j < n; j++) {
            w[j] = 0;
            for (int64_t e = 0; e < E; e++)
                w[j] += scale * (double)at(q)[i * E + e] * (double)at(k)[j * E + e];
            max = fmax(max, w[j]);
        }
        for (int64_t j = 0; j < n; j++)
            sum += exp(w[j] - max);
        lse[i] = max + log(sum);
        for (int64_t j = 0; j < n; j++) {
            double p = exp(w[j] - lse[i]);
            dp[j] = 0;
            for (int64_t d = 0; d < D; d++) {
                y[i * D + d] += p * (double)at(v)[j * D + d];
                dv[j * D + d] += p * (double)at(dy)[i * D + d];
                dp[j] += (double)at(dy)[i * D + d] * (double)at(v)[j * D + d];
            }
            dot += p * dp[j];
        }
        for (int64_t j = 0; j < n; j++) {
            double dw = exp(w[j] - lse[i]) * (dp[j] - dot);
            for (int64_t e = 0; e < E; e++) {
                dq[i * E + e] += scale * dw * (double)at(k)[j * E + e];
                dk[j * E + e] += scale * dw * (double)at(q)[i * E + e];
            }
        }
    }
}

static void agree(const hap_tensor *t, const double *want, const char *what)
{
    for (int64_t i = 0; i < t->elements; i++)
        near((double)at(t)[i], want[i], 2e-5, what, i);
}

START_TEST(attention_in_blocks)
{
    static const int64_t table[3] = {FIRST, PART, NQ - FIRST - PART};
    const int coord[1] = {1};
    bool causal = _i == 1;
    hap_dim qd[4] = {WHOLE(1), WHOLE(1), CUT(0, NQ, table), WHOLE(E)}, yd[4];
    memcpy(yd, qd, sizeof qd);
    yd[3] = WHOLE(D);
    hap_tensor q = shard_new(HAP_F32, 4, qd, coord), dq = shard_new(HAP_F32, 4, qd, coord);
    hap_tensor y = shard_new(HAP_F32, 4, yd, coord), dy = shard_new(HAP_F32, 4, yd, coord);
    hap_tensor lse = shard_new(HAP_F32, 3, qd, coord);
    hap_tensor k = F32(4, 1, 1, NK, E), v = F32(4, 1, 1, NK, D), dk = F32(4, 1, 1, NK, E);
    hap_tensor dv = F32(4, 1, 1, NK, D);
    for (int64_t i = 0; i < q.elements; i++)
        at(&q)[i] = (float)test_uniform(&rng, -2, 2);
    for (int64_t i = 0; i < dy.elements; i++)
        at(&dy)[i] = (float)test_uniform(&rng, -1, 1);
    double wy[PART * D] = {0}, wl[PART], wq[PART * E] = {0}, wk[NK * E] = {0}, wv[NK * D] = {0};
    plain_attention(&q, &k, &v, &dy, causal, wy, wl, wq, wk, wv);
    hap_attr attr[4] = {{.i = causal}, {0}, {0}, {0}};
    run(HAP_OP_sdpa, OUT(&y, &lse), IN(&q, &k, &v, NULL), 4, attr);
    agree(&y, wy, "y");
    agree(&lse, wl, "lse");
    run(HAP_OP_sdpa_bwd, OUT(&dq, &dk, &dv), IN(&dy, &q, &k, &v, &y, &lse, NULL), 4, attr);
    agree(&dq, wq, "dq");
    agree(&dk, wk, "dk");
    agree(&dv, wv, "dv");
    hap_tensor *all[] = {&q, &dq, &y, &dy, &lse, &k, &v, &dk, &dv};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        shard_free(all[i]);
}
END_TEST

// A row that may see no key gives 0, a logsumexp of -inf and no gradient; its neighbour is as
// without it.
START_TEST(attention_row_without_keys)
{
    hap_tensor q = F32(4, 1, 1, 2, E), k = F32(4, 1, 1, 3, E), v = F32(4, 1, 1, 3, D);
    hap_tensor y = F32(4, 1, 1, 2, D), lse = F32(3, 1, 1, 2), dy = F32(4, 1, 1, 2, D);
    hap_tensor dq = F32(4, 1, 1, 2, E), dk = F32(4, 1, 1, 3, E), dv = F32(4, 1, 1, 3, D);
    hap_tensor mask = make(HAP_BOOL, 4, (const int64_t[]){1, 1, 2, 3});
    memcpy(mask.data, "\0\0\0\0\1\0", 6);
    hap_attr attr[4] = {{0}, {0}, {0}, {0}};
    run(HAP_OP_sdpa, OUT(&y, &lse), IN(&q, &k, &v, &mask), 4, attr);
    run(HAP_OP_sdpa_bwd, OUT(&dq, &dk, &dv), IN(&dy, &q, &k, &v, &y, &lse, &mask), 4, attr);
    ck_assert(isinf(at(&lse)[0]) && at(&lse)[0] < 0);
    for (int d = 0; d < D; d++) {
        ck_assert(at(&y)[d] == 0);
        near((double)at(&y)[D + d], (double)at(&v)[D + d], 1e-6, "y", D + d); // one key: its value
        near((double)at(&dv)[D + d], (double)at(&dy)[D + d], 1e-6, "dv", D + d);
    }
    for (int i = 0; i < 2 * E; i++)
        near((double)at(&dq)[i], 0, 1e-6, "dq", i);
    for (int i = 0; i < 3 * E; i++)
        near((double)at(&dk)[i], 0, 1e-6, "dk", i);
    hap_tensor *all[] = {&q, &k, &v, &y, &lse, &dy, &dq, &dk, &dv, &mask};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        shard_free(all[i]);
}
END_TEST

// --- rows and columns over several stripes ---

START_TEST(long_rows)
{
    enum { R = 3, C = 1111 };
    hap_tensor x = F32(2, R, C), y = F32(1, R), z = F32(1, R), dy = F32(2, R, C), m2 = F32(1, R);
    hap_tensor dw = F32(1, C), db = F32(1, C), cols = F32(1, C), total = F32(0, 0);
    double all = 0;
    run(HAP_OP_row_max, OUT(&y), IN(&x), ATTR({0}));
    run(HAP_OP_row_expsum, OUT(&z), IN(&x, &y), ATTR({0}));
    for (int64_t i = 0; i < R; i++) {
        double max = (double)-INFINITY, sum = 0;
        for (int64_t j = 0; j < C; j++)
            max = fmax(max, (double)at(&x)[i * C + j]);
        for (int64_t j = 0; j < C; j++)
            sum += exp((double)at(&x)[i * C + j] - max);
        near((double)at(&y)[i], max, 0, "row_max", i);
        near((double)at(&z)[i], sum, 1e-6 * sum, "row_expsum", i);
    }
    run(HAP_OP_row_sum, OUT(&y), IN(&x), ATTR({0}));
    run(HAP_OP_row_m2, OUT(&m2), IN(&x, &y), ATTR({0}));
    run(HAP_OP_norm_bwd_params, OUT(&dw, &db), IN(&dy, &x, &y, &m2), ATTR({.f = 1e-5}));
    run(HAP_OP_sum, OUT(&cols), IN(&x), ATTR({.v = HAP_INTS(0)}, {0}));
    run(HAP_OP_sum, OUT(&total), IN(&x), ATTR({.v = HAP_INTS(0, 1)}, {0}));
    for (int64_t j = 0; j < C; j++) {
        double want_dw = 0, want_db = 0, want = 0;
        for (int64_t i = 0; i < R; i++) {
            double mean = 0, m = 0;
            for (int64_t l = 0; l < C; l++)
                mean += (double)at(&x)[i * C + l] / C;
            for (int64_t l = 0; l < C; l++)
                m += pow((double)at(&x)[i * C + l] - mean, 2);
            double v = (double)at(&x)[i * C + j], g = (double)at(&dy)[i * C + j];
            want += v;
            want_db += g;
            want_dw += g * (v - mean) / sqrt(m / C + 1e-5);
        }
        all += want;
        near((double)at(&cols)[j], want, 1e-6, "sum", j);
        near((double)at(&db)[j], want_db, 1e-6, "db", j);
        near((double)at(&dw)[j], want_dw, 1e-5, "dw", j);
    }
    near((double)*at(&total), all, 1e-4, "total", 0);
    hap_tensor *used[] = {&x, &y, &z, &dy, &m2, &dw, &db, &cols, &total};
    for (size_t i = 0; i < sizeof used / sizeof *used; i++)
        shard_free(used[i]);
}
END_TEST

// --- transposes over several tiles, in all orders and element sizes ---

START_TEST(transposes)
{
    static const int perm[][4] = {{1, 0, 2, 3}, {0, 2, 1, 3}, {3, 2, 1, 0},
                                  {0, 1, 3, 2}, {2, 3, 0, 1}, {3, 0, 1, 2},
                                  {1, 2, 3, 0}, {0, 3, 2, 1}, {0, 1, 2, 3}};
    static const int64_t size[4] = {3, 19, 2, 37};
    static const hap_dtype type[] = {HAP_F32, HAP_I64, HAP_BOOL};
    for (size_t k = 0; k < 3; k++) {
        int64_t out[4], v[4], bytes = hap_dtype_bytes(type[k]), s[4], step = 1;
        for (int d = 3; d >= 0; d--)
            s[d] = step, step *= size[d];
        for (int d = 0; d < 4; d++)
            v[d] = perm[_i][d], out[d] = size[v[d]];
        hap_tensor x = make(type[k], 4, size), y = make(type[k], 4, out);
        for (int64_t i = 0; i < x.bytes; i++)
            ((unsigned char *)x.data)[i] = (unsigned char)test_random(&rng);
        run(HAP_OP_transpose, OUT(&y), IN(&x), ATTR({.v = {4, v}}));
        for (int64_t i = 0; i < y.elements; i++) {
            int64_t rest = i, from = 0;
            for (int d = 3; d >= 0; d--) {
                from += rest % out[d] * s[v[d]];
                rest /= out[d];
            }
            ck_assert_msg(memcmp((char *)y.data + i * bytes, (char *)x.data + from * bytes,
                                 (size_t)bytes) == 0,
                          "element %lld of %s", (long long)i, hap_dtype_name(type[k]));
        }
        shard_free(&x);
        shard_free(&y);
    }
}
END_TEST

// --- optimizers: three steps of torch.optim, clip factor 0.5 ---

START_TEST(optimizers)
{
    static const float start[4] = {1.0f, -2.0f, 0.5f, 3.0f};
    static const float grad[3][4] = {
        {0.5f, -1.0f, 0.25f, 2.0f}, {-0.3f, 0.7f, 0.1f, -1.5f}, {0.9f, 0.2f, -0.6f, 0.4f}};
    static const struct {
        hap_op_id op;
        int states, n_attr;
        hap_attr attr[6];
        float want[4];
    } o[] = {
        {HAP_OP_sgd,
         0,
         2,
         {{.f = 1}, {.f = 0.2}},
         {0.886881948f, -1.8786639f, 0.483691007f, 2.7810359f}},
        {HAP_OP_momentum,
         1,
         4,
         {{.f = 1}, {.f = 0.9}, {.i = 0}, {.f = 0.2}},
         {0.807051957f, -1.72350395f, 0.432525992f, 2.52669597f}},
        {HAP_OP_momentum,
         1,
         4,
         {{.f = 1}, {.f = 0.9}, {.i = 1}, {.f = 0.2}},
         {0.71770072f, -1.63859046f, 0.425627857f, 2.36984158f}},
        {HAP_OP_adam,
         2,
         6,
         {{.f = 1}, {.f = 0.8}, {.f = 0.95}, {.f = 1e-3}, {.f = 0.2}, {.i = 0}},
         {0.746197343f, -1.76709723f, 0.304733902f, 2.77826715f}},
        {HAP_OP_adam,
         2,
         6,
         {{.f = 2}, {.f = 0.8}, {.f = 0.95}, {.f = 1e-3}, {.f = 0.2}, {.i = 1}},
         {0.768452704f, -1.78719509f, 0.32761851f, 2.71089387f}},
    };
    for (size_t k = 0; k < sizeof o / sizeof *o; k++) {
        hap_tensor w = F32(1, 4), m = F32(1, 4), v = F32(1, 4), g = F32(1, 4), clip = F32(0, 0);
        memcpy(w.data, start, sizeof start);
        memset(m.data, 0, sizeof start);
        memset(v.data, 0, sizeof start);
        *at(&clip) = 0.5f;
        for (int s = 0; s < 3; s++) {
            hap_op_call c = {.op = o[k].op, .n_out = 1 + o[k].states, .n_attr = o[k].n_attr};
            c.in[c.n_in++] = &w;
            if (o[k].states > 0) c.in[c.n_in++] = &m;
            if (o[k].states > 1) c.in[c.n_in++] = &v;
            memcpy(c.out, c.in, sizeof c.out[0] * (size_t)c.n_in);
            c.in[c.n_in++] = &g;
            c.in[c.n_in++] = &clip;
            memcpy(c.attr, o[k].attr, sizeof o[k].attr);
            memcpy(g.data, grad[s], sizeof grad[s]);
            // lr_scale: 0.1 = lr_scale x the step's rate
            const char *why = hap_cpu_run(&(hap_step_state){s, 0.1 / o[k].attr[0].f, 1}, &c);
            ck_assert_msg(!why, "%s", why);
        }
        for (int i = 0; i < 4; i++)
            near((double)at(&w)[i], (double)o[k].want[i], 2e-6, hap_op_names[o[k].op], i);
        hap_tensor *all[] = {&w, &m, &v, &g, &clip};
        for (size_t i = 0; i < sizeof all / sizeof *all; i++)
            shard_free(all[i]);
    }
}
END_TEST

START_TEST(clipping) // as torch.nn.utils.clip_grad_norm_: gradient {3, 4}, max_norm 2 and 10
{
    hap_tensor g = F32(1, 2), s = F32(0, 0), k = F32(0, 0);
    memcpy(g.data, (const float[]){3, 4}, 8);
    run(HAP_OP_sumsq, OUT(&s), IN(&g), ATTR({0}));
    near((double)*at(&s), 25, 0, "sumsq", 0);
    run(HAP_OP_clip_scale, OUT(&k), IN(&s), ATTR({.f = 2}));
    near((double)*at(&k), 0.4, 1e-6, "clip_scale", 0);
    run(HAP_OP_clip_scale, OUT(&k), IN(&s), ATTR({.f = 10}));
    near((double)*at(&k), 1, 0, "clip_scale", 0);
    shard_free(&g);
    shard_free(&s);
    shard_free(&k);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("op_blocks");
    TCase *t = tcase_create("blocks");
    tcase_add_loop_test(t, attention_in_blocks, 0, 2);
    tcase_add_test(t, attention_row_without_keys);
    tcase_add_test(t, long_rows);
    tcase_add_loop_test(t, transposes, 0, 9);
    tcase_add_test(t, optimizers);
    tcase_add_test(t, clipping);
    suite_add_tcase(s, t);
    SRunner *sr = srunner_create(s);
    srunner_run_all(sr, CK_NORMAL);
    int failed = srunner_ntests_failed(sr);
    srunner_free(sr);
    return failed;
}
