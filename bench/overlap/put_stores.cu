// An all-gather among the GPUs of one process, by copy engines and by stores of a kernel: each
// device's part goes into the memory of all others, a flag behind it, and a round begins when all
// parts of the one before have come. Nothing else: no credits, no other stream, rounds captured. So
// what a one-sided put could take at best. Every word is checked.
//
//     push-stores [ROUNDS]

#include <cuda.h>
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { MEMBERS = 8, THREADS = 512, REPEATS = 6 };
enum { EPOCH = MEMBERS, BLOCKS_DONE, LATE, WRONG, WORDS }; // behind the flags
static const size_t most = (size_t)512 << 20;

typedef struct device {
    char *whole;     // all parts
    uint32_t *words; // a flag of each member, then the others
    cudaStream_t stream;
    cudaEvent_t begin, end;
} device;

struct parts { // this device's part and its flag, at each member
    uint4 *part[MEMBERS];
    uint32_t *flag[MEMBERS];
};

static device dev[MEMBERS];
static int n;
static uint32_t rounds_done;
static CUresult (*batch_mem_op)(CUstream, unsigned, CUstreamBatchMemOpParams *, unsigned);

static void ok(int failed, const char *what)
{
    if (!failed) return;
    fprintf(stderr, "put-stores: %s: error %d\n", what, failed);
    exit(1);
}

// --- by stores ---

__device__ static bool comes(const volatile uint32_t *flag, uint32_t number)
{
    long long begin = clock64();
    while ((int32_t)(*flag - number) < 0)
        if (clock64() - begin > 4000000000ll) return false;
    return true;
}

__global__ static void gather(parts to, size_t count, int n, int me, uint32_t *words)
{
    const uint4 *own = to.part[me];
    uint32_t round = *(volatile uint32_t *)&words[EPOCH] + 1;
    size_t stride = (size_t)gridDim.x * THREADS, i = (size_t)blockIdx.x * THREADS + threadIdx.x;
    for (; i < count; i += 4 * stride) {
        uint4 v[4];
#pragma unroll
        for (int k = 0; k < 4; k++)
            if (i + k * stride < count) v[k] = own[i + k * stride];
        for (int d = 1; d < n; d++) {
#pragma unroll
            for (int k = 0; k < 4; k++)
                if (i + k * stride < count) to.part[(me + d) % n][i + k * stride] = v[k];
        }
    }
    __threadfence_system();
    __syncthreads();
    if (threadIdx.x > 0 || (atomicAdd(&words[BLOCKS_DONE], 1) + 1) % gridDim.x > 0) return;
    __threadfence_system();
    for (int d = 1; d < n; d++)
        *(volatile uint32_t *)to.flag[(me + d) % n] = round;
    for (int d = 1; d < n; d++)
        if (!comes(&words[(me + d) % n], round)) words[LATE] = 1;
    *(volatile uint32_t *)&words[EPOCH] = round;
}

static void store(int me, size_t bytes, int blocks)
{
    parts to;
    for (int d = 0; d < n; d++) {
        to.part[d] = (uint4 *)(dev[d].whole + bytes / n * me);
        to.flag[d] = &dev[d].words[me];
    }
    gather<<<blocks, THREADS, 0, dev[me].stream>>>(to, bytes / n / sizeof(uint4), n, me,
                                                   dev[me].words);
}

// --- by copy engines ---

static void copy(int me, size_t bytes, uint32_t round)
{
    CUstreamBatchMemOpParams op[2 * MEMBERS] = {};
    size_t at = bytes / n * me;
    for (int d = 1; d < n; d++) {
        int other = (me + d) % n;
        ok(cudaMemcpyAsync(dev[other].whole + at, dev[me].whole + at, bytes / n,
                           cudaMemcpyDeviceToDevice, dev[me].stream),
           "cudaMemcpyAsync");
        CUstreamBatchMemOpParams *raise = &op[d - 1], *wait = &op[n - 1 + d - 1];
        raise->writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
        raise->writeValue.address = (CUdeviceptr)&dev[other].words[me];
        raise->writeValue.value = round;
        wait->waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
        wait->waitValue.address = (CUdeviceptr)&dev[me].words[other];
        wait->waitValue.value = round;
        wait->waitValue.flags = CU_STREAM_WAIT_VALUE_GEQ;
    }
    ok(batch_mem_op((CUstream)dev[me].stream, 2 * (n - 1), op, 0), "cuStreamBatchMemOp");
}

// --- one size ---

__global__ static void fill(uint32_t *x, size_t count, uint32_t seed)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        x[i] = (uint32_t)i * 2654435761u + seed;
}

__global__ static void check(const uint32_t *x, size_t count, uint32_t seed, uint32_t *wrong)
{
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < count;
         i += (size_t)gridDim.x * blockDim.x)
        if (x[i] != (uint32_t)i * 2654435761u + seed) atomicAdd(wrong, 1);
}

