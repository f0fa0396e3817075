// Tile kernels (kernels/tile_gemm.h) against sums in f64: every element of random shapes with
// ragged ends, all ways that operands may lie, all epilogues, all forms, tiles whole and in parts of
// k, by any number of clusters; what lies beside a result stays as it was. Places: rows of several
// matmuls in one list. Sums: of what members made, once it is there, bit by bit. Flags: one kernel
// reads behind another's, launch after launch; a flag that never comes is told. All of it for each
// kernel that the device can run: that of sm_90a, and that of mma.sync.

#include <check.h>
#include <cuda_bf16.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/float16.h"
#include "cuda/kernels/cuda_gated.cuh"
#include "cuda/kernels/cuda_gelu.cuh"
#include "cuda/kernels/tile_gemm.h"
#include "tests/support/few.h"

typedef __nv_bfloat16 bf16;

enum { MOST = 1 << 22, FLAGS = 4096, SKIPPED = 77 }; // elements of an operand; numbers

static int sms, paths = 1; // paths: kernels; on sm_90 both
static bool mma;
static cudaStream_t stream, second;
static bf16 *a, *b, *bias;
static char *y, *again, *before, *with, *with2;
static void *room;
static float *bias_wide, *sums;
static tile_entry *list, *list2;
static uint32_t *flags, *tallies, *late;
static tile_wait *waits; // for flag i, at i
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
    if (major == 9) paths = 2;
    if (major >= 8) return;
    printf("skipped: no device of sm_80 or later (%s)\n", cudaGetErrorString(e));
    fflush(stdout);
    _exit(SKIPPED);
}

static int64_t below(int64_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (int64_t)((state >> 33) % (uint64_t)n);
}

