// Tile kernels (kernels/tile_gemm.h) against sums in f64: every element of random shapes with
// ragged ends, all ways that operands may lie, all epilogues, all forms; what lies beside a result
// stays as it was. Flags: each tile counts once an epoch, one kernel reads behind the counts of
// another, a flag that never comes is told.

#include <check.h>
#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/float16.h"
#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/tile_gemm.h"

typedef __nv_bfloat16 bf16;

enum { MOST = 1 << 22, FLAGS = 4096, SKIPPED = 77 }; // elements of an operand; numbers

static int sms;
static cudaStream_t stream, second;
static bf16 *a, *b, *bias;
static char *y, *again, *before, *add;
static float *bias_wide;
static tile_entry *list, *list2;
static uint32_t *flags, *late;
static double *worst; // largest error, in units of what is allowed
static uint64_t state = 7;

#define OK(e)                                                                                      \
    do {                                                                                           \
        cudaError_t e_ = (e);                                                                      \
        ck_assert_msg(e_ == cudaSuccess, "%s: %s", #e, cudaGetErrorString(e_));                    \
    } while (0)

__attribute__((constructor)) static void skip_without_device(void)
{
    int n = 0, major = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    if (e == cudaSuccess && n > 0)
        cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0);
    if (major == 9) return;
    printf("skipped: no device of sm_90 (%s)\n", cudaGetErrorString(e));
    fflush(stdout);
    _exit(SKIPPED);
}

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void fill(void *p, int64_t n, bool wide)
{
    void *host = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        float v = (float)(below(2001) - 1000) / 1000;
        if (wide)
            ((float *)host)[i] = v;
        else
            ((uint16_t *)host)[i] = hap_f32_to_bf16(v);
    }
    OK(cudaMemcpy(p, host, (size_t)n * (wide ? 4 : 2), cudaMemcpyHostToDevice));
    free(host);
}

static void set_up(void)
{
    OK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaMalloc(&a, MOST * 2));
    OK(cudaMalloc(&b, MOST * 2));
    OK(cudaMalloc(&bias, MOST * 2));
    OK(cudaMalloc(&bias_wide, MOST * 4));
    OK(cudaMalloc(&y, MOST * 4));
    OK(cudaMalloc(&again, MOST * 4));
    OK(cudaMalloc(&before, MOST * 4));
    OK(cudaMalloc(&add, MOST * 4));
    OK(cudaMalloc(&list, 1 << 20));
    OK(cudaMalloc(&list2, 1 << 20));
    OK(cudaMalloc(&flags, FLAGS * 4));
    OK(cudaMalloc(&worst, 8));
    OK(cudaHostAlloc(&late, 4, cudaHostAllocMapped));
    *late = 0;
    fill(a, MOST, false);
    fill(b, MOST, false);
    fill(bias, 1 << 16, false);
    fill(bias_wide, 1 << 16, true);
}

// --- the reference ---

static __device__ double element(const void *p, int64_t i, bool wide)
{
    return wide ? (double)((const float *)p)[i] : (double)__bfloat162float(((const bf16 *)p)[i]);
}

// What the kernel may be off by: a rounding to bf16, and sums in f32 of k products below 1.
static __device__ void compare(double got, double want, int64_t k, bool wide, double *most)
{
    double may = (wide ? 0 : fabs(want) / 256) + 2e-5 * sqrt((double)k) + 1e-6;
    double off = fabs(got - want) / may;
    if (!(off <= 1)) off = isnan(off) ? 1e30 : off;
    atomicMax((unsigned long long *)most, (unsigned long long)__double_as_longlong(off));
}

static __global__ void check(tile_call c, double *most)
{
    const cuda_gemm p = c.p;
    const bool wide = p.y_type == HAP_F32;
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, row = i / p.ly, col = i % p.ly;
    if (row >= p.m) return;
    if (col >= p.n) { // between rows: as it was
        uint32_t v = wide ? ((const uint32_t *)c.y)[i] : ((const uint16_t *)c.y)[i];
        if (v != (wide ? 0xFFFFFFFFu : 0xFFFFu)) compare(1e30, 0, 1, true, most);
        return;
    }
    double sum = 0;
    for (int64_t k = 0; k < p.k; k++)
        sum += element(c.a, p.a_t ? k * p.la + row : row * p.la + k, false) *
               element(c.b, p.b_t ? col * p.lb + k : k * p.lb + col, false);
    if (c.bias) sum += element(c.bias, col, p.bias_type == HAP_F32);
    if (c.add) sum += element(c.add, i, wide);
    if (!c.activation) {
        compare(element(c.y, i, wide), sum, p.k, wide, most);
        return;
    }
    // The activation's bits are those of the op, of the value that was rounded.
    float v = (float)element(c.before, i, false);
    float g = c.activation == TILE_GELU_TANH ? hap_formula::hap_gelu_tanh(v) : short_gelu(v);
    compare(v, sum, p.k, false, most);
    if (__bfloat162float(__float2bfloat16_rn(g)) != element(c.y, i, false))
        compare(1e30, 0, 1, true, most);
}

