// Philox masks of dropout; their definition stands in ops_kernels.h.

#include "cpu/ops_kernels.h"

#include "core/philox.h"

static uint64_t mix(uint64_t z) // the finaliser of SplitMix64
{
    z += 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

uint64_t cpu_random_key(const hap_step_state *s, int64_t node)
{
    return mix(mix(mix(s->seed) ^ (uint64_t)s->step) ^ (uint64_t)node);
}

void cpu_dropout_scale(uint64_t key, int64_t e, int64_t n, float p, float *scale)
{
    float keep = 1.0f / (1.0f - p);
    uint32_t w[4] = {0};
    for (int64_t i = 0; i < n; i++, e++) {
        if (i == 0 || (e & 3) == 0) {
            uint64_t block = (uint64_t)e >> 2;
            hap_philox((const uint32_t[4]){(uint32_t)block, (uint32_t)(block >> 32), 0, 0}, key, w);
        }
        scale[i] = (float)(w[e & 3] >> 8) * 0x1p-24f >= p ? keep : 0.0f;
    }
}