static void fill(void *p, int64_t n, bool wide, float most = 1)
{
    void *host = malloc((size_t)n * 4);
    for (int64_t i = 0; i < n; i++) {
        float v = (float)(below(2001) - 1000) / 1000 * most;
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
    if (test_few()) sms = 16;
    OK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    OK(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    OK(cudaMalloc(&a, MOST * 2));
    OK(cudaMalloc(&b, MOST * 2));
    OK(cudaMalloc(&bias, MOST * 2));
    OK(cudaMalloc(&bias_wide, MOST * 4));
    OK(cudaMalloc(&y, MOST * 4));
    OK(cudaMalloc(&again, MOST * 4));
    OK(cudaMalloc(&before, MOST * 4));
    OK(cudaMalloc(&with, MOST * 4));
    OK(cudaMalloc(&with2, MOST * 2));
    OK(cudaMalloc(&sums, MOST * 4));
    int64_t most = 0;
    for (int i = 0; i < TILE_SHAPES; i++)
        if (tile_room(&tile_shapes[i], sms) > most) most = tile_room(&tile_shapes[i], sms);
    OK(cudaMalloc(&room, (size_t)most));
    OK(cudaMemset(room, 0, (size_t)most));
    OK(cudaMalloc(&list, 1 << 20));
    OK(cudaMalloc(&list2, 1 << 20));
    OK(cudaMalloc(&flags, FLAGS * 4));
    OK(cudaMalloc(&tallies, FLAGS * 4));
    OK(cudaMemset(tallies, 0, FLAGS * 4));
    tile_wait each[FLAGS / TILE_FLAG_APART];
    for (int i = 0; i < FLAGS / TILE_FLAG_APART; i++)
        each[i] = tile_wait{i, 0};
    OK(cudaMalloc(&waits, sizeof each));
    OK(cudaMemcpy(waits, each, sizeof each, cudaMemcpyHostToDevice));
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

// y is rounded twice: the sum, and the product with the slope.
static __device__ void check_slope(tile_call c, int64_t i, double sum, double *most)
{
    double x = element(c.with, i, false), cdf = normcdf(x);
    double slope = cdf + x * exp(-x * x / 2) * 0.39894228040143268;
    if (c.activation == TILE_GELU_TANH_SLOPE) {
        double u = 0.79788456080286536 * (x + 0.044715 * x * x * x), t = tanh(u);
        slope = (1 + t) / 2 +
                x * (1 - t * t) / 2 * 0.79788456080286536 * (1 + 3 * 0.044715 * x * x);
    }
    double may = (fabs(sum * slope) / 128) + 2e-5 * sqrt((double)c.p.k) + 3e-6 * fabs(sum) + 1e-6;
    double off = fabs(element(c.y, i, false) - sum * slope) / may;
    if (!(off <= 1)) off = isnan(off) ? 1e30 : off;
    atomicMax((unsigned long long *)most, (unsigned long long)__double_as_longlong(off));
}

// The bits of silu and mul, of the value that was rounded.
static __device__ void check_gated(tile_call c, int64_t i, double sum, double *most)
{
    const float v = (float)element(c.before, i, false), w = (float)element(c.with, i, false);
    const bool gates = c.activation == TILE_SILU_TIMES;
    const float silu = __bfloat162float(__float2bfloat16_rn(hap_formula::hap_silu(gates ? v : w)));
    compare(v, sum, c.p.k, false, most);
    if (__bfloat162float(__float2bfloat16_rn(silu * (gates ? w : v))) != element(c.y, i, false))
        compare(1e30, 0, 1, true, most);
}

// Each gradient is rounded three times.
static __device__ void check_gradients(tile_call c, int64_t i, double sum, double *most)
{
    const double gate = element(c.with, i, false), up = element(c.with2, i, false);
    const double s = 1 / (1 + exp(-gate)), by[2] = {up * s * (1 + gate * (1 - s)), gate * s};
    for (int k = 0; k < 2; k++) {
        const double may = fabs(sum * by[k]) / 84 + 2e-5 * sqrt((double)c.p.k) * (1 + fabs(by[k])) + 1e-6;
        double off = fabs(element(k ? c.before : c.y, i, false) - sum * by[k]) / may;
        if (!(off <= 1)) off = isnan(off) ? 1e30 : off;
        atomicMax((unsigned long long *)most, (unsigned long long)__double_as_longlong(off));
    }
}

// Of each `rows` of y, as it is stored, in f32.
static __global__ void check_sums(tile_call c, int rows, double *most)
{
    int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x, part = i / c.p.n, col = i % c.p.n;
    double sum = 0, all = 0;
    if (part >= (c.p.m + rows - 1) / rows) return;
    for (int64_t r = part * rows; r < part * rows + rows && r < c.p.m; r++) {
        double v = element(c.y, r * c.p.ly + col, false);
        sum += v, all += fabs(v);
    }
    if (!(fabs(c.sums[i] - sum) <= 1e-6 * all + 1e-30)) compare(1e30, 0, 1, true, most);
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
        if (c.before && ((const uint16_t *)c.before)[i] != 0xFFFFu) compare(1e30, 0, 1, true, most);
        return;
    }
    double sum = 0;
    for (int64_t k = 0; k < p.k; k++)
        sum += element(c.a, p.a_t ? k * p.la + row : row * p.la + k, false) *
               element(c.b, p.b_t ? col * p.lb + k : k * p.lb + col, false);
    if (c.bias) sum += element(c.bias, col, p.bias_type == HAP_F32);
    if (c.activation == TILE_SILU_TIMES || c.activation == TILE_TIMES_SILU)
        return check_gated(c, i, sum, most);
    if (c.activation == TILE_GATED_SLOPES) return check_gradients(c, i, sum, most);
    if (c.activation >= TILE_GELU_TANH_SLOPE) return check_slope(c, i, sum, most);
    if (c.with) sum += element(c.with, i, wide);
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
    if (c->sums)
        check_sums<<<(unsigned)(((c->p.m + 63) / 64 * c->p.n + 255) / 256), 256>>>(
            *c, tile_sum_rows(c), worst);
    OK(cudaMemcpy(&off, worst, 8, cudaMemcpyDeviceToHost));
    return off;
}

// --- calls ---

// Loop tests go by kernel, then as they like: which number of theirs this is, of n.
static int of_path(int i, int n)
{
    mma = i / n == 1;
    return i % n;
}

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
    c.a = a, c.b = b, c.y = y, c.list = list, c.flags = flags, c.late = late, c.room = room;
    c.mma = mma, c.sms = sms, c.number = 1, c.tallies = tallies, c.waits = waits;
    return c;
}

static void lists(tile_call *c, const tile_shape *s, tile_share share = {0, 0})
{
    tile_entry *host = (tile_entry *)malloc(1 << 20);
    c->entries = tile_list(s, c->p.m, c->p.n, c->p.k, c->sms, share, host);
    ck_assert_int_le(c->entries, (1 << 20) / (int)sizeof *host);
    OK(cudaMemcpy(list, host, (size_t)c->entries * sizeof *host, cudaMemcpyHostToDevice));
    free(host);
}

static void run(const tile_call *c, const tile_shape *s)
{
    if (c->y != c->with) OK(cudaMemset(c->y, 0xFF, (size_t)bytes_of(c) + 64));
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

static void is_right(tile_call *c, const tile_shape *s, tile_share share = {0, 0})
{
    lists(c, s, share);
    if (c->sums) OK(cudaMemset(c->sums, 0xFF, (size_t)((c->p.m + 63) / 64 * c->p.n * 4)));
    run(c, s);
    ck_assert_uint_eq(*late, 0);
    double off = error_of(c);
    const cuda_gemm *p = &c->p;
    ck_assert_msg(off <= 1,
                  "%s%s, %lld x %lld x %lld, a_t %d b_t %d to %s, rows of %lld %lld %lld, %d "
                  "processors, activation %d%s%s%s, %d share %d: off by %g of what it may",
                  s->name, mma ? " by mma" : "", (long long)p->m, (long long)p->n,
                  (long long)p->k, p->a_t, p->b_t,
                  hap_dtype_name(p->y_type), (long long)p->la, (long long)p->lb, (long long)p->ly,
                  c->sms, c->activation, c->bias ? ", bias" : "", c->with ? ", with" : "",
                  c->before ? ", both" : "", share.clusters, share.tiles, off);
    tile_call twice = *c; // the same bits, run after run, however many processors
    twice.y = again;
    if (!share.tiles) twice.sms = 2 + 2 * (int)below(sms / 2);
    run(&twice, s);
    ck_assert_msg(same(y, again, bytes_of(c)), "%s: other bits in a second run", s->name);
    if (!c->before || c->with2) return;
    twice.before = NULL;
    run(&twice, s);
    ck_assert_msg(same(y, again, bytes_of(c)), "%s: other bits with one result", s->name);
}

// Of n calls that a test makes, and of an extent up to n: a few small ones.
static int calls_of(int n)
{
    return test_few() ? 2 : n;
}
static int64_t extent(int64_t n)
{
    return below(test_few() && n > 290 ? 290 : n);
}

static const bool ways[3][2] = {{false, true}, {false, false}, {true, false}}; // a_t, b_t

START_TEST(shapes)
{
    const int at = of_path(_i, 3 * TILE_SHAPES);
    const tile_shape *s = &tile_shapes[at % TILE_SHAPES];
    const bool *way = ways[at / TILE_SHAPES];
    for (int i = 0; i < calls_of(24); i++) {
        int64_t m = 1 + extent(i % 4 ? 700 : 1500), n = 1 + extent(i % 3 ? 700 : 1500);
        int64_t k = 1 + extent(i % 5 ? 300 : 1300);
        if (i % 6 == 0) m = (m + 127) / 128 * 128, n = (n + 7) / 8 * 8, k = (k + 63) / 64 * 64;
        bool wide = i % 4 == 3;
        n = wide ? (n + 3) / 4 * 4 : (n + 7) / 8 * 8;
        tile_call c = call_of(m, n, k, way[0], way[1], wide);
        if (i % 3 == 1)
            c.bias = i % 2 ? (void *)bias_wide : bias, c.p.bias_type = i % 2 ? HAP_F32 : HAP_BF16;
        if (i % 8 >= 6) {
            fill(with, m * c.p.ly, wide);
            c.with = with;
        } else if (!wide && i % 4 != 2 && s->parts == 1 && !way[0]) {
            c.activation = i % 4 == 1 ? TILE_GELU_TANH : TILE_GELU_ERF;
            c.before = before;
        }
        is_right(&c, s);
    }
}
END_TEST

START_TEST(tall)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    for (int w = 0; w < 3; w++) { // several tiles a block, k steps around the ring
        tile_call c = call_of(w ? 1300 : 4096, w ? 3000 : 768, 770, ways[w][0], ways[w][1], w == 2);
        c.bias = bias, c.p.bias_type = HAP_BF16;
        is_right(&c, s);
    }
}
END_TEST

static void is_sloped(int64_t m, int64_t n, int64_t k, const bool *way, const tile_shape *s, int i)
{
    tile_call c = call_of(m, n, k, way[0], way[1], false);
    fill(with, m * c.p.ly, false);
    c.with = with;
    c.activation = i % 2 ? TILE_GELU_TANH_SLOPE : TILE_GELU_ERF_SLOPE;
    if (i % 3) c.sums = sums;
    is_right(&c, s);
}

START_TEST(slopes)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    if (s->parts != 1) return;
    for (int i = 0; i < calls_of(8); i++)
        is_sloped(1 + extent(700), 8 + extent(90) * 8, 1 + below(300), ways[i % 2], s, i);
    if (!test_few()) is_sloped(2100, 3072, 200, ways[0], s, 1);
}
END_TEST

