// Tile kernels (runtime/cuda/kernels/tile_gemm.h) beside cuBLASLt, matmul by matmul, on one GPU.
//
//     tile-bench SHAPES [SEED [SECONDS [mma]]]
//
// `mma`: the kernel of sm_80 (mma.sync), on whatever device this is.
// SHAPES: bench/overlap/shapes.txt, whose local matmuls are run; then as many drawn at random, then
// those of GPT-2 and BERT; before them those with silu's product or gelu, or the gradients of these,
// behind them. For each: the best of cuBLASLt's proposals (at least 8 where it has so many) and of our
// forms, tiles whole and (form /P:N: P clusters share N) in parts of k, found by a first look at all;
// then the best
// two of each, and ours with a signal a tile, in turns. `priced`: the best of the PRICED that
// tile_ways puts first. Operands are random normals and rotate through sets that exceed L2; a
// method is timed as a CUDA graph of several calls; medians of turns. Every element of every form's
// result is compared with cuBLASLt's in f32. Ratios are cuBLASLt's time / ours.

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "core/run_options.h"
#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_compute.h"
#include "cuda/kernels/cuda_gated.h"
#include "cuda/kernels/tile_gemm.h"

typedef __nv_bfloat16 bf16;
enum { PROPOSALS = 16, SETS = 8, FINALISTS = 2, TURNS = 9, WORKSPACE = 64 << 20 };
enum { PRICED = 6, SHARED = 8, TILE_WAYS = 200 }; // ways by price; those of them with parts that are tried

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "%s:%d: ", __FILE__, __LINE__);                                            \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        exit(1);                                                                                   \
    } while (0)
#define CR(x)                                                                                      \
    do {                                                                                           \
        cudaError_t r_ = (x);                                                                      \
        if (r_) FAIL("%s: %s", #x, cudaGetErrorString(r_));                                        \
    } while (0)
#define LT(x)                                                                                      \
    do {                                                                                           \
        cublasStatus_t r_ = (x);                                                                   \
        if (r_) FAIL("%s: %s", #x, cublasLtGetStatusName(r_));                                     \
    } while (0)
#define HAP(x)                                                                                     \
    do {                                                                                           \
        const char *why_ = (x);                                                                    \
        if (why_) FAIL("%s", why_);                                                                \
    } while (0)

static cuda_context ctx;
static cudaStream_t s;
static cublasLtHandle_t lt;
static void *space;
static int sms;
static uint32_t *flags, *tallies, *late;
static void *room;
static uint64_t state;
static double began, seconds = 1e9;
static bool mma;

static double now()
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}
static double uniform()
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (double)(state >> 11) * 0x1p-53;
}
static int64_t log_uniform(double lo, double hi, int64_t step)
{
    return std::max<int64_t>(1, llround(exp(log(lo) + uniform() * log(hi / lo)) / (double)step)) *
           step;
}

// --- data ---

static __device__ unsigned mix(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}
static __global__ void normal(bf16 *p, int64_t n, unsigned seed, float scale)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        unsigned a = mix((unsigned)i * 2 + seed * 0x9e3779b9u), b = mix(a ^ 0x85ebca6bu);
        float u = ((a >> 8) + 1) * (1.f / 16777217.f), v = (b >> 8) * (1.f / 16777216.f);
        p[i] = __float2bfloat16(scale * sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
}
static __global__ void differs(const void *y, bool wide, const float *ref, int64_t n,
                               unsigned long long *bad)
{
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n;
         i += (int64_t)gridDim.x * blockDim.x) {
        float v = wide ? ((const float *)y)[i] : __bfloat162float(((const bf16 *)y)[i]);
        if (!(fabsf(v - ref[i]) <= 2e-3f + fabsf(ref[i]) / (wide ? 1024 : 200)))
            atomicAdd(bad, 1ull);
    }
}

// --- one matmul ---

enum behind { NOTHING, GELU, SLOPE, GATED, GATED_SLOPES };
static const char *const behinds[] = {"", " bias, then gelu", ", then slope", ", then silu's product",
                                      ", then its gradients"};
