// Matmuls by cuBLASLt.
//
// cuBLASLt is column-major, so y = a b is computed as y' = b' a': its first operand is b. Matmuls
// accumulate in f32; f32 operands multiply in f32, or in tf32 if the plan says so. Which algorithm
// runs a shape is found at its first call, by timing the heuristic's first few on its operands, and
// kept; each rank finds its own, as devices and shapes may differ. Ways of the tile kernel are
// timed among them (cuda_multiply_tiles.h). With --cuda tune=off the heuristic's first runs: the
// same algorithms, and so the same bits, in every run and on all ranks.

#include <cublasLt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/device/cuda_graph.h"
#include "cuda/kernels/cuda_gemm.h"
#include "cuda/kernels/cuda_multiply_tiles.h"

enum { N_TRIED = 16, N_TILED = 3, N_ALL = N_TRIED + N_TILED };
enum { SPACE = 64 << 20 }; // bytes of cuBLASLt's own workspace

typedef struct dense_plan {
    cuda_gemm p;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, y;       // as cuBLASLt names them: a is our b
    cublasLtMatmulHeuristicResult_t algo; // and the workspace it wants
    cuda_tiled tiled;                     // instead of algo, if it has a form
    int align;                            // of the addresses, in bytes, at most 16
} dense_plan;

typedef struct operands {
    const void *a, *b, *bias;
    void *y;
} operands;

// What is timed: an algorithm, or a way of the tile kernel.
typedef struct candidate {
    const cublasLtMatmulHeuristicResult_t *algo; // NULL: tiled
    const cuda_tiled *tiled;
} candidate;

struct cuda_dense {
    cublasLtHandle_t lt;
    void *space, *room;   // room: of tile kernels that share k, or NULL
    bool timed, ranks;    // ranks: there are others
    cudaEvent_t from, to; // of what is timed
    dense_plan *plan;
    int n, cap;
};

static const char *said(cublasStatus_t s, const char *call)
{
    if (s == CUBLAS_STATUS_SUCCESS) return NULL;
    return cuda_fail("%.*s: %s", (int)strcspn(call, "("), call, cublasLtGetStatusName(s));
}
#define LT_CALL(e) CUDA_TRY(said((e), #e))

const char *cuda_dense_start(cuda_context *x)
{
    struct cuda_dense *d = calloc(1, sizeof *d);
    if (!d) return cuda_fail("out of memory");
    x->dense = d;
    d->timed = x->options.tune == HAP_CUDA_tune_on;
    LT_CALL(cublasLtCreate(&d->lt));
    CUDA_CALL(cudaMalloc(&d->space, SPACE));
    CUDA_CALL(cudaEventCreate(&d->from));
    CUDA_CALL(cudaEventCreate(&d->to));
    return NULL;
}

void cuda_dense_end(cuda_context *x)
{
    struct cuda_dense *d = x->dense;
    if (!d) return;
    for (int i = 0; i < d->n; i++) {
        cublasLtMatmulDescDestroy(d->plan[i].op);
        cublasLtMatrixLayoutDestroy(d->plan[i].a);
        cublasLtMatrixLayoutDestroy(d->plan[i].b);
        cublasLtMatrixLayoutDestroy(d->plan[i].y);
        cuda_tiled_free(&d->plan[i].tiled);
    }
    if (d->room) cudaFree(d->room);
    if (d->space) cudaFree(d->space);
    if (d->from) cudaEventDestroy(d->from);
    if (d->to) cudaEventDestroy(d->to);
    if (d->lt) cublasLtDestroy(d->lt);
    free(d->plan);
    free(d);
    x->dense = NULL;
}

void cuda_multiply_ranks(cuda_context *x)
{
    x->dense->ranks = true;
}

static cudaDataType_t type_of(hap_dtype t)
{
    return t == HAP_F32 ? CUDA_R_32F : t == HAP_BF16 ? CUDA_R_16BF : CUDA_R_16F;
}

static const char *layout(cublasLtMatrixLayout_t *l, hap_dtype type, int64_t rows, int64_t cols,
                          int64_t ld, int64_t step, int64_t batch)
{
    int32_t n = (int32_t)batch;
    LT_CALL(cublasLtMatrixLayoutCreate(l, type_of(type), (uint64_t)rows, (uint64_t)cols, ld));
    if (batch == 1) return NULL;
    LT_CALL(cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &n, sizeof n));
    LT_CALL(cublasLtMatrixLayoutSetAttribute(*l, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step,
                                             sizeof step));
    return NULL;
}