static void is_gated(int64_t m, int64_t n, int64_t k, tile_activation what, const tile_shape *s)
{
    const bool two = what == TILE_GATED_SLOPES;
    tile_call c = call_of(m, n, k, false, !two, false);
    fill(with, m * c.p.ly, false, 12);
    c.with = with, c.activation = what, c.before = before;
    if (two) fill(with2, m * c.p.ly, false, 3);
    if (two) c.with2 = with2;
    if (!two && m % 2) c.bias = bias, c.p.bias_type = HAP_BF16;
    is_right(&c, s);
}

START_TEST(gated)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    const tile_activation what[] = {TILE_GATED_SLOPES, TILE_TIMES_SILU, TILE_SILU_TIMES};
    if (s->parts != 1) return;
    for (int i = 0; i < calls_of(9); i++)
        is_gated(1 + extent(700), 8 + extent(90) * 8, 1 + below(300), what[i % 3], s);
    for (int i = 0; i < 3 && !test_few(); i++) // several tiles a block
        is_gated(2100, 1816, 900, what[i], s);
}
END_TEST

// Few tiles, a round that does not come out even, many parts of a tile, parts of one step.
START_TEST(parts)
{
    const int at = of_path(_i, 3 * TILE_SHAPES);
    const tile_shape *s = &tile_shapes[at % TILE_SHAPES];
    const bool *way = ways[at / TILE_SHAPES];
    int shared = 0;
    for (int i = 0; i < calls_of(16); i++) {
        int64_t m = 1 + extent(i % 4 ? 500 : 1900), n = 8 + 8 * extent(i % 3 ? 60 : 250);
        int64_t k = 1 + below(i % 2 ? 1000 : 2800);
        bool wide = i % 4 == 3;
        if (i == 5) m = n = 64, k = 64 * sms;
        if (m * k > MOST - 4096 || k * n > MOST - 4096) k = (MOST - 4096) / (m > n ? m : n) - 24;
        tile_call c = call_of(m, n, k, way[0], way[1], wide);
        c.sms = i % 5 == 4 ? 2 * (1 + (int)below(sms / 2)) : sms;
        tile_way best[64];
        int n_ways = tile_ways(m, n, k, c.sms, true, 64, best);
        tile_share share = {2 + (int)below(20), 1 + (int)below(4)}; // one that fits, or none
        for (int w = (int)below(n_ways), tried = 0; tried < n_ways; tried++, w = (w + 1) % n_ways)
            if (best[w].shape == s && best[w].share.tiles) share = best[w].share;
        shared += tile_list(s, m, n, k, c.sms, share, NULL) != tile_list(s, m, n, k, c.sms, {0, 0}, NULL);
        if (i % 3 == 1) c.bias = bias, c.p.bias_type = HAP_BF16;
        if (i % 4 == 2) {
            fill(with, m * c.p.ly, false);
            c.with = with;
        }
        is_right(&c, s, share);
    }
    ck_assert_int_ge(shared, s->parts == 1 || test_few() ? 0 : 4);
}
END_TEST

