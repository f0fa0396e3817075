// Elements of tensors in memory and in registers, for generated kernels (kernels.cuh).
//
// Values are f32 in registers: one, or a vec of as many as are read at once. A pack is eight
// elements as memory holds them. Included by NVRTC: no header stands above it.

#ifndef HAP_ELEMENTS_CUH
#define HAP_ELEMENTS_CUH

namespace hap
{

typedef long long i64;
typedef float f32;
struct bf16 {
    unsigned short bits;
};
struct f16 {
    unsigned short bits;
};
struct boolean {
    unsigned char set;
};

template <int V> struct vec {
    float x[V];
};
template <int V> struct width {
    static constexpr int value = V;
};

// --- elements ---

__device__ inline float to_f32(bf16 v)
{
    return __uint_as_float((unsigned)v.bits << 16);
}

__device__ inline float to_f32(f16 v)
{
    float y;
    asm("cvt.f32.f16 %0, %1;" : "=f"(y) : "h"(v.bits));
    return y;
}

__device__ inline float to_f32(float v)
{
    return v;
}

__device__ inline float to_f32(boolean v)
{
    return v.set ? 1.0f : 0.0f;
}

template <class T> __device__ inline T from_f32(float v);
template <> __device__ inline float from_f32<float>(float v)
{
    return v;
}
template <> __device__ inline bf16 from_f32<bf16>(float v)
{
    bf16 y;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(v));
    return y;
}
template <> __device__ inline f16 from_f32<f16>(float v)
{
    f16 y;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(v));
    return y;
}
template <> __device__ inline boolean from_f32<boolean>(float v)
{
    return {(unsigned char)(v != 0.0f)};
}

template <class T> __device__ inline float as(float v)
{
    return to_f32(from_f32<T>(v));
}

template <class T> __device__ inline float load_one(const T *p, i64 i)
{
    return to_f32(p[i]);
}

template <class T> __device__ inline void store_one(T *p, i64 i, float v)
{
    p[i] = from_f32<T>(v);
}

// Eight elements as memory holds them, in words.
template <class T> struct pack {
    unsigned w[2 * sizeof(T)];
};

// p is aligned to eight elements, or to 16 bytes.
template <class T> __device__ inline pack<T> read(const T *p)
{
    pack<T> y;
    if constexpr (sizeof(T) == 1) {
        uint2 u = *(const uint2 *)p;
        y.w[0] = u.x, y.w[1] = u.y;
    } else {
#pragma unroll
        for (int k = 0; k < (int)sizeof(T) / 2; k++) {
            uint4 u = ((const uint4 *)p)[k];
            y.w[4 * k] = u.x, y.w[4 * k + 1] = u.y, y.w[4 * k + 2] = u.z, y.w[4 * k + 3] = u.w;
        }
    }
    return y;
}

template <class T> __device__ inline void write(T *p, const pack<T> &v)
{
    if constexpr (sizeof(T) == 1) {
        *(uint2 *)p = make_uint2(v.w[0], v.w[1]);
    } else {
#pragma unroll
        for (int k = 0; k < (int)sizeof(T) / 2; k++)
            ((uint4 *)p)[k] =
                make_uint4(v.w[4 * k], v.w[4 * k + 1], v.w[4 * k + 2], v.w[4 * k + 3]);
    }
}

__device__ inline vec<8> unpacked(const pack<float> &v)
{
    vec<8> y;
#pragma unroll
    for (int k = 0; k < 8; k++)
        y.x[k] = __uint_as_float(v.w[k]);
    return y;
}
__device__ inline vec<8> unpacked(const pack<bf16> &v)
{
    vec<8> y;
#pragma unroll
    for (int k = 0; k < 4; k++) {
        y.x[2 * k] = __uint_as_float(v.w[k] << 16);
        y.x[2 * k + 1] = __uint_as_float(v.w[k] & 0xFFFF0000u);
    }
    return y;
}
__device__ inline vec<8> unpacked(const pack<f16> &v)
{
    vec<8> y;
#pragma unroll
    for (int k = 0; k < 8; k++)
        y.x[k] = to_f32(f16{(unsigned short)(v.w[k / 2] >> k % 2 * 16)});
    return y;
}
__device__ inline vec<8> unpacked(const pack<boolean> &v)
{
    vec<8> y;
#pragma unroll
    for (int k = 0; k < 8; k++)
        y.x[k] = to_f32(boolean{(unsigned char)(v.w[k / 4] >> k % 4 * 8)});
    return y;
}