static const char *set(cublasLtMatmulDesc_t op, cublasLtMatmulDescAttributes_t a, const void *v,
                       size_t n)
{
    LT_CALL(cublasLtMatmulDescSetAttribute(op, a, v, n));
    return NULL;
}

static const char *describe(const cuda_context *x, dense_plan *d)
{
    const cuda_gemm *p = &d->p;
    cublasComputeType_t compute =
        p->type == HAP_F32 && x->tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    cublasOperation_t plain = CUBLAS_OP_N, turned = CUBLAS_OP_T;
    LT_CALL(cublasLtMatmulDescCreate(&d->op, compute, CUDA_R_32F));
    CUDA_TRY(set(d->op, CUBLASLT_MATMUL_DESC_TRANSA, p->b_t ? &turned : &plain, sizeof plain));
    CUDA_TRY(set(d->op, CUBLASLT_MATMUL_DESC_TRANSB, p->a_t ? &turned : &plain, sizeof plain));
    int32_t sms = x->sms || x->held_sms ? cuda_sms(x) : 0; // where it may not count on all
    if (sms) CUDA_TRY(set(d->op, CUBLASLT_MATMUL_DESC_SM_COUNT_TARGET, &sms, sizeof sms));
    if (p->has_bias) {
        cublasLtEpilogue_t e = CUBLASLT_EPILOGUE_BIAS;
        cudaDataType_t t = type_of(p->bias_type);
        CUDA_TRY(set(d->op, CUBLASLT_MATMUL_DESC_EPILOGUE, &e, sizeof e));
        CUDA_TRY(set(d->op, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, &t, sizeof t));
    }
    CUDA_TRY(layout(&d->a, p->type, p->b_t ? p->k : p->n, p->b_t ? p->n : p->k, p->lb, p->step_b,
                    p->batch));
    CUDA_TRY(layout(&d->b, p->type, p->a_t ? p->m : p->k, p->a_t ? p->k : p->m, p->la, p->step_a,
                    p->batch));
    return layout(&d->y, p->y_type, p->n, p->m, p->ly, p->step_y, p->batch);
}

static const char *run(cuda_context *x, const dense_plan *d, candidate c, const operands *o)
{
    static const float one = 1, zero = 0;
    if (c.tiled)
        return cuda_tiled_run(x, c.tiled, &d->p, o->a, o->b, o->bias, o->y, x->dense->room);
    void *own = cuda_graph_work(x, (int64_t)c.algo->workspaceSize);
    LT_CALL(cublasLtMatmul(x->dense->lt, d->op, &one, o->b, d->a, o->a, d->b,
                           d->p.adds ? &one : &zero, o->y, d->y, o->y, d->y, &c.algo->algo,
                           own ? own : x->dense->space, own ? c.algo->workspaceSize : SPACE,
                           x->stream));
    return NULL;
}

// Ms of one of `runs` runs.
static const char *time_runs(cuda_context *x, const dense_plan *d, candidate c, const operands *o,
                             int runs, float *ms)
{
    CUDA_CALL(cudaEventRecord(x->dense->from, x->stream));
    for (int k = 0; k < runs; k++)
        CUDA_TRY(run(x, d, c, o));
    CUDA_CALL(cudaEventRecord(x->dense->to, x->stream));
    CUDA_CALL(cudaEventSynchronize(x->dense->to));
    CUDA_CALL(cudaEventElapsedTime(ms, x->dense->from, x->dense->to));
    *ms /= (float)runs;
    return NULL;
}

static int by_ms(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return (x > y) - (x < y);
}

enum { LEAST = 3, MOST = 9, BEST = 6 }; // turns; candidates in them

// Ms of one run of each, what does not run at 1e30; those that are near the quickest. Returns how
// many these are.
static const char *look(cuda_context *x, const dense_plan *d, const candidate *c, int n,
                        const operands *o, float *first, int *in, int *n_in)
{
    const float near = 1.2f;
    float best = 1e30f;
    for (int i = 0; i < n; i++) {
        first[i] = 1e30f;
        if (run(x, d, c[i], o)) continue; // warm
        CUDA_TRY(time_runs(x, d, c[i], o, 1, &first[i]));
        if (first[i] < best) best = first[i];
    }
    *n_in = 0;
    for (int i = 0; i < n && best < 1e30f; i++) {
        int quicker = 0;
        for (int k = 0; k < n; k++)
            quicker += first[k] < first[i] || (first[k] == first[i] && k < i);
        if (quicker < BEST && first[i] <= near * best) in[(*n_in)++] = i;
    }
    return NULL;
}