START_TEST(added_in_place)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    for (int wide = 0; wide < 2; wide++) {
        tile_call c = call_of(517, 776, 200, false, false, wide);
        fill(with, c.p.m * c.p.ly, wide);
        OK(cudaMemcpy(y, with, (size_t)bytes_of(&c), cudaMemcpyDeviceToDevice));
        lists(&c, s);
        c.with = c.y;
        run(&c, s);
        for (int64_t r = 0; r < c.p.m; r++) // `check` wants what was between rows
            OK(cudaMemset((char *)y + (r * c.p.ly + c.p.n) * (wide ? 4 : 2), 0xFF,
                          (size_t)(c.p.ly - c.p.n) * (wide ? 4 : 2)));
        c.with = with;
        ck_assert_msg(error_of(&c) <= 1, "%s to %s", s->name, wide ? "f32" : "bf16");
    }
}
END_TEST

// --- flags ---

// Entries count for the flag of their row of tiles, or wait for it.
static void with_flags(tile_call *c, const tile_shape *s, tile_entry *to, bool signals)
{
    tile_entry *host = (tile_entry *)malloc(1 << 20);
    int count[FLAGS] = {0};
    c->entries = tile_list(s, c->p.m, c->p.n, c->p.k, c->sms, {0, 0}, host);
    for (int i = 0; i < c->entries; i++)
        count[host[i].row / (2 * s->rows)] += tile_arrivals(s, &host[i]);
    for (int i = 0; i < c->entries; i++) {
        tile_entry *e = &host[i];
        int pair = e->row / (2 * s->rows);
        if (signals)
            e->kind |= TILE_SIGNALS, e->signal = e->tally = pair, e->count = count[pair];
        else
            e->wait = pair, e->waits = 1;
    }
    OK(cudaMemcpy(to, host, (size_t)c->entries * sizeof *host, cudaMemcpyHostToDevice));
    c->list = to;
    free(host);
}

