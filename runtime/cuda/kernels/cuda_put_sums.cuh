// Sums of vectors of 16 bytes, 16-bit types in f32 and rounded once.

#ifndef HAP_RUNTIME_CUDA_PUT_SUMS_CUH
#define HAP_RUNTIME_CUDA_PUT_SUMS_CUH

#include <cstdint>
#include <cuda_bf16.h>

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

#endif
