// The kernel of cuda_put_store.h.
//
// What a block's threads have stored is told by one thread a member: all have met at a barrier, its
// fence and its release are of the system. What came is seen by all threads once one of them has
// acquired the flag and they have met; it is read past L1.

#include "cuda/kernels/cuda_flags.cuh"
#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_put_store.h"
#include "cuda/kernels/cuda_put_sums.cuh"

enum { THREADS = 512, AT_ONCE = 4 };
static constexpr uint64_t PATIENCE = 30000000000; // ns

// This block's share of so many vectors.
struct share {
    int64_t lo, hi;
    __device__ share(int64_t n)
        : lo(n * blockIdx.x / gridDim.x + threadIdx.x), hi(n * (blockIdx.x + 1) / gridDim.x)
    {
    }
};

// One thread a member, but this one.
__device__ static bool speaks(const cuda_store &p)
{
    return (int)threadIdx.x < p.members && (int)threadIdx.x != p.me;
}

__device__ static void wait(const cuda_store &p, int flag, uint32_t number)
{
    const uint32_t *at = p.flags[p.me] + (int64_t)flag * p.apart;
    uint64_t begin = 0;
    for (int n = 1; (int32_t)(read_flag(at) - number) < 0; n++) {
        if (n % 256) continue;
        if (!begin) begin = nanoseconds();
        if (nanoseconds() - begin < PATIENCE) continue;
        *(volatile uint32_t *)p.late = 1 + (uint32_t)flag;
        break;
    }
}

// What this block has stored there is told to all others; theirs is waited for.
__device__ static void exchange(const cuda_store &p, int part, uint32_t number)
{
    const int flag = p.stored + part * CUDA_STORE_MEMBERS;
    __syncthreads();
    if (speaks(p)) {
        __threadfence_system();
        raise_flag(p.flags[threadIdx.x] + (int64_t)(flag + p.me) * p.apart, number);
        wait(p, flag + (int)threadIdx.x, number);
    }
    __syncthreads();
}

// The next member first, this one last.
__device__ static int nth(const cuda_store &p, int d)
{
    return (p.me + 1 + d) % p.members;
}

__device__ static void gather(const cuda_store &p, const cuda_store_item &x)
{
    const share part(x.size[p.me]);
    const uint4 *from = (const uint4 *)x.from[p.me];
    for (int64_t i = part.lo; i < part.hi; i += AT_ONCE * THREADS) {
        uint4 v[AT_ONCE];
#pragma unroll
        for (int k = 0; k < AT_ONCE; k++)
            if (i + k * THREADS < part.hi) v[k] = from[i + k * THREADS];
        for (int d = 0; d < p.members; d++) {
            uint4 *to = (uint4 *)x.to[nth(p, d)];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (to && i + k * THREADS < part.hi) to[i + k * THREADS] = v[k];
        }
    }
}

__device__ static void scatter(const cuda_store &p, const cuda_store_item &x)
{
    for (int d = 0; d + 1 < p.members; d++) {
        const int m = nth(p, d);
        const share part(x.size[m]);
        const uint4 *from = (const uint4 *)x.from[m];
        uint4 *to = (uint4 *)x.to[m];
        for (int64_t i = part.lo; i < part.hi; i += AT_ONCE * THREADS) {
            uint4 v[AT_ONCE];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (i + k * THREADS < part.hi) v[k] = from[i + k * THREADS];
#pragma unroll
            for (int k = 0; k < AT_ONCE; k++)
                if (i + k * THREADS < part.hi) to[i + k * THREADS] = v[k];
        }
    }
}

template <typename V> __device__ static void add(const cuda_store &p, const cuda_store_item &x)
{
    const share part(x.size[p.me]);
    for (int64_t i = part.lo; i < part.hi; i += THREADS) {
        V v[CUDA_STORE_MEMBERS];
        sum_of<V> s;
#pragma unroll
        for (int m = 0; m < CUDA_STORE_MEMBERS; m++)
            if (m < p.members) v[m] = __ldcg((const V *)(m == p.me ? x.from[m] : x.slot[m]) + i);
        s.first(v[0]);
#pragma unroll
        for (int m = 1; m < CUDA_STORE_MEMBERS; m++)
            if (m < p.members) s.add(v[m]);
        const V sum = s.get();
        ((V *)x.sum)[i] = sum;
        for (int d = 0; d + 1 < p.members && x.back[nth(p, 0)]; d++)
            ((V *)x.back[nth(p, d)])[i] = sum;
    }
}

static __global__ void __launch_bounds__(THREADS) store_parts(const __grid_constant__ cuda_store p)
{
    const uint32_t number = p.number_at ? read_flag(p.number_at) : p.number;
    if (speaks(p)) wait(p, p.credit[threadIdx.x], number);
    __syncthreads();
    for (int i = 0; i < p.n_items; i++) {
        if (p.sums)
            scatter(p, p.item[i]);
        else
            gather(p, p.item[i]);
    }
    exchange(p, (int)blockIdx.x, number);
    for (int i = 0; i < p.n_items && p.sums; i++) {
        if (p.type == HAP_BF16)
            add<uint4>(p, p.item[i]);
        else
            add<float4>(p, p.item[i]);
    }
    if (p.sums && p.item[0].back[nth(p, 0)])
        exchange(p, CUDA_STORE_BLOCKS + (int)blockIdx.x, number);
}

extern "C" const char *cuda_store_run(const cuda_store *p, cudaStream_t s)
{
    store_parts<<<(unsigned)p->blocks, THREADS, 0, s>>>(*p);
    return launched();
}