struct problem {
    std::string name;
    int64_t m, n, k;
    bool a_t, b_t, wide;
    behind what;
};
struct tensors {
    bf16 *a[SETS], *b[SETS];
    char *y[SETS], *before[SETS], *with[SETS], *with2[SETS]; // of gates both
    bf16 *bias;
    float *ref, *sums;
    int sets;
    unsigned long long *bad;
};
struct method {
    std::string name;
    std::function<void(int)> body; // on a set
    cudaGraphExec_t graph;
    int calls;
    std::vector<double> ms;
    double median;
};

static void make_tensors(const problem &p, tensors *t)
{
    int64_t out = p.m * p.n * (p.wide ? 4 : 2), all = (p.m * p.k + p.k * p.n) * 2 + out;
    t->sets = (int)std::max<int64_t>(2, std::min<int64_t>(SETS, (400ll << 20) / all + 1));
    for (int i = 0; i < t->sets; i++) {
        CR(cudaMalloc(&t->a[i], (size_t)(p.m * p.k * 2)));
        CR(cudaMalloc(&t->b[i], (size_t)(p.k * p.n * 2)));
        CR(cudaMalloc(&t->y[i], (size_t)out));
        t->before[i] = NULL;
        if (p.what) CR(cudaMalloc(&t->before[i], (size_t)out));
        if (p.what) normal<<<1056, 256, 0, s>>>((bf16 *)t->before[i], p.m * p.n, 99, 1);
        t->with[i] = t->with2[i] = NULL;
        for (char **to : {&t->with[i], &t->with2[i]}) {
            if (p.what < GATED) continue;
            CR(cudaMalloc(to, (size_t)out));
            normal<<<1056, 256, 0, s>>>((bf16 *)*to, p.m * p.n, to == &t->with[i] ? 97 : 98, 1);
        }
        normal<<<1056, 256, 0, s>>>(t->a[i], p.m * p.k, 2 * i + 1, 1);
        normal<<<1056, 256, 0, s>>>(t->b[i], p.k * p.n, 2 * i + 2, 1 / sqrtf((float)p.k));
    }
    CR(cudaMalloc(&t->ref, (size_t)(p.m * p.n * 4)));
    CR(cudaMalloc(&t->bias, (size_t)(p.n * 2)));
    CR(cudaMalloc(&t->sums, (size_t)((p.m + 63) / 64 * p.n * 4)));
    CR(cudaMalloc(&t->bad, 8));
    normal<<<1056, 256, 0, s>>>(t->bias, p.n, 77, 1);
}
static void free_tensors(tensors *t)
{
    for (int i = 0; i < t->sets; i++) {
        cudaFree(t->a[i]), cudaFree(t->b[i]), cudaFree(t->y[i]);
        for (char *more : {t->before[i], t->with[i], t->with2[i]})
            if (more) cudaFree(more);
    }
    cudaFree(t->ref), cudaFree(t->bias), cudaFree(t->bad), cudaFree(t->sums);
}

// --- cuBLASLt ---