// y1 = a b signals; y2 = y1 b waits for the rows that it reads, and was started first. Every other
// launch reads its number on the device.
START_TEST(signals)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    tile_call c = call_of(test_few() ? 300 : 1000 + below(500), 512, 300, false, false, false), d;
    c.p.ly = 512;
    c.sms = sms / 2;
    d = c;
    d.p.k = 512, d.p.la = 512;
    d.p.n = 640, d.p.lb = 640, d.p.ly = 640;
    d.a = y, d.y = again;
    with_flags(&c, s, list, true);
    with_flags(&d, s, list2, false);
    OK(cudaMemset(flags, 0, FLAGS * 4));
    uint32_t *const number_at = flags + FLAGS - 1;
    enum { FROM = 0xFFFFFFF8, MOST_LAUNCHES = 20 }; // numbers go round
    const int launches = calls_of(MOST_LAUNCHES);
    for (int launch = 1; launch <= launches; launch++) {
        const uint32_t number = (uint32_t)FROM + (uint32_t)launch;
        OK(cudaMemset(y, 0xFF, (size_t)bytes_of(&c)));
        OK(cudaMemset(again, 0xFF, (size_t)bytes_of(&d)));
        if (launch == 1) { // where flags start
            uint32_t before = number - 1;
            for (int i = 0; i < FLAGS; i++)
                OK(cudaMemcpy(flags + i, &before, 4, cudaMemcpyHostToDevice));
        }
        OK(cudaMemcpy(number_at, &number, 4, cudaMemcpyHostToDevice));
        OK(cudaDeviceSynchronize());
        c.number = d.number = number;
        c.number_at = launch % 2 ? number_at : NULL;
        const char *why = tile_run(&d, s, second);
        ck_assert_msg(!why, "%s", why);
        if (launch % 2) usleep(200);
        why = tile_run(&c, s, stream);
        ck_assert_msg(!why, "%s", why);
        OK(cudaDeviceSynchronize());
        ck_assert_uint_eq(*late, 0);
        tile_call seen = d;
        seen.y = again;
        if (launch % 10 == 1) {
            ck_assert_msg(error_of(&c) <= 1, "%s: what signals, launch %d", s->name, launch);
            double off = error_of(&seen) * 2e-5 / 2e-2; // sums of numbers far above 1
            ck_assert_msg(off <= 1, "%s: what waits, launch %d: %g", s->name, launch, off);
        }
    }
    uint32_t raised[FLAGS], left[FLAGS];
    OK(cudaMemcpy(raised, flags, sizeof raised, cudaMemcpyDeviceToHost));
    OK(cudaMemcpy(left, tallies, sizeof left, cudaMemcpyDeviceToHost));
    int pairs = (int)((c.p.m + 2 * s->rows - 1) / (2 * s->rows));
    for (int i = 0; i < FLAGS - 1; i++) {
        bool is_flag = i % TILE_FLAG_APART == 0 && i / TILE_FLAG_APART < pairs;
        ck_assert_uint_eq(left[i], 0);
        ck_assert_msg(raised[i] == (uint32_t)FROM + (uint32_t)(is_flag ? launches : 0), "%s: number %d is %u",
                      s->name, i, raised[i]);
    }
}
END_TEST

