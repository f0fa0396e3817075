#include "synth/passes/small_buckets.h"

#include <math.h>

// When messages i .. j - 1 have been sent as a bucket, where those before them have at `free`; sum:
// of alone, of the first so many.
static double sent(const syn_messages *m, const double *sum, int i, int j, double free)
{
    return fmax(free, m->of[j - 1].made) + sum[j] - sum[i] - (j - i - 1) * m->saved;
}

// Forwards the soonest end; backwards as much in each bucket as still ends in time. What may end in
// time with less in its last bucket, may with more: a message takes as long at least before it.
double syn_small_buckets(const syn_messages *m, double near, bool *ends)
{
    hb_arena *a = hb_arena_new();
    double *end = HB_ARRAY(a, double, m->n + 1), *sum = HB_ARRAY(a, double, m->n + 1);
    for (int j = 1; j <= m->n; j++) {
        sum[j] = sum[j - 1] + m->of[j - 1].alone;
        end[j] = HUGE_VAL;
        for (int i = m->of[j - 1].first; i < j; i++)
            end[j] = fmin(end[j], sent(m, sum, i, j, end[i]));
        ends[j - 1] = false;
    }
    double until = end[m->n] * (1 + near);
    for (int j = m->n, i; j > 0; j = i) {
        i = m->of[j - 1].first;
        while (i + 1 < j && sent(m, sum, i, j, end[i]) > until)
            i++;
        ends[j - 1] = true;
        until -= sent(m, sum, i, j, 0) - m->of[j - 1].made;
    }
    double soonest = end[m->n];
    hb_arena_free(a);
    return soonest;
}
