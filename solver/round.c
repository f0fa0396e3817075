#include <math.h>

#include "solver/lp.h"

// The total is cut into ceil(total / grain) granules, the last of which may be short; boundaries
// are min(granules so far * grain, total). A weight of zero gets nothing.

void lp_round(int64_t total, int64_t grain, int n, const double *weight, int64_t *out)
{
    hb_assert(n > 0 && total >= 0 && grain > 0);
    double largest = 0, sum = 0;
    for (int i = 0; i < n; i++) {
        hb_assert(isfinite(weight[i]) && weight[i] >= 0);
        if (weight[i] > largest) largest = weight[i];
    }
    hb_assert(largest > 0);
    for (int i = 0; i < n; i++) // scaled: the sum of large weights may overflow
        sum += weight[i] / largest;

    int64_t granules = total / grain + (total % grain != 0), given = 0;
    double whole = (double)total / (double)grain;
    for (int i = 0; i < n; i++) {
        out[i] = (int64_t)floor(weight[i] / largest / sum * whole);
        if (out[i] > granules - given) out[i] = granules - given;
        given += out[i];
    }
    // The rest to the largest remainders; one that was served has dropped by 1 and comes last.
    for (int64_t left = granules - given; left > 0; left--) {
        int best = -1;
        double best_rest = (double)-INFINITY;
        for (int i = 0; i < n; i++) {
            double rest = weight[i] / largest / sum * whole - (double)out[i];
            if (weight[i] > 0 && rest > best_rest + 1e-9) {
                best = i;
                best_rest = rest;
            }
        }
        out[best]++;
    }
    int64_t before = 0, end = 0; // end: in granules
    for (int i = 0; i < n; i++) {
        end += out[i];
        int64_t at = end == granules ? total : end * grain;
        out[i] = at - before;
        before = at;
    }
}