static uint16_t *fetch(const void *p, int64_t n)
{
    uint16_t *host = (uint16_t *)malloc((size_t)n * 2 + 2);
    OK(cudaMemcpy(host, p, (size_t)n * 2, cudaMemcpyDeviceToHost));
    return host;
}

// Two places of one list, with the same b and results one under the other: this member's rows, of
// which `members` parts are added when a flag comes late; and rows of others, which signal.
static void is_summed(const tile_shape *s, int members, int me, int64_t own, int64_t other,
                      int64_t n, int64_t k, bool b_t, bool biased)
{
    tile_call c = call_of(own, n, k, false, b_t, false), o;
    c.p.ly = n, c.p.la = k = (k + 7) / 8 * 8;
    c.p.k = k;
    if (biased) c.bias = bias, c.p.bias_type = HAP_BF16, c.has_bias = true;
    o = c;
    o.p.m = other, o.a = a + own * k, o.y = y + own * n * 2;
    char *host = (char *)calloc(1, 1 << 20), *at = (char *)list;
    tile_entry *e = (tile_entry *)host;
    int n_other = tile_list(s, other, n, k, sms, {0, 0}, e), count = 0;
    int n_own = tile_list(s, own, n, k, sms, {0, 0}, e + n_other);
    for (int i = 0; i < n_other; i++)
        count += tile_arrivals(s, &e[i]);
    for (int i = 0; i < n_other + n_own; i++) {
        e[i].place = i < n_other;
        if (i < n_other)
            e[i].kind |= TILE_SIGNALS, e[i].signal = e[i].tally = 5, e[i].count = count;
        else
            e[i].kind |= TILE_SUMS, e[i].wait = 3, e[i].waits = 2;
    }
    int64_t places = 1 << 19, parts = places + 2 * tile_place_bytes();
    const char *why = tile_place_make(&c, s, (struct tile_place *)(host + places));
    if (!why)
        why = tile_place_make(&o, s, (struct tile_place *)(host + places + tile_place_bytes()));
    for (int m = 0; m < members && !why; m++)
        why = tile_part_make(&c, m == me ? before : with + m * own * n * 2,
                             (struct tile_part *)(host + parts + m * tile_part_bytes()));
    ck_assert_msg(!why, "%s", why);
    OK(cudaMemcpy(list, host, 1 << 20, cudaMemcpyHostToDevice));
    free(host);
    tile_sums sum = {(const struct tile_part *)(at + parts), members, me};
    tile_call both = c;
    both.list = list, both.entries = n_other + n_own, both.sum = &sum;
    both.places = (const struct tile_place *)(at + places);
    OK(cudaMemset(flags, 0, FLAGS * 4));
    OK(cudaMemset(with, 0xFF, (size_t)(members * own * n * 2)));
    OK(cudaMemset(y, 0xFF, (size_t)((own + other) * n * 2)));
    OK(cudaMemset(before, 0xFF, (size_t)(own * n * 2) + 64));
    OK(cudaDeviceSynchronize());
    why = tile_run(&both, s, stream);
    ck_assert_msg(!why, "%s", why);
    int64_t slots = members * own * n; // others' parts come while it runs
    uint16_t *part = (uint16_t *)malloc((size_t)slots * 2);
    for (int64_t i = 0; i < slots; i++)
        part[i] = hap_f32_to_bf16((float)(below(2001) - 1000) / 100);
    uint32_t up = 1;
    OK(cudaMemcpyAsync(with, part, (size_t)slots * 2, cudaMemcpyHostToDevice, second));
    for (int f = 3; f < 5; f++)
        OK(cudaMemcpyAsync(flags + f * TILE_FLAG_APART, &up, 4, cudaMemcpyHostToDevice, second));
    OK(cudaDeviceSynchronize());
    ck_assert_uint_eq(*late, 0);
    OK(cudaMemcpy(&up, flags + 5 * TILE_FLAG_APART, 4, cudaMemcpyDeviceToHost));
    ck_assert_uint_eq(up, 1);
    tile_call whole = c;
    whole.p.m = own + other;
    ck_assert_msg(error_of(&whole) <= 1, "%s: parts of %lld and %lld x %lld x %lld", s->name,
                  (long long)own, (long long)other, (long long)n, (long long)k);
    uint16_t *mine = fetch(y, own * n), *got = fetch(before, own * n + 32);
    for (int64_t i = 0; i < own * n; i++) {
        float want = -0.f;
        for (int m = 0; m < members; m++)
            want += hap_bf16_to_f32(m == me ? mine[i] : part[m * own * n + i]);
        ck_assert_msg(got[i] == hap_f32_to_bf16(want),
                      "%s: member %d of %d, %lld x %lld x %lld: row %lld column %lld", s->name, me,
                      members, (long long)own, (long long)n, (long long)k, (long long)(i / n),
                      (long long)(i % n));
    }
    for (int64_t i = own * n; i < own * n + 32; i++)
        ck_assert_uint_eq(got[i], 0xFFFF);
    free(mine);
    free(got);
    free(part);
}

