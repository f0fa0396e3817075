// A pair whose matmuls and messages take what simple formulas say.

#ifndef HAP_TESTS_PAIR_MODEL_H
#define HAP_TESTS_PAIR_MODEL_H

#include <check.h>
#include <math.h>

#include "costmodel/overlap.h"

// A product of `step` seconds a tile of `tile` rows and `fixed` a call, by kind; messages of
// `latency` and `per_row` seconds.
typedef struct model {
    double fixed[2], step[2], latency, per_row;
    int64_t tile;
} model;

static inline double matmul(void *ctx, int kind, int64_t rows)
{
    const model *m = ctx;
    return m->fixed[kind] + m->step[kind] * (double)((rows + m->tile - 1) / m->tile);
}

static inline double message(void *ctx, int kind, int64_t rows)
{
    const model *m = ctx;
    (void)kind;
    return m->latency + m->per_row * (double)rows;
}

static const cost_contention undisturbed[2] = {{1, 1}, {1, 1}};
static const int same[COST_MAX_PAIR_RANKS];

static inline cost_pair pair_of(model *m, int n, const int64_t *rows)
{
    return (cost_pair){.copies = 1,
                       .n = n,
                       .rows = rows,
                       .n_kinds = 1,
                       .kind = same,
                       .matmul = matmul,
                       .message = message,
                       .ctx = m,
                       .beside = undisturbed};
}

static inline void near(double got, double want)
{
    ck_assert_double_eq_tol(got, want, 1e-9 * fabs(want) + 1e-12);
}

static unsigned long seed;

static inline double uniform(double lo, double hi)
{
    seed = seed * 6364136223846793005ul + 1442695040888963407ul;
    return lo + (hi - lo) * (double)(seed >> 40) / (double)(1ul << 24);
}

#endif