struct lt_matmul {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, y;
    cublasLtMatmulHeuristicResult_t found[PROPOSALS];
    int n;
};
static lt_matmul lt_make(const problem &p, bool wide, cublasLtEpilogue_t e, const tensors &t)
{
    lt_matmul l;
    cublasOperation_t plain = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    LT(cublasLtMatmulDescCreate(&l.op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
    auto set = [&](cublasLtMatmulDescAttributes_t a, const void *v, size_t n) {
        LT(cublasLtMatmulDescSetAttribute(l.op, a, v, n));
    };
    set(CUBLASLT_MATMUL_DESC_TRANSA, p.b_t ? &turned : &plain, sizeof plain);
    set(CUBLASLT_MATMUL_DESC_TRANSB, p.a_t ? &turned : &plain, sizeof plain);
    if (e != CUBLASLT_EPILOGUE_DEFAULT) {
        cudaDataType_t type = CUDA_R_16BF;
        set(CUBLASLT_MATMUL_DESC_EPILOGUE, &e, sizeof e);
        set(CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &type, sizeof type);
        set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, &t.bias, sizeof t.bias);
        if (e == CUBLASLT_EPILOGUE_GELU_AUX_BIAS) {
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, &t.before[0], sizeof t.before[0]);
            set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, &p.n, sizeof p.n);
        }
    }
    LT(cublasLtMatrixLayoutCreate(&l.a, CUDA_R_16BF, p.b_t ? p.k : p.n, p.b_t ? p.n : p.k,
                                  p.b_t ? p.k : p.n));
    LT(cublasLtMatrixLayoutCreate(&l.b, CUDA_R_16BF, p.a_t ? p.m : p.k, p.a_t ? p.k : p.m,
                                  p.a_t ? p.m : p.k));
    LT(cublasLtMatrixLayoutCreate(&l.y, wide ? CUDA_R_32F : CUDA_R_16BF, p.n, p.m, p.n));
    cublasLtMatmulPreference_t want;
    size_t bytes = WORKSPACE;
    LT(cublasLtMatmulPreferenceCreate(&want));
    LT(cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                            sizeof bytes));
    LT(cublasLtMatmulAlgoGetHeuristic(lt, l.op, l.a, l.b, l.y, l.y, want, PROPOSALS, l.found,
                                      &l.n));
    cublasLtMatmulPreferenceDestroy(want);
    return l;
}
static cublasStatus_t lt_run(const lt_matmul &l, int i, const void *a, const void *b, void *y)
{
    float one = 1, zero = 0;
    return cublasLtMatmul(lt, l.op, &one, b, l.a, a, l.b, &zero, y, l.y, y, l.y, &l.found[i].algo,
                          space, WORKSPACE, s);
}
static void lt_free(lt_matmul *l)
{
    cublasLtMatmulDescDestroy(l->op);
    cublasLtMatrixLayoutDestroy(l->a), cublasLtMatrixLayoutDestroy(l->b),
        cublasLtMatrixLayoutDestroy(l->y);
}

// --- ours ---

struct ours {
    std::string name;
    const tile_shape *shape;
    tile_entry *list, *signalling;
    int entries;
};
static std::string name_of(const tile_shape *shape, tile_share share)
{
    std::string name = shape->name;
    return share.tiles ? name + " /" + std::to_string(share.clusters) + ":" + std::to_string(share.tiles) : name;
}
static ours ours_make(const problem &p, const tile_shape *shape, tile_share share)
{
    ours o = {name_of(shape, share), shape, NULL, NULL, 0};
    o.entries = tile_list(shape, p.m, p.n, p.k, sms, share, NULL);
    size_t bytes = (size_t)o.entries * sizeof(tile_entry);
    std::vector<tile_entry> l((size_t)o.entries);
    tile_list(shape, p.m, p.n, p.k, sms, share, l.data());
    CR(cudaMalloc(&o.list, bytes));
    CR(cudaMalloc(&o.signalling, bytes));
    CR(cudaMemcpy(o.list, l.data(), bytes, cudaMemcpyHostToDevice));
    std::vector<int> count((size_t)p.m / 512 + 1);
    for (tile_entry &e : l)
        if (e.row < p.m && !(e.kind & TILE_PART)) count[(size_t)e.row / 512] += tile_arrivals(shape, &e);
    for (tile_entry &e : l) {
        if (e.row >= p.m) continue;
        e.kind |= TILE_SIGNALS;
        e.signal = e.tally = e.row / 512;
        e.count = count[(size_t)e.tally];
    }
    CR(cudaMemcpy(o.signalling, l.data(), bytes, cudaMemcpyHostToDevice));
    return o;
}
// All forms with whole tiles, and those with parts that have the best price.
static std::vector<ours> ours_all(const problem &p)
{
    std::vector<ours> all;
    tile_way way[TILE_WAYS];
    for (auto &shape : tile_shapes)
        if (!p.what || shape.parts == 1) all.push_back(ours_make(p, &shape, {0, 0}));
    int n = tile_ways(p.m, p.n, p.k, sms, !p.what, TILE_WAYS, way), shared = 0;
    for (int i = 0; i < n && shared < SHARED; i++)
        if (way[i].share.tiles) all.push_back(ours_make(p, way[i].shape, way[i].share)), shared++;
    return all;
}
static bool is_priced(const problem &p, const std::string &name)
{
    tile_way way[PRICED];
    int n = tile_ways(p.m, p.n, p.k, sms, !p.what, p.what ? TILE_WAYS : PRICED, way);
    for (int i = 0; i < n; i++) {
        if (name_of(way[i].shape, way[i].share) == name) return true;
    }
    return false;
}
static void ours_run(const problem &p, const ours &o, const tensors &t, int set, bool signals,
                     void *y)
{
    tile_call c = {};
    c.p = cuda_gemm_of(p.m, p.n, p.k, p.a_t, p.b_t, HAP_BF16, p.wide ? HAP_F32 : HAP_BF16);
    c.a = t.a[set], c.b = t.b[set], c.y = y;
    c.list = signals ? o.signalling : o.list;
    c.entries = o.entries, c.sms = sms;
    c.mma = mma, c.flags = flags, c.tallies = tallies, c.number = 1, c.late = late, c.room = room;
    if (p.what == GELU) {
        c.bias = t.bias, c.before = t.before[set];
        c.activation = TILE_GELU_TANH;
    } else if (p.what == SLOPE) {
        c.with = t.before[set], c.sums = t.sums;
        c.activation = TILE_GELU_TANH_SLOPE;
    } else if (p.what) {
        c.activation = p.what == GATED ? TILE_TIMES_SILU : TILE_GATED_SLOPES;
        c.with = t.with[set], c.before = t.before[set];
        if (p.what == GATED_SLOPES) c.with2 = t.with2[set];
    }
    HAP(tile_run(&c, o.shape, s));
}