// Two elements of 16 bits at once.
__device__ inline unsigned two(bf16, float low, float high)
{
    unsigned y;
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}
__device__ inline unsigned two(f16, float low, float high)
{
    unsigned y;
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(y) : "f"(high), "f"(low));
    return y;
}

template <class T> __device__ inline pack<T> packed(const vec<8> &v)
{
    pack<T> y;
    if constexpr (sizeof(T) == 4) {
#pragma unroll
        for (int k = 0; k < 8; k++)
            y.w[k] = __float_as_uint(v.x[k]);
    } else if constexpr (sizeof(T) == 2) {
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.w[k] = two(T(), v.x[2 * k], v.x[2 * k + 1]);
    } else {
        y.w[0] = y.w[1] = 0;
#pragma unroll
        for (int k = 0; k < 8; k++)
            y.w[k / 4] |= (unsigned)from_f32<T>(v.x[k]).set << k % 4 * 8;
    }
    return y;
}

template <class T, int V> __device__ inline vec<V> as(vec<V> v)
{
    if constexpr (V == 8)
        return unpacked(packed<T>(v));
    else
        return {as<T>(v.x[0])};
}

// `packed` of values that elements of the type have: those of bf16 are their upper halves.
template <class T> struct exactly {
    __device__ static pack<T> of(const vec<8> &v) { return packed<T>(v); }
};
template <> struct exactly<bf16> {
    __device__ static pack<bf16> of(const vec<8> &v)
    {
        pack<bf16> y;
#pragma unroll
        for (int k = 0; k < 4; k++)
            y.w[k] = __float_as_uint(v.x[2 * k]) >> 16 |
                     (__float_as_uint(v.x[2 * k + 1]) & 0xFFFF0000u);
        return y;
    }
};

// V = 8 wants i a multiple of 8.
template <int V, class T> __device__ inline vec<V> load(width<V>, const T *p, i64 i)
{
    vec<V> y;
    if constexpr (V == 8)
        y = unpacked(read(p + i));
    else
        y.x[0] = to_f32(p[i]);
    return y;
}

// v: values that elements of the type have.
template <int V, class T> __device__ inline void store(T *p, i64 i, vec<V> v)
{
    if constexpr (V == 8)
        write(p + i, exactly<T>::of(v));
    else
        p[i] = from_f32<T>(v.x[0]);
}

// Entries j.. of a vector of the row's length; aligned where j is a multiple of 8.
template <int V, class T> __device__ inline vec<V> load_column(width<V> w, const T *p, i64 j)
{
    vec<V> y;
    if (V == 1 || j % 8 == 0) {
        y = load(w, p, j);
    } else {
        for (int k = 0; k < V; k++)
            y.x[k] = to_f32(p[j + k]);
    }
    return y;
}

// Element i of what repeats every `count` elements.
template <int V, class T> __device__ inline vec<V> load_tail(width<V> w, const T *p, i64 i, i64 count)
{
    vec<V> y;
    bool small = i <= 0x7FFFFFFF && count <= 0x7FFFFFFF;
    i64 at = small ? (i64)((unsigned)i % (unsigned)count) : i % count;
    if (V == 1 || count % 8 == 0) {
        y = load(w, p, at);
    } else {
        for (int k = 0; k < V; k++) {
            y.x[k] = to_f32(p[at]);
            at = at + 1 == count ? 0 : at + 1;
        }
    }
    return y;
}

} // namespace hap

#endif
