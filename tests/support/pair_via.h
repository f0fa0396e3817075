// May a chunk of a pair be passed on by the member `via` behind the owner? By the definition
// (runtime.h), on a grid that every end of a part falls on: none of the rows come there later.

#ifndef HAP_TESTS_PAIR_VIA_H
#define HAP_TESTS_PAIR_VIA_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>

// Where the part of chunk k begins of a distance's `rows`, and where it ends.
static inline void pair_via_part(const int64_t (*chunk)[3], int n, int k, double rows, double *lo,
                                 double *hi)
{
    double before = 0, all = 0;
    for (int i = 0; i < n; i++) {
        if (chunk[i][0] != chunk[k][0]) continue;
        if (i < k) before += (double)llabs(chunk[i][1]);
        all += (double)llabs(chunk[i][1]);
    }
    *lo = rows * before / all;
    *hi = rows * (before + (double)llabs(chunk[k][1])) / all;
}

static inline bool pair_via_fits(const int64_t (*chunk)[3], int n, int k, int64_t via)
{
    // Ends of two distances that are not the same share lie 1 / (sum of the one * of the other)
    // apart at least.
    const double rows = 1e9, near = 0.1;
    double lo, hi, from, to;
    if (via == 0 || chunk[k][0] == 0 || via == chunk[k][0]) return via == 0;
    pair_via_part(chunk, n, k, rows, &lo, &hi);
    for (int i = k + 1; i < n; i++) {
        if (chunk[i][0] != via) continue;
        pair_via_part(chunk, n, i, rows, &from, &to);
        if (from + near < hi && lo + near < to) return false;
    }
    return true;
}

#endif