// --- the clock ---

static void capture(method *m, int sets, int calls)
{
    cudaGraph_t g;
    m->calls = calls;
    CR(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < calls; i++)
        m->body(i % sets);
    CR(cudaStreamEndCapture(s, &g));
    CR(cudaGraphInstantiate(&m->graph, g, 0));
    CR(cudaGraphDestroy(g));
}
static double sample(const method &m)
{
    static cudaEvent_t from, till;
    if (!from) {
        CR(cudaEventCreate(&from));
        CR(cudaEventCreate(&till));
    }
    float ms;
    CR(cudaEventRecord(from, s));
    CR(cudaGraphLaunch(m.graph, s));
    CR(cudaEventRecord(till, s));
    CR(cudaEventSynchronize(till));
    CR(cudaEventElapsedTime(&ms, from, till));
    return ms / m.calls;
}
// Turns there and back, so that no method finds the device cooler than another.
static void run_turns(std::vector<method> &all, int turns)
{
    for (auto &m : all)
        sample(m);
    for (int t = 0; t < turns; t++)
        for (size_t i = 0; i < all.size(); i++) {
            method &m = all[t % 2 ? all.size() - 1 - i : i];
            m.ms.push_back(sample(m));
        }
    for (auto &m : all) {
        std::sort(m.ms.begin(), m.ms.end());
        m.median = m.ms[m.ms.size() / 2];
    }
}
static double median_of(const std::vector<method> &all, const char *prefix)
{
    double best = 1e30;
    for (auto &m : all)
        if (m.name.rfind(prefix, 0) == 0) best = std::min(best, m.median);
    return best;
}
// Captures with as many calls as take about 0.5 ms, at least one a set, and times a few turns.
static void look(std::vector<method> &all, const problem &p, int sets)
{
    double ms = 2e-9 * (double)p.m * (double)p.n * (double)p.k / 600;
    for (auto &m : all)
        capture(&m, sets, std::max(sets, std::min(16, (int)(0.5 / ms))));
    run_turns(all, 3);
    std::stable_sort(all.begin(), all.end(),
                     [](const method &a, const method &b) { return a.median < b.median; });
}
static void forget(std::vector<method> &all)
{
    for (auto &m : all)
        cudaGraphExecDestroy(m.graph);
}