// Those go on in turns, there and back, so that no candidate finds the device cooler than the
// others: a device that power binds slows down by more than they differ. By medians a later one
// must be 1 % quicker than an earlier one. *best: the quickest, -1: none runs; *best_algo: of
// cuBLASLt's.
static const char *choose_by_time(cuda_context *x, const dense_plan *d, const candidate *c, int n,
                                  const operands *o, int *best, int *best_algo)
{
    const float sample_ms = 0.2f, all_ms = 30; // all_ms: of turns, where LEAST allows
    float first[N_ALL], ms[BEST][MOST], quick = 1e30f, least = 1e30f, least_algo = 1e30f;
    int in[BEST], n_in = 0;
    *best = *best_algo = -1;
    CUDA_TRY(look(x, d, c, n, o, first, in, &n_in));
    for (int i = 0; i < n; i++) {
        if (first[i] < quick) quick = first[i];
        if (c[i].algo && first[i] < least_algo) least_algo = first[i], *best_algo = i;
    }
    if (n_in == 0) return NULL; // the heuristic's first says why
    int runs = (int)(sample_ms / (quick + 1e-6f)) + 1;
    runs = runs > 16 ? 16 : runs;
    float turn_ms = quick * (float)(runs * n_in);
    int turns = turn_ms * LEAST > all_ms  ? LEAST
                : turn_ms * MOST < all_ms ? MOST
                                          : (int)(all_ms / turn_ms);
    for (int t = 0; t < turns && n_in > 1; t++)
        for (int i = 0; i < n_in; i++) {
            int k = t % 2 ? n_in - 1 - i : i;
            CUDA_TRY(time_runs(x, d, c[in[k]], o, runs, &ms[k][t]));
        }
    *best = in[0];
    least_algo = 1e30f;
    for (int k = 0; k < n_in && n_in > 1; k++) {
        qsort(ms[k], (size_t)turns, sizeof *ms[k], by_ms);
        float median = ms[k][turns / 2];
        if (c[in[k]].algo && median < 0.99f * least_algo) least_algo = median, *best_algo = in[k];
        if (median < 0.99f * least) least = median, *best = in[k];
    }
    return NULL;
}

// Algorithms and ways of the tile kernel (all: those alone, if there are any), on these operands.
static const char *choose_among(cuda_context *x, dense_plan *d,
                                const cublasLtMatmulHeuristicResult_t *found, int n,
                                const operands *o)
{
    const bool all = x->options.tiles == HAP_CUDA_tiles_all;
    candidate c[N_ALL];
    cuda_tiled tiled[N_TILED];
    int n_tiled = 0, n_c = 0, best = -1, best_algo = -1;
    if (!x->dense->ranks || all)
        CUDA_TRY(cuda_tiled_ways(x, &d->p, o->a, o->b, o->bias, o->y, N_TILED, &x->dense->room,
                                 tiled, &n_tiled));
    for (int i = 0; i < n && !(all && n_tiled); i++)
        c[n_c++] = (candidate){.algo = &found[i]};
    for (int i = 0; i < n_tiled; i++)
        c[n_c++] = (candidate){.tiled = &tiled[i]};
    const char *why = choose_by_time(x, d, c, n_c, o, &best, &best_algo);
    if (best_algo >= 0) d->algo = *c[best_algo].algo;
    for (int i = 0; i < n_tiled; i++) {
        if (!why && best >= 0 && c[best].tiled == &tiled[i])
            d->tiled = tiled[i];
        else
            cuda_tiled_free(&tiled[i]);
    }
    if (x->verbose && d->tiled.shape)
        fprintf(stderr, "a matmul of %lld x %lld x %lld%s: by %s%s\n", (long long)d->p.m,
                (long long)d->p.n, (long long)d->p.k, d->p.a_t ? ", its first operand turned" : "",
                d->tiled.shape->name, d->tiled.shares ? " in parts of k" : "");
    return why;
}