START_TEST(members)
{
    const tile_shape *s = &tile_shapes[of_path(_i, TILE_SHAPES)];
    for (int i = 0; i < calls_of(10); i++) {
        int members = 2 + (int)below(i % 2 ? 1 : 7), me = (int)below(members);
        is_summed(s, members, me, 1 + extent(i % 3 ? 500 : 1200), 1 + extent(600), 8 + 8 * below(50),
                  8 + below(400), i % 4 < 2, i % 3 == 1);
    }
}
END_TEST

START_TEST(late_flag)
{
    (void)of_path(_i, 1);
    tile_call c = call_of(300, 304, 100, false, true, false);
    with_flags(&c, &tile_shapes[0], list, false);
    c.patience = 1000000;
    c.number = 7;
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
    d = c, d.activation = TILE_GELU_ERF;
    refuses(d, "in turns");
    d = c, d.before = before;
    refuses(d, "two results");
    d = c, d.activation = TILE_GELU_ERF, d.with = with;
    refuses(d, "a slope");
    d = c, d.activation = TILE_GELU_ERF_SLOPE;
    refuses(d, "a slope");
    d = c, d.sums = sums;
    refuses(d, "sums");
    d = c, d.with = with, d.with2 = with2;
    refuses(d, "two results");
    d = c, d.activation = TILE_GATED_SLOPES, d.with = with, d.with2 = with2;
    refuses(d, "silu");
    d = c, d.activation = TILE_TIMES_SILU, d.with = with;
    refuses(d, "b turned");
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
    tcase_add_loop_test(t, shapes, 0, paths * 3 * TILE_SHAPES);
    if (!test_few()) tcase_add_loop_test(t, tall, 0, paths * TILE_SHAPES);
    tcase_add_loop_test(t, slopes, 0, paths * TILE_SHAPES);
    tcase_add_loop_test(t, gated, 0, paths * TILE_SHAPES);
    tcase_add_loop_test(t, parts, 0, paths * 3 * TILE_SHAPES);
    tcase_add_loop_test(t, added_in_place, 0, paths * TILE_SHAPES);
    tcase_add_test(t, refused);
    suite_add_tcase(s, t);
    TCase *f = tcase_create("flags"); // CK_RUN_CASE=flags: what sanitizers look at
    tcase_set_timeout(f, 100);
    tcase_add_unchecked_fixture(f, set_up, NULL);
    tcase_add_loop_test(f, signals, 0, paths * TILE_SHAPES);
    tcase_add_loop_test(f, members, 0, paths * TILE_SHAPES);
    tcase_add_loop_test(f, late_flag, 0, paths);
    suite_add_tcase(s, f);
    SRunner *r = srunner_create(s);
    srunner_set_fork_status(r, CK_NOFORK);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed != 0;
}