static double error_of(const tile_call *c)
{
    double off;
    int64_t n = c->p.m * c->p.ly;
    OK(cudaMemset(worst, 0, 8));
    check<<<(unsigned)((n + 255) / 256), 256>>>(*c, worst);
    OK(cudaMemcpy(&off, worst, 8, cudaMemcpyDeviceToHost));
    return off;
}

// --- calls ---

static int64_t bytes_of(const tile_call *c)
{
    return c->p.m * c->p.ly * (c->p.y_type == HAP_F32 ? 4 : 2);
}

// m x n x k with rows of operands and result up to 16 elements longer than they need be.
static tile_call call_of(int64_t m, int64_t n, int64_t k, bool a_t, bool b_t, bool wide)
{
    tile_call c = {};
    c.p = cuda_gemm_of(m, n, k, a_t, b_t, HAP_BF16, wide ? HAP_F32 : HAP_BF16);
    c.p.la = (c.p.la + 7) / 8 * 8 + 8 * below(3);
    c.p.lb = (c.p.lb + 7) / 8 * 8 + 8 * below(3);
    c.p.ly = (c.p.ly + 7) / 8 * 8 + 8 * below(3);
    c.a = a, c.b = b, c.y = y, c.list = list, c.flags = flags, c.late = late;
    c.sms = sms, c.epoch = 1;
    return c;
}