// The quickest of the heuristic's candidates on these operands; y is overwritten. A matmul that
// adds to y runs as the one that does not.
static const char *choose(cuda_context *x, dense_plan *d, const operands *o)
{
    cublasLtMatmulPreference_t want;
    cublasLtMatmulHeuristicResult_t found[N_TRIED];
    int n = 0;
    uint64_t space = SPACE;
    uint32_t align = (uint32_t)d->align;
    LT_CALL(cublasLtMatmulPreferenceCreate(&want));
    cublasLtMatmulPreferenceSetAttribute(want, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &space,
                                         sizeof space);
    static const cublasLtMatmulPreferenceAttributes_t alignments[] = {
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES};
    for (int i = 0; i < 4; i++)
        cublasLtMatmulPreferenceSetAttribute(want, alignments[i], &align, sizeof align);
    cublasStatus_t s = cublasLtMatmulAlgoGetHeuristic(x->dense->lt, d->op, d->a, d->b, d->y, d->y,
                                                      want, N_TRIED, found, &n);
    cublasLtMatmulPreferenceDestroy(want);
    if (s != CUBLAS_STATUS_SUCCESS || n == 0)
        return cuda_fail("not supported: cuBLASLt has no algorithm for %lld x %lld x %lld of %s",
                         (long long)d->p.m, (long long)d->p.n, (long long)d->p.k,
                         hap_dtype_name(d->p.type));
    d->algo = found[0];
    cuda_gemm fresh = d->p;
    fresh.adds = false;
    for (int i = 0; i < x->dense->n && d->p.adds; i++)
        if (x->dense->plan[i].align == d->align && cuda_same_gemm(&x->dense->plan[i].p, &fresh))
            d->algo = x->dense->plan[i].algo;
    const double flops = (double)d->p.m * (double)d->p.n * (double)d->p.k;
    if (!x->dense->timed || x->capturing || d->p.adds ||
        (flops < 1e8 && x->options.tiles != HAP_CUDA_tiles_all))
        return NULL;
    return choose_among(x, d, found, n, o);
}

bool cuda_same_gemm(const cuda_gemm *a, const cuda_gemm *b)
{
    return a->m == b->m && a->n == b->n && a->k == b->k && a->batch == b->batch &&
           a->step_a == b->step_a && a->step_b == b->step_b && a->step_y == b->step_y &&
           a->la == b->la && a->lb == b->lb && a->ly == b->ly && a->adds == b->adds &&
           a->a_t == b->a_t && a->b_t == b->b_t && a->has_bias == b->has_bias &&
           a->type == b->type && a->y_type == b->y_type && a->bias_type == b->bias_type;
}

static int alignment(const void *a, const void *b, const void *y)
{
    uintptr_t all = (uintptr_t)a | (uintptr_t)b | (uintptr_t)y;
    for (int n = 16; n > 1; n /= 2)
        if (all % (uintptr_t)n == 0) return n;
    return 1;
}

const char *cuda_multiply(cuda_context *x, cuda_gemm p, const void *a, const void *b,
                          const void *bias, void *y)
{
    struct cuda_dense *d = x->dense;
    int align = alignment(a, b, y);
    dense_plan *plan = NULL;
    for (int i = 0; i < d->n && !plan; i++)
        if (d->plan[i].align == align && cuda_same_gemm(&d->plan[i].p, &p)) plan = &d->plan[i];
    bool fresh = !plan;
    if (fresh) {
        if (d->n == d->cap) {
            int cap = d->cap ? 2 * d->cap : 32;
            void *more = realloc(d->plan, (size_t)cap * sizeof *d->plan);
            if (!more) return cuda_fail("out of memory");
            d->plan = more;
            d->cap = cap;
        }
        plan = &d->plan[d->n];
        *plan = (dense_plan){.p = p, .align = align};
        CUDA_TRY(describe(x, plan));
    }
    if (bias) CUDA_TRY(set(plan->op, CUBLASLT_MATMUL_DESC_BIAS_POINTER, &bias, sizeof bias));
    const operands o = {a, b, bias, y};
    if (fresh) {
        CUDA_TRY(choose(x, plan, &o));
        d->n++;
        x->made[x->phase].plans++;
    }
    const bool tiled = plan->tiled.shape && (uintptr_t)bias % 8 == 0; // bias: this call's
    return run(x, plan,
               tiled ? (candidate){.tiled = &plan->tiled} : (candidate){.algo = &plan->algo}, &o);
}
