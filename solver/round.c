#include <math.h>
#include <stdlib.h>

#include "solver/lp.h"

// The total is cut into ceil(total / grain) granules, the last of which may be short; boundaries
// are min(granules so far * grain, total). A weight of zero gets nothing.

typedef struct remainder_of {
    int64_t rest; // in 1e-9 granules
    int i;
} remainder_of;

static int larger_first(const void *x, const void *y)
{
    const remainder_of *a = x, *b = y;
    if (a->rest != b->rest) return a->rest < b->rest ? 1 : -1;
    return a->i - b->i;
}

// The rest to the largest remainders; where they are equal (up to rounding), to the first.
static void give_rest(int n, const double *weight, double largest, double sum, double whole,
                      int64_t left, int64_t *out)
{
    hb_arena *a = hb_arena_new();
    remainder_of *rest = HB_ARRAY(a, remainder_of, n);
    int m = 0;
    bool sorted = true;
    for (int i = 0; i < n; i++) {
        if (weight[i] <= 0) continue;
        double exact = weight[i] / largest / sum * whole;
        rest[m++] = (remainder_of){llround((exact - (double)out[i]) * 1e9), i};
        sorted = sorted && (m == 1 || rest[m - 2].rest >= rest[m - 1].rest);
    }
    if (!sorted) qsort(rest, (size_t)m, sizeof *rest, larger_first);
    for (int k = 0; left > 0; k = (k + 1) % m, left--)
        out[rest[k].i]++;
    hb_arena_free(a);
}

static double largest_of(int n, const double *weight)
{
    double largest = 0;
    for (int i = 0; i < n; i++) {
        hb_assert(isfinite(weight[i]) && weight[i] >= 0);
        if (weight[i] > largest) largest = weight[i];
    }
    hb_assert(largest > 0);
    return largest;
}

// From granules to what they hold.
static void measure(int64_t total, int64_t grain, int64_t granules, int n, int64_t *out)
{
    int64_t before = 0, end = 0; // end: in granules
    for (int i = 0; i < n; i++) {
        end += out[i];
        int64_t at = end == granules ? total : end * grain;
        out[i] = at - before;
        before = at;
    }
}

void lp_round(int64_t total, int64_t grain, int n, const double *weight, int64_t *out)
{
    hb_assert(n > 0 && total >= 0 && grain > 0);
    double largest = largest_of(n, weight), sum = 0;
    for (int i = 0; i < n; i++) // scaled: the sum of large weights may overflow
        sum += weight[i] / largest;

    int64_t granules = total / grain + (total % grain != 0), given = 0;
    double whole = (double)total / (double)grain;
    for (int i = 0; i < n; i++) {
        out[i] = (int64_t)floor(weight[i] / largest / sum * whole);
        if (out[i] > granules - given) out[i] = granules - given;
        given += out[i];
    }
    if (given < granules) give_rest(n, weight, largest, sum, whole, granules - given, out);
    measure(total, grain, granules, n, out);
}

// What each may have if none has more than `level` of its weight, and how much that is in all.
static int64_t up_to(double level, double largest, int n, const double *weight, int64_t *out)
{
    int64_t sum = 0;
    for (int i = 0; i < n; i++)
        sum += out[i] = (int64_t)floor(weight[i] / largest * level);
    return sum;
}

void lp_round_least_most(int64_t total, int64_t grain, int n, const double *weight, int64_t *out)
{
    hb_assert(n > 0 && total >= 0 && grain > 0);
    double largest = largest_of(n, weight), low = 0, high = 1;
    int64_t granules = total / grain + (total % grain != 0);
    while (up_to(high, largest, n, weight, out) < granules)
        high *= 2;
    for (double level; level = low + (high - low) / 2, low < level && level < high;)
        *(up_to(level, largest, n, weight, out) < granules ? &low : &high) = level;
    int64_t over = up_to(high, largest, n, weight, out) - granules;
    // Those that are at this level, the last first, have one less where that is too many.
    for (int i = n - 1; i >= 0 && over > 0; i--)
        if ((double)out[i] > weight[i] / largest * low) {
            out[i]--;
            over--;
        }
    hb_assert(over == 0);
    measure(total, grain, granules, n, out);
}
