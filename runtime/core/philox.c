#include "core/philox.h"

#include <math.h>

uint64_t hap_tensor_key(const char *name, uint64_t seed)
{
    return hap_fnv1a(name) ^ seed * 0x9E3779B97F4A7C15u;
}

static void words(uint64_t block, uint64_t key, uint32_t u[4])
{
    uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), 0, 0};
    hap_philox(counter, key, u);
}

// Box and Muller: two uniforms give two independent normals.
void hap_philox_normal4(uint64_t block, uint64_t key, double out[4])
{
    uint32_t u[4];
    words(block, key, u);
    for (int i = 0; i < 4; i += 2) {
        double radius = sqrt(-2 * log(hap_uniform(u[i])));
        double angle = 6.283185307179586476925 * hap_uniform(u[i + 1]);
        out[i] = radius * cos(angle);
        out[i + 1] = radius * sin(angle);
    }
}

void hap_philox_uniform4(uint64_t block, uint64_t key, double out[4])
{
    uint32_t u[4];
    words(block, key, u);
    for (int i = 0; i < 4; i++)
        out[i] = hap_uniform(u[i]);
}

// A Feistel network over the smallest even number of bits that holds n, its rounds from Philox;
// what falls outside [0, n) is permuted again until it falls inside (cycle walking). A bijection
// for any round function; no memory, so any rank finds any row of any epoch.
int64_t hap_permute(int64_t i, int64_t n, uint64_t seed, uint64_t epoch)
{
    int half = 1;
    while (half < 31 && (int64_t)1 << (2 * half) < n)
        half++;
    uint32_t mask = (1u << half) - 1;
    uint64_t key = hap_tensor_key("hap.shuffle", seed);
    uint64_t x = (uint64_t)i;
    do {
        uint32_t left = (uint32_t)(x >> half) & mask, right = (uint32_t)x & mask;
        for (uint32_t round = 0; round < 6; round++) {
            uint32_t counter[4] = {right, round, (uint32_t)epoch, (uint32_t)(epoch >> 32)}, u[4];
            hap_philox(counter, key, u);
            uint32_t next = (left ^ u[0]) & mask;
            left = right;
            right = next;
        }
        x = (uint64_t)left << half | right;
    } while (x >= (uint64_t)n);
    return (int64_t)x;
}
