// Matmuls by cuBLASLt.
//
// cuBLASLt is column-major, so y = a b is computed as y' = b' a': its first operand is b. Matmuls
// accumulate in f32; f32 operands multiply in f32, or in tf32 if the plan says so. Which algorithm
// runs a shape is found at its first call, by timing the heuristic's first few on its operands, and
// kept; each rank finds its own, as devices and shapes may differ. With --cuda tune=off the
// heuristic's first runs: the same algorithms, and so the same bits, in every run and on all ranks.

#include <cublasLt.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/kernels/cuda_gemm.h"

enum { N_TRIED = 16, SPACE = 64 << 20 }; // SPACE: bytes of cuBLASLt's own workspace

typedef struct dense_plan {
    cuda_gemm p;
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, y; // as cuBLASLt names them: a is our b
    cublasLtMatmulAlgo_t algo;
    int align; // of the addresses, in bytes, at most 16
} dense_plan;

struct cuda_dense {
    cublasLtHandle_t lt;
    void *space;
    bool timed;
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
    }
    if (d->space) cudaFree(d->space);
    if (d->from) cudaEventDestroy(d->from);
    if (d->to) cudaEventDestroy(d->to);
    if (d->lt) cublasLtDestroy(d->lt);
    free(d->plan);
    free(d);
    x->dense = NULL;
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
    int32_t sms = x->sms; // of a device of which only some may be used
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

static cublasStatus_t run(cuda_context *x, const dense_plan *d, const cublasLtMatmulAlgo_t *algo,
                          const void *a, const void *b, void *y)
{
    static const float one = 1, zero = 0;
    return cublasLtMatmul(x->dense->lt, d->op, &one, b, d->a, a, d->b, d->p.adds ? &one : &zero, y,
                          d->y, y, d->y, algo, x->dense->space, SPACE, x->stream);
}

// Ms of one of `runs` runs.
static const char *time_runs(cuda_context *x, const dense_plan *d, const cublasLtMatmulAlgo_t *algo,
                             const void *a, const void *b, void *y, int runs, float *ms)
{
    CUDA_CALL(cudaEventRecord(x->dense->from, x->stream));
    for (int k = 0; k < runs; k++)
        LT_CALL(run(x, d, algo, a, b, y));
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

// A run each; those that are near the quickest go on in turns, there and back, so that no candidate
// finds the device cooler than the others: a device that power binds slows down by more than they
// differ. By medians a later one must be 1 % quicker than an earlier one.
static const char *choose_by_time(cuda_context *x, dense_plan *d,
                                  const cublasLtMatmulHeuristicResult_t *found, int n,
                                  const void *a, const void *b, void *y)
{
    enum { LEAST = 3, MOST = 9, BEST = 6 };                 // turns; candidates in them
    const float near = 1.2f, sample_ms = 0.2f, all_ms = 30; // all_ms: of turns, where LEAST allows
    float first[N_TRIED], ms[BEST][MOST], best = 1e30f;
    int in[BEST], n_in = 0;
    for (int i = 0; i < n; i++) {
        first[i] = 1e30f;
        if (run(x, d, &found[i].algo, a, b, y) != CUBLAS_STATUS_SUCCESS) continue; // warm
        CUDA_TRY(time_runs(x, d, &found[i].algo, a, b, y, 1, &first[i]));
        if (first[i] < best) best = first[i];
    }
    if (best == 1e30f) return NULL; // none runs: the heuristic's first says why
    for (int i = 0; i < n; i++) {
        int quicker = 0;
        for (int k = 0; k < n; k++)
            quicker += first[k] < first[i] || (first[k] == first[i] && k < i);
        if (quicker < BEST && first[i] <= near * best) in[n_in++] = i;
    }
    int runs = (int)(sample_ms / (best + 1e-6f)) + 1;
    runs = runs > 16 ? 16 : runs;
    float turn_ms = best * (float)(runs * n_in);
    int turns = turn_ms * LEAST > all_ms  ? LEAST
                : turn_ms * MOST < all_ms ? MOST
                                          : (int)(all_ms / turn_ms);
    for (int t = 0; t < turns && n_in > 1; t++)
        for (int i = 0; i < n_in; i++) {
            int k = t % 2 ? n_in - 1 - i : i;
            CUDA_TRY(time_runs(x, d, &found[in[k]].algo, a, b, y, runs, &ms[k][t]));
        }
    float least = 1e30f;
    d->algo = found[in[0]].algo;
    for (int k = 0; k < n_in && n_in > 1; k++) {
        qsort(ms[k], (size_t)turns, sizeof *ms[k], by_ms);
        float median = ms[k][turns / 2];
        if (median >= 0.99f * least) continue;
        least = median;
        d->algo = found[in[k]].algo;
    }
    return NULL;
}

// The quickest of the heuristic's candidates on these operands; y is overwritten. A matmul that
// adds to y runs as the one that does not.
static const char *choose(cuda_context *x, dense_plan *d, const void *a, const void *b, void *y)
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
    d->algo = found[0].algo;
    cuda_gemm fresh = d->p;
    fresh.adds = false;
    for (int i = 0; i < x->dense->n && d->p.adds; i++)
        if (x->dense->plan[i].align == d->align && cuda_same_gemm(&x->dense->plan[i].p, &fresh))
            d->algo = x->dense->plan[i].algo;
    if (!x->dense->timed || x->capturing || d->p.adds ||
        (double)d->p.m * (double)d->p.n * (double)d->p.k < 1e8)
        return NULL;
    return choose_by_time(x, d, found, n, a, b, y);
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
    if (fresh) {
        CUDA_TRY(choose(x, plan, a, b, y));
        d->n++;
        x->made[x->phase].plans++;
    }
    return said(run(x, plan, &plan->algo, a, b, y), "cublasLtMatmul");
}
