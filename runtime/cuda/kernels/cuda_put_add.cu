// Sums of what came by one-sided puts.

#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_put_add.h"
#include "cuda/kernels/cuda_put_sums.cuh"

// Where the parts lie: member m's at slots + m * pitch, this rank's at own.
struct parts {
    const char *slots, *own;
    int64_t pitch;
    int n, me;
};

__device__ static const char *part_of(const parts &p, int m)
{
    return m == p.me ? p.own : p.slots + m * p.pitch;
}

static __global__ void add_floats(view y, parts p, int64_t n)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        float a = load(view{(void *)part_of(p, 0), y.type}, i);
        for (int m = 1; m < p.n; m++)
            a += load(view{(void *)part_of(p, m), y.type}, i);
        store(y, i, a);
    }
}

static __global__ void add_ints(view y, parts p, int64_t n)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        int64_t a = load_int(view{(void *)part_of(p, 0), y.type}, i);
        for (int m = 1; m < p.n; m++) {
            int64_t b = load_int(view{(void *)part_of(p, m), y.type}, i);
            a = y.type == HAP_BOOL ? (a | b) : a + b; // a sum of truth values is "any"
        }
        store_int(y, i, a);
    }
}

// --- vectors of 16 bytes: all of an element's slots are loaded before they are added ---

template <typename V, int MEMBERS> static __global__ void add_vectors(V *y, parts p, int64_t n)
{
    const V *x[MEMBERS];
#pragma unroll
    for (int m = 0; m < MEMBERS; m++)
        x[m] = (const V *)part_of(p, m);
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        V v[MEMBERS];
        sum_of<V> s;
#pragma unroll
        for (int m = 0; m < MEMBERS; m++)
            v[m] = __ldcs(x[m] + i); // read once
        s.first(v[0]);
#pragma unroll
        for (int m = 1; m < MEMBERS; m++)
            s.add(v[m]);
        y[i] = s.get();
    }
}

// False: more members than these.
template <typename V> static bool add(cudaStream_t s, void *y, const parts &p, int64_t n)
{
    enum { THREADS = 256 };
    unsigned blocks = blocks_for(n, THREADS);
    switch (p.n) {
#define ADD(MEMBERS)                                                                               \
    case MEMBERS:                                                                                  \
        add_vectors<V, MEMBERS><<<blocks, THREADS, 0, s>>>((V *)y, p, n);                          \
        return true;
        ADD(2)
        ADD(3)
        ADD(4)
        ADD(5)
        ADD(6)
        ADD(7)
        ADD(8)
#undef ADD
    }
    return false;
}

extern "C" const char *cuda_put_add(cudaStream_t s, hap_dtype type, void *y, const void *slots,
                                    int64_t pitch, int n_members, int me, const void *own,
                                    int64_t elements)
{
    enum { THREADS = 512 };
    parts p = {(const char *)slots, (const char *)own, pitch, n_members, me};
    uintptr_t all = (uintptr_t)y | (uintptr_t)slots | (uintptr_t)own | (uintptr_t)pitch;
    bool aligned = all % 16 == 0;
    if (elements == 0) return NULL;
    if (type == HAP_BF16 && aligned && elements % 8 == 0 && add<uint4>(s, y, p, elements / 8))
        return launched();
    if (type == HAP_F32 && aligned && elements % 4 == 0 && add<float4>(s, y, p, elements / 4))
        return launched();
    unsigned blocks = blocks_for(elements, THREADS);
    if (cuda_is_float(type))
        add_floats<<<blocks, THREADS, 0, s>>>(view{y, (int)type}, p, elements);
    else
        add_ints<<<blocks, THREADS, 0, s>>>(view{y, (int)type}, p, elements);
    return launched();
}
