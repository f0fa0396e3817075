// Sums of what came by one-sided puts.

#include "cuda/kernels/cuda_kernels.cuh"
#include "cuda/kernels/cuda_put_add.h"

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

template <typename V> struct sum_of; // of the elements of a V

template <> struct sum_of<float4> {
    float4 a;
    __device__ void first(float4 b) { a = b; }
    __device__ void add(float4 b) { a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w; }
    __device__ float4 get() const { return a; }
};

template <> struct sum_of<uint4> { // eight of bf16, in f32
    float a[8];
    __device__ static float low(uint32_t w) { return __uint_as_float(w << 16); }
    __device__ static float high(uint32_t w) { return __uint_as_float(w & 0xffff0000u); }
    __device__ static uint32_t both(float low, float high)
    {
        __nv_bfloat162 h = __floats2bfloat162_rn(low, high);
        return *(uint32_t *)&h;
    }
    __device__ void first(uint4 b)
    {
        a[0] = low(b.x), a[1] = high(b.x), a[2] = low(b.y), a[3] = high(b.y);
        a[4] = low(b.z), a[5] = high(b.z), a[6] = low(b.w), a[7] = high(b.w);
    }
    __device__ void add(uint4 b)
    {
        a[0] += low(b.x), a[1] += high(b.x), a[2] += low(b.y), a[3] += high(b.y);
        a[4] += low(b.z), a[5] += high(b.z), a[6] += low(b.w), a[7] += high(b.w);
    }
    __device__ uint4 get() const
    {
        return make_uint4(both(a[0], a[1]), both(a[2], a[3]), both(a[4], a[5]), both(a[6], a[7]));
    }
};

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
