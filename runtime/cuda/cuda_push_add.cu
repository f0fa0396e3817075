// Sums of what came by push.

#include "cuda/cuda_kernels.cuh"
#include "cuda/cuda_push.h"

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

// 16 bytes at a time.
static __global__ void add_bf16(uint4 *y, parts p, int64_t n)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        float a[8];
        for (int m = 0; m < p.n; m++) {
            uint4 v = ((const uint4 *)part_of(p, m))[i];
            const uint32_t w[4] = {v.x, v.y, v.z, v.w};
            for (int k = 0; k < 4; k++) {
                float low = __uint_as_float(w[k] << 16), high = __uint_as_float(w[k] & 0xffff0000u);
                a[2 * k] = m ? a[2 * k] + low : low;
                a[2 * k + 1] = m ? a[2 * k + 1] + high : high;
            }
        }
        uint32_t w[4];
        for (int k = 0; k < 4; k++) {
            __nv_bfloat162 h = __floats2bfloat162_rn(a[2 * k], a[2 * k + 1]);
            w[k] = *(uint32_t *)&h;
        }
        y[i] = make_uint4(w[0], w[1], w[2], w[3]);
    }
}

static __global__ void add_f32(float4 *y, parts p, int64_t n)
{
    int64_t step = (int64_t)gridDim.x * blockDim.x;
    for (int64_t i = blockIdx.x * (int64_t)blockDim.x + threadIdx.x; i < n; i += step) {
        float4 a = ((const float4 *)part_of(p, 0))[i];
        for (int m = 1; m < p.n; m++) {
            float4 b = ((const float4 *)part_of(p, m))[i];
            a.x += b.x, a.y += b.y, a.z += b.z, a.w += b.w;
        }
        y[i] = a;
    }
}

// --- the same with all slots of an element loaded before the first is added ---

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

template <typename V, int MEMBERS> static __global__ void add_wide(V *y, parts p, int64_t n)
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

// False: not so many members.
template <typename V> static bool wide(cudaStream_t s, void *y, const parts &p, int64_t n)
{
    enum { THREADS = 256 };
    unsigned blocks = blocks_for(n, THREADS);
    switch (p.n) {
    case 2:
        add_wide<V, 2><<<blocks, THREADS, 0, s>>>((V *)y, p, n);
        return true;
    case 4:
        add_wide<V, 4><<<blocks, THREADS, 0, s>>>((V *)y, p, n);
        return true;
    case 8:
        add_wide<V, 8><<<blocks, THREADS, 0, s>>>((V *)y, p, n);
        return true;
    }
    return false;
}

extern "C" const char *cuda_push_add(cudaStream_t s, bool load_all, hap_dtype type, void *y,
                                     const void *slots, int64_t pitch, int n_members, int me,
                                     const void *own, int64_t elements)
{
    enum { THREADS = 512 };
    parts p = {(const char *)slots, (const char *)own, pitch, n_members, me};
    uintptr_t all = (uintptr_t)y | (uintptr_t)slots | (uintptr_t)own | (uintptr_t)pitch;
    if (elements == 0) return NULL;
    if (type == HAP_BF16 && all % 16 == 0 && elements % 8 == 0) {
        if (load_all && wide<uint4>(s, y, p, elements / 8)) return launched();
        add_bf16<<<blocks_for(elements / 8, THREADS), THREADS, 0, s>>>((uint4 *)y, p, elements / 8);
    } else if (type == HAP_F32 && all % 16 == 0 && elements % 4 == 0) {
        if (load_all && wide<float4>(s, y, p, elements / 4)) return launched();
        add_f32<<<blocks_for(elements / 4, THREADS), THREADS, 0, s>>>((float4 *)y, p, elements / 4);
    } else if (cuda_is_float(type)) {
        add_floats<<<blocks_for(elements, THREADS), THREADS, 0, s>>>(view{y, (int)type}, p,
                                                                     elements);
    } else {
        add_ints<<<blocks_for(elements, THREADS), THREADS, 0, s>>>(view{y, (int)type}, p, elements);
    }
    return launched();
}