static hap_tensor tensor_of(void *data, hap_dtype type, int64_t m, int64_t n)
{
    hap_tensor x = {};
    x.type = type, x.rank = m ? 2 : 1;
    x.local[0] = m ? m : n, x.local[1] = n;
    x.elements = (m ? m : 1) * n, x.bytes = x.elements * (type == HAP_F32 ? 4 : 2), x.data = data;
    return x;
}
// What a step runs behind a matmul that has no such epilogue: gelu of `from`; or its gradient, from
// being that of its result and `at` what it was taken of, with the sums of its columns.
static void run_behind(void *from, void *at, void *y, const tensors &t, const problem &p)
{
    hap_tensor x = tensor_of(from, HAP_BF16, p.m, p.n), z = tensor_of(y, HAP_BF16, p.m, p.n);
    hap_tensor b = tensor_of(at, HAP_BF16, p.m, p.n), sum = tensor_of(t.sums, HAP_F32, 0, p.n);
    static const int64_t dims[1] = {0};
    hap_op_call c = {}, total = {};
    c.op = p.what == GELU ? HAP_OP_gelu : HAP_OP_gelu_bwd;
    c.n_out = c.n_attr = 1, c.n_in = p.what == GELU ? 1 : 2;
    c.out[0] = &z, c.in[0] = &x, c.in[1] = &b, c.attr[0].i = 1;
    if (p.what == GELU) {
        HAP(hap_cuda_run(&ctx, &c));
        return;
    }
    total.op = HAP_OP_sum, total.n_out = total.n_in = 1;
    total.out[0] = &sum, total.in[0] = &z, total.attr[0].v.n = 1, total.attr[0].v.v = dims;
    const hap_op_call *both[] = {&c, &total};
    bool done = false;
    HAP(cuda_slope_chain(&ctx, both, 2, 0, &done));
    if (!done) FAIL("the slope's kernel does not take %s", p.name.c_str());
}

// The same of a gated MLP: from is up, or the gradient of the product.
static void run_gated(void *from, int set, void *y, const tensors &t, const problem &p)
{
    auto of = [&](void *at) { return tensor_of(at, HAP_BF16, p.m, p.n); };
    const hap_tensor gate = of(t.with[set]), up = of(p.what == GATED ? from : t.with2[set]);
    const hap_tensor dy = of(from), to = of(y), dup = of(t.before[set]);
    cuda_gated g = {};
    g.gate = &gate, g.up = &up;
    if (p.what == GATED)
        g.y = &to;
    else
        g.dy = &dy, g.dgate = &to, g.dup = &dup;
    HAP(cuda_gated_run(&ctx, &g));
}

struct totals {
    double log_ratio, log_priced, log_signals, least;
    int n, under;
};
static int all_wrong;

static int wrong_of(const problem &p, const ours &o, const tensors &t)
{
    unsigned long long n;
    problem plain = p;
    plain.what = NOTHING;
    CR(cudaMemsetAsync(t.y[0], 0xFF, (size_t)(p.m * p.n * (p.wide ? 4 : 2)), s));
    CR(cudaMemsetAsync(t.bad, 0, 8, s));
    ours_run(plain, o, t, 0, false, t.y[0]);
    differs<<<1056, 256, 0, s>>>(t.y[0], p.wide, t.ref, p.m * p.n, t.bad);
    CR(cudaMemcpyAsync(&n, t.bad, 8, cudaMemcpyDeviceToHost, s));
    CR(cudaStreamSynchronize(s));
    if (n)
        printf("WRONG: %s by %s: %llu of %lld elements\n", p.name.c_str(), o.name.c_str(), n,
               (long long)(p.m * p.n));
    all_wrong += n != 0;
    return n != 0;
}

// cuBLASLt's time / that of each form, in their order.
static std::string ratios(double lt_ms, const std::vector<method> &tiles,
                          const std::vector<ours> &forms)
{
    std::string quick;
    for (const ours &o : forms)
        for (auto &m : tiles)
            if (m.name == "tile " + o.name) {
                char text[64];
                snprintf(text, sizeof text, " %s: %.3f", o.name.c_str(), lt_ms / m.median);
                quick += text;
            }
    return quick;
}

