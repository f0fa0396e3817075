// Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
//
// A pure function of (counter, key): any element of any random tensor can be made anywhere, so that
// a run is the same for every number of ranks.

#ifndef HAP_RUNTIME_PHILOX_H
#define HAP_RUNTIME_PHILOX_H

#include <stdint.h>

static inline void hap_philox(const uint32_t counter[4], uint64_t key, uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = (uint32_t)key, k1 = (uint32_t)(key >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

// Uniform in (0, 1).
static inline double hap_uniform(uint32_t u)
{
    return ((double)u + 0.5) * 0x1p-32;
}

static inline uint64_t hap_fnv1a(const char *s)
{
    uint64_t h = 0xCBF29CE484222325u;
    for (; *s; s++)
        h = (h ^ (unsigned char)*s) * 0x100000001B3u;
    return h;
}

// Four elements 4*block .. 4*block+3 of a random tensor of this key.
uint64_t hap_tensor_key(const char *name, uint64_t seed);
void hap_philox_normal4(uint64_t block, uint64_t key, double out[4]);
void hap_philox_uniform4(uint64_t block, uint64_t key, double out[4]);

// Position i (0 <= i < n) of a permutation of n rows, by (seed, epoch).
int64_t hap_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch);

#endif