static void poison(size_t bytes)
{
    for (int d = 0; d < n; d++) {
        ok(cudaSetDevice(d), "cudaSetDevice");
        ok(cudaMemset(dev[d].whole, 0xee, bytes), "cudaMemset");
        fill<<<256, 256>>>((uint32_t *)(dev[d].whole + bytes / n * d), bytes / n / 4, 7 + d);
        ok(cudaMemset(dev[d].words, 0, WORDS * sizeof *dev[d].words), "cudaMemset");
        ok(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    }
    rounds_done = 0;
}

static bool right(size_t bytes)
{
    bool all = true;
    for (int d = 0; d < n; d++) {
        uint32_t words[WORDS];
        ok(cudaSetDevice(d), "cudaSetDevice");
        for (int k = 0; k < n; k++)
            check<<<256, 256>>>((uint32_t *)(dev[d].whole + bytes / n * k), bytes / n / 4, 7 + k,
                                &dev[d].words[WRONG]);
        ok(cudaMemcpy(words, dev[d].words, sizeof words, cudaMemcpyDeviceToHost), "cudaMemcpy");
        all = all && !words[LATE] && !words[WRONG];
    }
    return all;
}

static cudaGraphExec_t captured(int me, size_t bytes, int blocks, int rounds)
{
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    ok(cudaSetDevice(me), "cudaSetDevice");
    ok(cudaStreamBeginCapture(dev[me].stream, cudaStreamCaptureModeRelaxed), "capture");
    for (int r = 1; r <= rounds; r++) {
        if (blocks)
            store(me, bytes, blocks);
        else
            copy(me, bytes, rounds_done + r);
    }
    ok(cudaStreamEndCapture(dev[me].stream, &graph), "capture");
    ok(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
    ok(cudaGraphUpload(exec, dev[me].stream), "cudaGraphUpload");
    ok(cudaStreamSynchronize(dev[me].stream), "cudaStreamSynchronize");
    ok(cudaGraphDestroy(graph), "cudaGraphDestroy");
    return exec;
}

// Milliseconds of the device that is launched last, as it has waited for none.
static float once(size_t bytes, int blocks, int rounds)
{
    cudaGraphExec_t exec[MEMBERS];
    float ms = 0;
    for (int d = 0; d < n; d++)
        exec[d] = captured(d, bytes, blocks, rounds);
    for (int d = 0; d < n; d++) {
        ok(cudaSetDevice(d), "cudaSetDevice");
        ok(cudaEventRecord(dev[d].begin, dev[d].stream), "cudaEventRecord");
        ok(cudaGraphLaunch(exec[d], dev[d].stream), "cudaGraphLaunch");
        ok(cudaEventRecord(dev[d].end, dev[d].stream), "cudaEventRecord");
    }
    for (int d = 0; d < n; d++) {
        ok(cudaSetDevice(d), "cudaSetDevice");
        ok(cudaStreamSynchronize(dev[d].stream), "the device");
        ok(cudaEventElapsedTime(&ms, dev[d].begin, dev[d].end), "cudaEventElapsedTime");
        ok(cudaGraphExecDestroy(exec[d]), "cudaGraphExecDestroy");
    }
    rounds_done += (uint32_t)rounds;
    return ms;
}

static void begin(void)
{
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    *(void **)&batch_mem_op = driver ? dlsym(driver, "cuStreamBatchMemOp_v2") : NULL;
    ok(!batch_mem_op, "no cuStreamBatchMemOp in libcuda.so.1");
    for (int d = 0; d < n; d++) {
        ok(cudaSetDevice(d), "cudaSetDevice");
        for (int other = 0; other < n; other++)
            if (other != d) ok(cudaDeviceEnablePeerAccess(other, 0), "cudaDeviceEnablePeerAccess");
        ok(cudaMalloc(&dev[d].whole, most), "cudaMalloc");
        ok(cudaMalloc(&dev[d].words, WORDS * sizeof *dev[d].words), "cudaMalloc");
        ok(cudaStreamCreateWithFlags(&dev[d].stream, cudaStreamNonBlocking), "cudaStreamCreate");
        ok(cudaEventCreate(&dev[d].begin), "cudaEventCreate");
        ok(cudaEventCreate(&dev[d].end), "cudaEventCreate");
    }
}

int main(int argc, char **argv)
{
    static const int blocks[] = {0, 8, 16, 32, 64, 132},
                     sizes[] = {1, 4, 16, 32, 64, 128, 256, 512};
    int rounds = argc > 1 ? atoi(argv[1]) : 20;
    bool all_right = true;
    if (cudaGetDeviceCount(&n) || n < 2) {
        puts("skipped: fewer than two CUDA devices");
        return 77;
    }
    if (n > MEMBERS) n = MEMBERS;
    begin();
    printf("%d devices, us a round (bus GB/s)\nMiB of the whole | copies | stores of 8 | 16 | 32 | "
           "64 | 132 blocks\n",
           n);
    for (int mib : sizes) {
        size_t bytes = (size_t)mib << 20;
        printf("%4d", mib);
        for (int b : blocks) {
            float least = 1e9f;
            poison(bytes);
            for (int i = 0; i < REPEATS; i++) {
                float ms = once(bytes, b, rounds);
                if (i > 0 && ms < least) least = ms;
            }
            bool good = right(bytes);
            double us = 1e3 * least / rounds;
            printf(" | %7.1f (%3.0f)%s", us, (double)bytes / n * (n - 1) / us / 1e3,
                   good ? "" : " WRONG");
            fflush(stdout);
            all_right = all_right && good;
        }
        puts("");
    }
    puts(all_right ? "all right" : "WRONG");
    return !all_right;
}