// Of the first look: the best / the best of those that the price puts first.
static double priced_of(const problem &p, const std::vector<method> &tiles)
{
    double best = 1e30, priced = 1e30;
    for (auto &m : tiles) {
        best = std::min(best, m.median);
        if (is_priced(p, m.name.substr(5))) priced = std::min(priced, m.median);
    }
    return best / priced;
}

static void report(const problem &p, const std::vector<method> &turns, const std::string &quick,
                   double priced, int proposals, totals *sum)
{
    double ltm = median_of(turns, "lt"), tm = median_of(turns, "tile"),
           sig = median_of(turns, "signals");
    const method *best = NULL;
    for (auto &m : turns)
        if (m.name.rfind("tile", 0) == 0 && (!best || m.median < best->median)) best = &m;
    printf(
        "%-22s %6lld %6lld %6lld %c%c%s %8.4f %8.4f %5.0f TF  %.3f  priced %.3f  signals %+5.1f %%  %-20s |%s",
        p.name.c_str(), (long long)p.m, (long long)p.n, (long long)p.k, p.a_t ? 'T' : 'N',
        p.b_t ? 'T' : 'N', p.wide ? " f32" : "    ", ltm, tm,
        2e-9 * (double)p.m * (double)p.n * (double)p.k / tm, ltm / tm, ltm / tm * priced,
        100 * (sig / tm - 1), best->name.c_str() + 5, quick.c_str());
    if (p.what)
        printf(" | cuBLASLt%s %.4f ms: %.3f", behinds[p.what],
               median_of(turns, "then"), median_of(turns, "then") / tm);
    printf(" (%d proposals)\n", proposals);
    fflush(stdout);
    sum->log_priced += log(ltm / tm * priced);
    sum->log_ratio += log(ltm / tm), sum->log_signals += log(sig / tm), sum->n++;
    sum->least = std::min(sum->least, ltm / tm);
    sum->under += ltm / tm < 0.88;
}

static void run_problem(const problem &p, totals *sum)
{
    tensors t;
    if (now() - began > seconds) return;
    make_tensors(p, &t);
    lt_matmul l =
        lt_make(p, p.wide, p.what == GELU ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_DEFAULT, t);
    lt_matmul exact = lt_make(p, true, CUBLASLT_EPILOGUE_DEFAULT, t);
    lt_matmul biased =
        lt_make(p, p.wide, p.what == GELU ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT, t);
    LT(lt_run(exact, 0, t.a[0], t.b[0], t.ref));
    if (p.what == GELU || p.what == SLOPE)
        run_behind(t.y[0], t.before[0], t.y[1], t, p); // takes its memory
    const std::vector<ours> forms = ours_all(p);
    std::vector<method> lts, tiles, both, turns;
    for (int i = 0; i < l.n; i++)
        if (lt_run(l, i, t.a[0], t.b[0], t.y[0]) == CUBLAS_STATUS_SUCCESS)
            lts.push_back({"lt " + std::to_string(i),
                           [&, i](int set) { LT(lt_run(l, i, t.a[set], t.b[set], t.y[set])); }});
    for (int i = 0; p.what && i < biased.n; i++)
        if (lt_run(biased, i, t.a[0], t.b[0], t.y[0]) == CUBLAS_STATUS_SUCCESS)
            both.push_back({"then " + std::to_string(i), [&, i](int set) {
                                const bool both = p.what == GELU || p.what == GATED;
                                void *from = both ? t.before[set] : t.y[set];
                                LT(lt_run(biased, i, t.a[set], t.b[set], from));
                                if (p.what < GATED)
                                    run_behind(from, t.before[set], t.y[set], t, p);
                                else
                                    run_gated(from, set, t.y[set], t, p);
                            }});
    for (const ours &o : forms)
        if (!wrong_of(p, o, t))
            tiles.push_back({"tile " + o.name,
                             [&](int set) { ours_run(p, o, t, set, false, t.y[set]); }});
    look(lts, p, t.sets);
    look(tiles, p, t.sets);
    if (p.what) look(both, p, t.sets);
    const std::string quick = ratios(lts[0].median, tiles, forms);
    for (auto *from : {&lts, &tiles, &both})
        for (size_t i = 0; i < from->size() && i < FINALISTS; i++) {
            turns.push_back((*from)[i]);
            turns.back().ms.clear();
        }
    for (size_t i = 0; i < tiles.size() && i < FINALISTS; i++)
        for (const ours &o : forms)
            if (tiles[i].name == "tile " + o.name) {
                method m = {"signals " + tiles[i].name,
                            [&](int set) { ours_run(p, o, t, set, true, t.y[set]); }};
                capture(&m, t.sets, tiles[i].calls);
                turns.push_back(m);
            }
    run_turns(turns, TURNS);
    report(p, turns, quick, priced_of(p, tiles), l.n, sum);
    for (auto &m : turns)
        if (m.name.rfind("signals", 0) == 0) cudaGraphExecDestroy(m.graph);
    forget(lts), forget(tiles), forget(both);
    for (const ours &o : forms)
        cudaFree(o.list), cudaFree(o.signalling);
    lt_free(&l), lt_free(&exact), lt_free(&biased);
    cuda_columns_forget(&ctx); // sums that were put off went to these tensors
    free_tensors(&t);
}