static void lists(tile_call *c, const tile_shape *s)
{
    tile_entry *host = (tile_entry *)malloc(1 << 20);
    c->entries = tile_list(s, c->p.m, c->p.n, c->sms, host);
    OK(cudaMemcpy(list, host, (size_t)c->entries * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
}

static void run(const tile_call *c, const tile_shape *s)
{
    if (c->y != c->add) OK(cudaMemset(c->y, 0xFF, (size_t)bytes_of(c) + 64));
    if (c->before) OK(cudaMemset(c->before, 0xFF, (size_t)bytes_of(c) + 64));
    OK(cudaDeviceSynchronize());
    const char *why = tile_run(c, s, stream);
    ck_assert_msg(!why, "%s: %s", s->name, why);
    OK(cudaStreamSynchronize(stream));
}

static bool same(const void *p, const void *q, int64_t bytes)
{
    char *hp = (char *)malloc((size_t)bytes), *hq = (char *)malloc((size_t)bytes);
    OK(cudaMemcpy(hp, p, (size_t)bytes, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(hq, q, (size_t)bytes, cudaMemcpyDeviceToHost));
    bool yes = memcmp(hp, hq, (size_t)bytes) == 0;
    free(hp);
    free(hq);
    return yes;
}

static void is_right(tile_call *c, const tile_shape *s)
{
    lists(c, s);
    run(c, s);
    double off = error_of(c);
    const cuda_gemm *p = &c->p;
    ck_assert_msg(off <= 1,
                  "%s, %lld x %lld x %lld, a_t %d b_t %d to %s, rows of %lld %lld %lld, %d "
                  "processors, activation %d%s%s%s: off by %g of what it may",
                  s->name, (long long)p->m, (long long)p->n, (long long)p->k, p->a_t, p->b_t,
                  hap_dtype_name(p->y_type), (long long)p->la, (long long)p->lb, (long long)p->ly,
                  c->sms, c->activation, c->bias ? ", bias" : "", c->add ? ", add" : "",
                  c->before ? ", both" : "", off);
    tile_call twice = *c; // the same bits, run after run, however many processors
    twice.y = again;
    twice.sms = 2 + 2 * (int)below(sms / 2);
    run(&twice, s);
    ck_assert_msg(same(y, again, bytes_of(c)), "%s: other bits in a second run", s->name);
    if (!c->before) return;
    twice.before = NULL;
    run(&twice, s);
    ck_assert_msg(same(y, again, bytes_of(c)), "%s: other bits with one result", s->name);
}

static const bool ways[3][2] = {{false, true}, {false, false}, {true, false}}; // a_t, b_t

START_TEST(shapes)
{
    const tile_shape *s = &tile_shapes[_i % TILE_SHAPES];
    const bool *way = ways[_i / TILE_SHAPES];
    for (int i = 0; i < 24; i++) {
        int64_t m = 1 + below(i % 4 ? 700 : 1500), n = 1 + below(i % 3 ? 700 : 1500);
        int64_t k = 1 + below(i % 5 ? 300 : 1300);
        if (i % 6 == 0) m = (m + 127) / 128 * 128, n = (n + 7) / 8 * 8, k = (k + 63) / 64 * 64;
        bool wide = i % 4 == 3;
        n = wide ? (n + 3) / 4 * 4 : (n + 7) / 8 * 8;
        tile_call c = call_of(m, n, k, way[0], way[1], wide);
        if (i % 3 == 1)
            c.bias = i % 2 ? (void *)bias_wide : bias, c.p.bias_type = i % 2 ? HAP_F32 : HAP_BF16;
        if (i % 8 >= 6) {
            fill(add, m * c.p.ly, wide);
            c.add = add;
        }
        if (!wide && i % 4 != 2) {
            c.activation = i % 4 == 1 ? TILE_GELU_TANH : TILE_GELU_ERF;
            c.before = before;
        }
        is_right(&c, s);
    }
}
END_TEST

START_TEST(tall)
{
    const tile_shape *s = &tile_shapes[_i % TILE_SHAPES];
    for (int w = 0; w < 3; w++) { // several tiles a block, k steps around the ring
        tile_call c = call_of(w ? 1300 : 4096, w ? 3000 : 768, 770, ways[w][0], ways[w][1], w == 2);
        c.bias = bias, c.p.bias_type = HAP_BF16;
        is_right(&c, s);
    }
}
END_TEST

START_TEST(added_in_place)
{
    const tile_shape *s = &tile_shapes[_i];
    for (int wide = 0; wide < 2; wide++) {
        tile_call c = call_of(517, 776, 200, false, false, wide);
        fill(add, c.p.m * c.p.ly, wide);
        OK(cudaMemcpy(y, add, (size_t)bytes_of(&c), cudaMemcpyDeviceToDevice));
        lists(&c, s);
        c.add = c.y;
        run(&c, s);
        for (int64_t r = 0; r < c.p.m; r++) // `check` wants what was between rows
            OK(cudaMemset((char *)y + (r * c.p.ly + c.p.n) * (wide ? 4 : 2), 0xFF,
                          (size_t)(c.p.ly - c.p.n) * (wide ? 4 : 2)));
        c.add = add;
        ck_assert_msg(error_of(&c) <= 1, "%s to %s", s->name, wide ? "f32" : "bf16");
    }
}
END_TEST

// --- flags ---

// Entries count at the flag of their row of tiles, or wait until all of that row have counted.
static void with_flags(tile_call *c, const tile_shape *s, tile_entry *to, bool signals)
{
    tile_entry *host = (tile_entry *)malloc(1 << 20);
    int cols = (int)((c->p.n + s->cols - 1) / s->cols),
        rows = (int)((c->p.m + s->rows - 1) / s->rows);
    c->entries = tile_list(s, c->p.m, c->p.n, c->sms, host);
    for (int i = 0; i < c->entries; i++) {
        tile_entry *e = &host[i];
        int pair = e->row / (2 * s->rows), tall = rows - 2 * pair > 1 ? 2 : 1;
        e->kind |= signals ? TILE_SIGNALS : TILE_WAITS;
        e->signal = e->wait = pair;
        e->until = tall * cols * s->parts;
    }
    OK(cudaMemcpy(to, host, (size_t)c->entries * sizeof *host, cudaMemcpyHostToDevice));
    c->list = to;
    free(host);
}

// y1 = a b counts; y2 = y1 b waits for the rows that it reads, and was started first.
START_TEST(signals)
{
    const tile_shape *s = &tile_shapes[_i];
    tile_call c = call_of(1000 + below(500), 512, 300, false, false, false), d;
    c.p.ly = 512;
    c.sms = sms / 2;
    d = c;
    d.p.k = 512, d.p.la = 512;
    d.p.n = 640, d.p.lb = 640, d.p.ly = 640;
    d.a = y, d.y = again;
    with_flags(&c, s, list, true);
    with_flags(&d, s, list2, false);
    // As many columns of tiles count as c has.
    tile_entry *host = (tile_entry *)malloc(1 << 20);
    OK(cudaMemcpy(host, list2, (size_t)d.entries * sizeof *host, cudaMemcpyDeviceToHost));
    int cols = (int)((c.p.n + s->cols - 1) / s->cols),
        mine = (int)((d.p.n + s->cols - 1) / s->cols);
    for (int i = 0; i < d.entries; i++)
        host[i].until = host[i].until / mine * cols;
    OK(cudaMemcpy(list2, host, (size_t)d.entries * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
    OK(cudaMemset(flags, 0, FLAGS * 4));
    for (uint32_t epoch = 1; epoch <= 20; epoch++) {
        OK(cudaMemset(y, 0xFF, (size_t)bytes_of(&c)));
        OK(cudaMemset(again, 0xFF, (size_t)bytes_of(&d)));
        OK(cudaDeviceSynchronize());
        c.epoch = d.epoch = epoch;
        const char *why = tile_run(&d, s, second);
        ck_assert_msg(!why, "%s", why);
        if (epoch % 2) usleep(200);
        why = tile_run(&c, s, stream);
        ck_assert_msg(!why, "%s", why);
        OK(cudaDeviceSynchronize());
        ck_assert_uint_eq(*late, 0);
        tile_call seen = d;
        seen.y = again;
        if (epoch % 10 == 1) {
            ck_assert_msg(error_of(&c) <= 1, "%s: what counts, epoch %u", s->name, epoch);
            double off = error_of(&seen) * 2e-5 / 2e-2; // sums of numbers far above 1
            ck_assert_msg(off <= 1, "%s: what waits, epoch %u: %g", s->name, epoch, off);
        }
    }
    uint32_t counted[FLAGS];
    OK(cudaMemcpy(counted, flags, sizeof counted, cudaMemcpyDeviceToHost));
    int rows = (int)((c.p.m + s->rows - 1) / s->rows);
    for (int i = 0; i < FLAGS; i++) {
        int pair = i / TILE_FLAG_APART, left = rows - 2 * pair,
            tall = left > 1   ? 2
                   : left > 0 ? left
                              : 0;
        uint32_t want = i % TILE_FLAG_APART ? 0 : (uint32_t)(20 * tall * cols * s->parts);
        ck_assert_msg(counted[i] == want, "%s: number %d is %u, not %u", s->name, i, counted[i],
                      want);
    }
}
END_TEST

START_TEST(late_flag)
{
    tile_call c = call_of(300, 304, 100, false, true, false);
    with_flags(&c, &tile_shapes[0], list, false);
    c.patience = 1000000;
    OK(cudaMemset(flags, 0, FLAGS * 4));
    *late = 0;
    run(&c, &tile_shapes[0]);
    ck_assert_msg(*late == 1 || *late == 2, "a flag that never came: %u", *late);
    *late = 0;
}
END_TEST

static void refuses(tile_call c, const char *what)
{
    const char *why = tile_run(&c, &tile_shapes[0], stream);
    ck_assert_msg(why && strstr(why, "not supported") && strstr(why, what), "%s: %s", what, why);
}

START_TEST(refused)
{
    tile_call c = call_of(64, 64, 64, false, false, false), d = c;
    d.p.type = HAP_F16;
    refuses(d, "bf16");
    d = c, d.p.la = 68;
    refuses(d, "16 bytes");
    d = c, d.y = y + 8;
    refuses(d, "16 bytes");
    d = c, d.p.n = 63;
    refuses(d, "16 bytes");
    d = c, d.p.a_t = d.p.b_t = true;
    refuses(d, "turn one");
    d = c, d.p.batch = 2;
    refuses(d, "one matmul");
    d = c, d.p.k = 0;
    refuses(d, "one matmul");
    d = c, d.p.y_type = HAP_F32, d.activation = TILE_GELU_ERF;
    refuses(d, "activations");
    d = c, d.before = before;
    refuses(d, "two results");
    d = c, d.sms = 1;
    refuses(d, "processors");
}
END_TEST

int main(void)
{
    Suite *s = suite_create("tile kernels");
    TCase *t = tcase_create("tile");
    tcase_set_timeout(t, 100);
    tcase_add_unchecked_fixture(t, set_up, NULL);
    tcase_add_loop_test(t, shapes, 0, 3 * TILE_SHAPES);
    tcase_add_loop_test(t, tall, 0, TILE_SHAPES);
    tcase_add_loop_test(t, added_in_place, 0, TILE_SHAPES);
    tcase_add_loop_test(t, signals, 0, TILE_SHAPES);
    tcase_add_test(t, late_flag);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
