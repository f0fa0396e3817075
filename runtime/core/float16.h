// bf16 and f16 bits to f32 and back, to nearest even.

#ifndef HAP_RUNTIME_FLOAT16_H
#define HAP_RUNTIME_FLOAT16_H

#include <stdint.h>
#include <string.h>

static inline float hap_bits_f32(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static inline uint32_t hap_f32_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static inline float hap_bf16_to_f32(uint16_t h)
{
    return hap_bits_f32((uint32_t)h << 16);
}

static inline uint16_t hap_f32_to_bf16(float f)
{
    uint32_t u = hap_f32_bits(f);
    if ((u & 0x7FFFFFFFu) > 0x7F800000u) return (uint16_t)(u >> 16 | 0x40u); // NaN stays NaN
    return (uint16_t)((u + 0x7FFFu + (u >> 16 & 1u)) >> 16);
}

static inline float hap_f16_to_f32(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000u) << 16, e = h >> 10 & 31u, m = h & 1023u;
    if (e == 31u) return hap_bits_f32(sign | 0x7F800000u | m << 13);
    if (e) return hap_bits_f32(sign | (e + 112u) << 23 | m << 13);
    float f = (float)m * 0x1p-24f; // zero and subnormals, exactly
    return sign ? -f : f;
}

static inline uint16_t hap_f32_to_f16(float f)
{
    uint32_t u = hap_f32_bits(f), sign = u >> 16 & 0x8000u, a = u & 0x7FFFFFFFu;
    if (a > 0x7F800000u) return (uint16_t)(sign | 0x7E00u);
    if (a >= 0x477FF000u) return (uint16_t)(sign | 0x7C00u); // rounds to 65536 or more
    if (a < 0x38800000u) {                                   // below 2^-14: in units of 2^-24
        float scaled = hap_bits_f32(a) * 0x1p24f, low = (float)(uint32_t)scaled, d = scaled - low;
        uint32_t m = (uint32_t)scaled;
        if (d > 0.5f || (d >= 0.5f && (m & 1u))) m++;
        return (uint16_t)(sign | m);
    }
    uint32_t r = a + 0xFFFu + (a >> 13 & 1u);
    return (uint16_t)(sign | (r - 0x38000000u) >> 13);
}

#endif