static void run_all(const char *title, const std::vector<problem> &all)
{
    totals sum = {0, 0, 0, 1e30, 0, 0};
    printf("== %s: M N K, a and b as they lie, ms of cuBLASLt's best and of ours, ratio; behind | the ratio "
           "of each form by a first look\n",
           title);
    for (const problem &p : all)
        run_problem(p, &sum);
    if (sum.n)
        printf("%s: %d matmuls, geometric mean %.3f (priced %.3f), least %.3f, %d under 0.88, signals %+.2f %%\n",
               title, sum.n, exp(sum.log_ratio / sum.n), exp(sum.log_priced / sum.n), sum.least,
               sum.under,
               100 * (exp(sum.log_signals / sum.n) - 1));
    fflush(stdout);
}

// --- which ---

static std::vector<problem> listed(const char *path)
{
    std::vector<problem> all;
    char line[256], kind[8], sizes[32], name[64];
    FILE *f = fopen(path, "r");
    if (!f) FAIL("%s cannot be read", path);
    while (fgets(line, sizeof line, f)) {
        long long m, n, k;
        if (sscanf(line, "%7s %lld %lld %lld %31s %63s", kind, &m, &n, &k, sizes, name) != 6 ||
            kind[0] == '#')
            continue;
        for (char *at = strtok(sizes, ","); at; at = strtok(NULL, ",")) {
            int w = atoi(at);
            bool ag = !strcmp(kind, "AG");
            all.push_back({std::string(name) + "/" + at, m, ag ? n / w : n, ag ? k : k / w, false,
                           false, false, NOTHING});
        }
    }
    fclose(f);
    return all;
}
static std::vector<problem> drawn(int n)
{
    std::vector<problem> all;
    while ((int)all.size() < n) {
        problem p = {"random " + std::to_string(all.size()),
                     log_uniform(512, 16384, 1),
                     log_uniform(1024, 30720, 8),
                     log_uniform(1024, 30720, 8),
                     false,
                     false,
                     false,
                     NOTHING};
        if (uniform() < 0.5)
            p.n = std::max<int64_t>(8, p.n / 4 / 8 * 8);
        else
            p.k = std::max<int64_t>(8, p.k / 4 / 8 * 8);
        if (uniform() < 0.5) p.m = (p.m + 63) / 64 * 64;
        double ms = 2e-9 * (double)p.m * (double)p.n * (double)p.k / 700;
        if ((all.size() % 3 == 0) != (ms < 0.2) || ms > 6) continue;
        p.b_t = all.size() % 2;
        all.push_back(p);
    }
    return all;
}
static std::vector<problem> of_models()
{
    std::vector<problem> all;
    struct layer {
        const char *name;
        int64_t n, k;
    };
    const layer layers[] = {
        {"qkv", 2304, 768}, {"proj", 768, 768}, {"fc", 3072, 768}, {"mlp proj", 768, 3072}};
    for (const layer &l : layers) {
        std::string gpt = std::string("gpt2 ") + l.name, bert = std::string("bert ") + l.name;
        all.push_back({gpt, 32768, l.n, l.k, false, false, false, NOTHING});
        all.push_back({gpt + " dx", 32768, l.k, l.n, false, true, false, NOTHING});
        all.push_back({gpt + " dw", l.k, l.n, 32768, true, false, false, NOTHING});
        all.push_back({bert, 8192, l.n, l.k, false, true, false, NOTHING});
        all.push_back({bert + " dx", 8192, l.k, l.n, false, false, false, NOTHING});
    }
    all.push_back({"gpt2 head", 32768, 50304, 768, false, true, false, NOTHING});
    all.push_back({"gpt2 fc dw f32", 768, 3072, 32768, true, false, true, NOTHING});
    return all;
}

