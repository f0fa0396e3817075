// What the baselines of bench/overlap/overlap_base.cu share: a segment of each rank's memory mapped by all,
// flags in it, matmuls by cuBLASLt, and a clock. One process a GPU, under mpirun; every rank makes
// the same calls.
//
// Timing: everything that is timed is enqueued behind a gate that the host opens when all ranks have
// enqueued theirs, then behind a barrier of flags between the GPUs, so that launches cost what the
// GPU takes for them and no more. A sample is the slowest rank's time.

#ifndef HAP_BENCH_OVERLAP_GPU_CUH
#define HAP_BENCH_OVERLAP_GPU_CUH

#include <cublasLt.h>
#include <cuda.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <mpi.h>
#include <nccl.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <functional>
#include <map>
#include <string>
#include <vector>

typedef __nv_bfloat16 bf16;
typedef int64_t i64;

static int me, n_ranks;

#define FAIL(...)                                                                                  \
    do {                                                                                           \
        fprintf(stderr, "rank %d, %s:%d: ", me, __FILE__, __LINE__);                               \
        fprintf(stderr, __VA_ARGS__);                                                              \
        fputc('\n', stderr);                                                                       \
        MPI_Abort(MPI_COMM_WORLD, 1);                                                              \
    } while (0)
#define CR(x)                                                                                      \
    do {                                                                                           \
        cudaError_t r_ = (x);                                                                      \
        if (r_) FAIL("%s: %s", #x, cudaGetErrorString(r_));                                        \
    } while (0)
#define CK(x)                                                                                      \
    do {                                                                                           \
        CUresult r_ = (x);                                                                         \
        if (r_) FAIL("%s: error %d", #x, (int)r_);                                                 \
    } while (0)
#define CB(x)                                                                                      \
    do {                                                                                           \
        int r_ = (int)(x);                                                                         \
        if (r_) FAIL("%s: error %d", #x, r_);                                                      \
    } while (0)

// The driver's calls, of the library that is there.
#define DRIVER_CALLS(X)                                                                            \
    X(cuMemGetAllocationGranularity)                                                               \
    X(cuMemCreate) X(cuMemExportToShareableHandle) X(cuMemImportFromShareableHandle)               \
    X(cuMemAddressReserve) X(cuMemMap) X(cuMemSetAccess) X(cuStreamWaitValue32)                    \
    X(cuStreamWriteValue32) X(cuStreamBatchMemOp)
struct driver_calls {
#define X(f) decltype(&f) f##_;
    DRIVER_CALLS(X)
#undef X
};
static driver_calls drv;
static void driver_load()
{
    cudaDriverEntryPointQueryResult found;
#define X(f) CR(cudaGetDriverEntryPointByVersion(#f, (void **)&drv.f##_, 12050, cudaEnableDefault, &found));
    DRIVER_CALLS(X)
#undef X
}

// --- the segment ---

static CUdeviceptr peer[8]; // rank j's segment here
static size_t seg_bytes, flags_at;
// Flags of 128 bytes behind the data of an owner's segment: a barrier's, credits, parts that came.
enum { MOST_PARTS = 64, N_BARRIER = 0, N_CREDIT = 8, N_PART = 16, N_FLAGS = 16 + 2 * 8 * MOST_PARTS };
static CUdeviceptr flag(int owner, int k) { return peer[owner] + flags_at + (size_t)k * 128; }
static CUdeviceptr part_flag(int owner, int src, int part, int kind = 0)
{
    return flag(owner, N_PART + (kind * 8 + src) * MOST_PARTS + part);
}

static void segment_make(size_t bytes)
{
    CUmemAllocationProp p = {};
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    CR(cudaGetDevice(&p.location.id));
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    size_t grain;
    CK(drv.cuMemGetAllocationGranularity_(&grain, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED));
    flags_at = (bytes + 4095) / 4096 * 4096;
    seg_bytes = (flags_at + N_FLAGS * 128 + grain - 1) / grain * grain;
    CUmemGenericAllocationHandle h;
    CK(drv.cuMemCreate_(&h, seg_bytes, &p, 0));
    int mine[2] = {(int)getpid(), -1}, all[16];
    CK(drv.cuMemExportToShareableHandle_(&mine[1], h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0));
    MPI_Allgather(mine, 2, MPI_INT, all, 2, MPI_INT, MPI_COMM_WORLD);
    for (int j = 0; j < n_ranks; j++) {
        CUmemGenericAllocationHandle hj = h;
        if (j != me) {
            int pf = (int)syscall(SYS_pidfd_open, all[2 * j], 0);
            int f = pf < 0 ? -1 : (int)syscall(SYS_pidfd_getfd, pf, all[2 * j + 1], 0);
            if (f < 0) FAIL("the descriptor of rank %d cannot be taken over", j);
            CK(drv.cuMemImportFromShareableHandle_(&hj, (void *)(uintptr_t)f,
                                                   CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR));
        }
        CK(drv.cuMemAddressReserve_(&peer[j], seg_bytes, grain, 0, 0));
        CK(drv.cuMemMap_(peer[j], seg_bytes, 0, hj, 0));
        CUmemAccessDesc a = {p.location, CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
        CK(drv.cuMemSetAccess_(peer[j], seg_bytes, &a, 1));
    }
    CR(cudaMemset((void *)peer[me], 0, seg_bytes));
    CR(cudaDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
}

// --- streams ---

static cudaStream_t s, s2, own, credit, to[8]; // matmuls, own rows, credits, transfers
static void streams_make()
{
    int least, most;
    CR(cudaDeviceGetStreamPriorityRange(&least, &most));
    for (cudaStream_t *t : {&s, &s2}) CR(cudaStreamCreateWithPriority(t, cudaStreamNonBlocking, least));
    for (cudaStream_t *t : {&own, &credit})
        CR(cudaStreamCreateWithPriority(t, cudaStreamNonBlocking, most));
    for (auto &t : to) CR(cudaStreamCreateWithPriority(&t, cudaStreamNonBlocking, most));
}
static std::vector<cudaEvent_t> events;
static size_t event_at;
static cudaEvent_t record(cudaStream_t t) // events go round
{
    if (events.empty()) {
        events.resize(2048);
        for (auto &e : events) CR(cudaEventCreateWithFlags(&e, cudaEventDisableTiming));
    }
    cudaEvent_t e = events[event_at++ % events.size()];
    CR(cudaEventRecord(e, t));
    return e;
}
static void after(cudaStream_t t, cudaEvent_t e) { CR(cudaStreamWaitEvent(t, e, 0)); }
static void join(cudaStream_t t, cudaStream_t other) { after(t, record(other)); }
static void await(cudaStream_t t, CUdeviceptr f, unsigned v)
{
    CK(drv.cuStreamWaitValue32_(t, f, v, CU_STREAM_WAIT_VALUE_GEQ));
}
static void raise_flag(cudaStream_t t, CUdeviceptr f, unsigned v)
{
    CK(drv.cuStreamWriteValue32_(t, f, v, CU_STREAM_WRITE_VALUE_DEFAULT));
}
static void raise_all(cudaStream_t t, int k, unsigned v) // flag k of every other rank
{
    CUstreamBatchMemOpParams op[8] = {};
    int n = 0;
    for (int d = 1; d < n_ranks; d++, n++) {
        op[n].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        op[n].writeValue.address = flag((me + d) % n_ranks, k);
        op[n].writeValue.value = v;
    }
    if (n) CK(drv.cuStreamBatchMemOp_(t, n, op, 0));
}

// --- matmuls ---

// C [m, n] = A [m, k] B [k, n], bf16, sums in f32, by the fastest of cuBLASLt's proposals for this m.
struct matmul {
    i64 n, k;
    std::map<i64, cublasLtMatmulAlgo_t> best;
    std::map<i64, double> sec;
};
static cublasLtHandle_t lt;
static void *workspace[2];
enum { WORKSPACE = 64 << 20, MOST_ALGOS = 8 };

struct lt_call {
    cublasLtMatmulDesc_t op;
    cublasLtMatrixLayout_t a, b, c;
    lt_call(i64 m, i64 n, i64 k)
    {
        CB(cublasLtMatmulDescCreate(&op, CUBLAS_COMPUTE_32F, CUDA_R_32F));
        CB(cublasLtMatrixLayoutCreate(&a, CUDA_R_16BF, n, k, n)); // as columns: C' = B' A'
        CB(cublasLtMatrixLayoutCreate(&b, CUDA_R_16BF, k, m, k));
        CB(cublasLtMatrixLayoutCreate(&c, CUDA_R_16BF, n, m, n));
    }
    ~lt_call()
    {
        cublasLtMatrixLayoutDestroy(a);
        cublasLtMatrixLayoutDestroy(b);
        cublasLtMatrixLayoutDestroy(c);
        cublasLtMatmulDescDestroy(op);
    }
    int run(const cublasLtMatmulAlgo_t *algo, const bf16 *x, const bf16 *w, bf16 *y, cudaStream_t t)
    {
        float one = 1, zero = 0;
        return cublasLtMatmul(lt, op, &one, w, a, x, b, &zero, y, c, y, c, algo,
                              workspace[t == s2], WORKSPACE, t);
    }
};

// Tunes on the operands given; timed back to back.
static void tune(matmul *p, i64 m, const bf16 *x, const bf16 *w, bf16 *y)
{
    if (m == 0 || p->best.count(m)) return;
    lt_call c(m, p->n, p->k);
    cublasLtMatmulPreference_t pref;
    CB(cublasLtMatmulPreferenceCreate(&pref));
    size_t bytes = WORKSPACE;
    CB(cublasLtMatmulPreferenceSetAttribute(pref, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &bytes,
                                            sizeof bytes));
    cublasLtMatmulHeuristicResult_t h[MOST_ALGOS];
    int n = 0;
    CB(cublasLtMatmulAlgoGetHeuristic(lt, c.op, c.a, c.b, c.c, c.c, pref, MOST_ALGOS, h, &n));
    cublasLtMatmulPreferenceDestroy(pref);
    if (n == 0) FAIL("cuBLASLt knows no product of %lld x %lld x %lld", (long long)m, (long long)p->n, (long long)p->k);
    cudaEvent_t from, till;
    CR(cudaEventCreate(&from));
    CR(cudaEventCreate(&till));
    float least = 1e30f;
    for (int i = 0; i < n; i++) {
        if (c.run(&h[i].algo, x, w, y, s)) continue;
        float best = 1e30f;
        for (int k = 0; k < 3; k++) {
            CR(cudaEventRecord(from, s));
            for (int q = 0; q < 3; q++) c.run(&h[i].algo, x, w, y, s);
            CR(cudaEventRecord(till, s));
            CR(cudaEventSynchronize(till));
            float ms;
            CR(cudaEventElapsedTime(&ms, from, till));
            best = std::min(best, ms / 3);
        }
        if (best < least) least = best, p->best[m] = h[i].algo, p->sec[m] = best / 1e3;
    }
    cudaEventDestroy(from);
    cudaEventDestroy(till);
}
static void multiply(matmul *p, i64 m, const bf16 *x, const bf16 *w, bf16 *y, cudaStream_t t)
{
    if (m == 0) return;
    auto at = p->best.find(m);
    if (at == p->best.end()) FAIL("a product of %lld rows was not tuned", (long long)m);
    lt_call c(m, p->n, p->k);
    CB(c.run(&at->second, x, w, y, t));
}

// --- data ---

static __device__ unsigned mix(unsigned x)
{
    x ^= x >> 16, x *= 0x7feb352du, x ^= x >> 15, x *= 0x846ca68bu;
    return x ^ x >> 16;
}
static __global__ void normal_kernel(bf16 *p, i64 n, unsigned seed, float scale)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
        unsigned a = mix((unsigned)i * 2 + seed * 0x9e3779b9u), b = mix(a ^ (unsigned)(i >> 31) ^ 0x85ebca6bu);
        float u = ((a >> 8) + 1) * (1.f / 16777217.f), v = (b >> 8) * (1.f / 16777216.f);
        p[i] = __float2bfloat16(scale * sqrtf(-2 * logf(u)) * cospif(2 * v));
    }
}
static void normal(bf16 *p, i64 n, unsigned seed, float scale) { normal_kernel<<<1056, 256, 0, s>>>(p, n, seed, scale); }

// Elements of y that differ from ref by more than rounding, or are no numbers.
static __global__ void compare_kernel(const bf16 *y, const bf16 *ref, i64 n, float abs, float rel, unsigned long long *bad)
{
    for (i64 i = blockIdx.x * (i64)blockDim.x + threadIdx.x; i < n; i += (i64)gridDim.x * blockDim.x) {
        float a = __bfloat162float(y[i]), b = __bfloat162float(ref[i]);
        if (!(fabsf(a - b) <= abs + rel * fabsf(b))) atomicAdd(bad, 1ull);
    }
}
static unsigned long long *bad_count;
static i64 differing(const bf16 *y, const bf16 *ref, i64 n, float abs)
{
    unsigned long long h;
    CR(cudaMemsetAsync(bad_count, 0, 8, s));
    compare_kernel<<<1056, 256, 0, s>>>(y, ref, n, abs, 1.f / 64, bad_count);
    CR(cudaMemcpyAsync(&h, bad_count, 8, cudaMemcpyDeviceToHost, s));
    CR(cudaStreamSynchronize(s));
    i64 mine = (i64)h, all;
    MPI_Allreduce(&mine, &all, 1, MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD);
    return all;
}

// --- the clock ---

struct timing {
    double median, p95; // ms
};
static unsigned *gate, gate_now, barrier_now; // host memory
static CUdeviceptr gate_at;
static void machine_make(size_t bytes)
{
    driver_load();
    streams_make();
    segment_make(bytes);
    CR(cudaHostAlloc((void **)&gate, 128, cudaHostAllocMapped));
    *gate = 0;
    void *there;
    CR(cudaHostGetDevicePointer(&there, gate, 0));
    gate_at = (CUdeviceptr)there;
    for (auto &w : workspace) CR(cudaMalloc(&w, WORKSPACE));
    CR(cudaMalloc(&bad_count, 8));
    CB(cublasLtCreate(&lt));
}
struct method {
    std::string name;
    std::function<void(int)> body; // of one of two sets of tensors
    std::vector<double> ms;
    timing t;
    i64 wrong;
};
// `reps` repeats, each beginning when the one before has ended here; the time of one on the slowest rank.
static double sample(const std::function<void(int)> &body, int reps, bool held)
{
    static cudaEvent_t from, till;
    if (!from) {
        CR(cudaEventCreate(&from));
        CR(cudaEventCreate(&till));
    }
    CR(cudaDeviceSynchronize());
    if (held) await(s, gate_at, ++gate_now);
    barrier_now++;
    raise_all(s, N_BARRIER + me, barrier_now);
    for (int d = 1; d < n_ranks; d++) await(s, flag(me, N_BARRIER + (me + d) % n_ranks), barrier_now);
    CR(cudaEventRecord(from, s));
    for (int i = 0; i < reps; i++) body(i % 2);
    CR(cudaEventRecord(till, s));
    MPI_Barrier(MPI_COMM_WORLD);
    *(volatile unsigned *)gate = gate_now;
    CR(cudaEventSynchronize(till));
    float x;
    CR(cudaEventElapsedTime(&x, from, till));
    double mine = x / reps, most;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return most;
}
// Turns through all methods, a sample each of as many repeats as take about 4 ms, behind a pause as
// long as overlap_bench's. As there each comes behind another one in every turn, so that none finds
// the GPUs cooler than another: of a ring of prime length every 1 + t-th.
static void run_methods(std::vector<method> &m, double until)
{
    enum { TURNS = 10, LEAST_TURNS = 4, PAUSE = 1000, MOST_REPEATS = 16 };
    std::vector<int> reps;
    alarm(60); // what hangs ends the job
    for (auto &x : m) {
        sample(x.body, 1, false);
        reps.push_back(std::max(1, std::min((int)(4 / sample(x.body, 2, true) + 0.5), (int)MOST_REPEATS)));
    }
    size_t ring = 5;
    for (size_t prime : {5, 7, 11, 13, 17})
        if (ring < m.size()) ring = prime;
    for (int t = 0; t < TURNS; t++) {
        int late = MPI_Wtime() > until;
        MPI_Bcast(&late, 1, MPI_INT, 0, MPI_COMM_WORLD);
        if (late && t >= LEAST_TURNS) break;
        for (size_t k = 0; k < ring; k++) {
            size_t i = (t + k * (1 + t % (ring - 1))) % ring;
            if (i >= m.size()) continue;
            CR(cudaDeviceSynchronize());
            usleep(PAUSE);
            m[i].ms.push_back(sample(m[i].body, reps[i], true));
        }
    }
    for (auto &x : m) {
        std::sort(x.ms.begin(), x.ms.end());
        x.t = {x.ms[x.ms.size() / 2], x.ms[std::min(x.ms.size() - 1, (size_t)((double)x.ms.size() * 0.95))]};
    }
}
static void print0(const char *fmt, ...)
{
    va_list v;
    va_start(v, fmt);
    if (me == 0) vprintf(fmt, v), fflush(stdout);
    va_end(v);
}

#endif