int main(int argc, char **argv)
{
    if (argc < 2) FAIL("usage: tile-bench SHAPES [SEED [SECONDS [mma]]]");
    uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);
    if (argc > 3) seconds = atof(argv[3]);
    mma = argc > 4 && !strcmp(argv[4], "mma");
    began = now();
    setvbuf(stdout, NULL, _IOLBF, 0);
    state = seed * 0x9E3779B97F4A7C15u + 1;
    HAP(cuda_compute_start(&ctx, 0));
    s = ctx.stream;
    LT(cublasLtCreate(&lt));
    CR(cudaMalloc(&space, WORKSPACE));
    CR(cudaMalloc(&flags, 1 << 20));
    CR(cudaMemset(flags, 0, 1 << 20));
    CR(cudaMalloc(&tallies, 1 << 20));
    CR(cudaMemset(tallies, 0, 1 << 20));
    CR(cudaHostAlloc(&late, 4, cudaHostAllocMapped));
    CR(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    int64_t most = 0;
    for (auto &shape : tile_shapes)
        most = std::max(most, tile_room(&shape, sms));
    CR(cudaMalloc(&room, (size_t)most));
    CR(cudaMemset(room, 0, (size_t)most));
    cudaDeviceProp prop;
    CR(cudaGetDeviceProperties(&prop, 0));
    printf("%s, %d processors, seed %llu, cuBLASLt %zu%s\n", prop.name, sms,
           (unsigned long long)seed, cublasLtGetVersion(), mma ? ", kernels of mma.sync" : "");
    std::vector<problem> gated;
    for (behind what : {GATED_SLOPES, GATED}) {
        gated.push_back({"qwen mlp", 16384, 4864, 896, false, what == GATED, false, what});
        gated.push_back({"llama mlp", 16384, 8192, 2048, false, what == GATED, false, what});
    }
    run_all("silu's product", gated);
    std::vector<problem> gelus;
    for (int64_t m : {16384, 32768})
        gelus.push_back({"gpt2 fc gelu", m, 3072, 768, false, false, false, GELU});
    gelus.push_back({"gpt2-xl fc gelu", 16384, 6400, 1600, false, false, false, GELU});
    gelus.push_back({"bert fc gelu (tanh)", 8192, 3072, 768, false, true, false, GELU});
    run_all("gelu", gelus);
    std::vector<problem> slopes;
    slopes.push_back({"gpt2 mlp dx gelu'", 32768, 3072, 768, false, true, false, SLOPE});
    slopes.push_back({"gpt2-xl mlp dx gelu'", 16384, 6400, 1600, false, true, false, SLOPE});
    slopes.push_back({"bert mlp dx gelu'", 8192, 3072, 768, false, false, false, SLOPE});
    run_all("slope", slopes);
    std::vector<problem> list = listed(argv[1]);
    run_all("list", list);
    run_all("random", drawn(24));
    run_all("models", of_models());
    printf("%d wrong, %.0f s\n", all_wrong, now() - began);
    return all_wrong != 0;
}
