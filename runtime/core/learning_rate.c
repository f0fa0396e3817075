#include "core/learning_rate.h"

#include <math.h>

// Share of the warm-up's end that step < warmup has.
static double warm(hap_lr lr, int64_t step)
{
    double w = (double)lr.warmup;
    if (!lr.has_start) return (double)(step + 1) / w;
    return lr.start + (1 - lr.start) * (double)step / w;
}

double hap_lr_at(hap_lr lr, int64_t step)
{
    int64_t begin = lr.warmup + lr.stable, end = lr.cosine > 0 ? lr.cosine : lr.linear;
    if (step < lr.warmup) return lr.lr * warm(lr, step);
    if (lr.inverse_sqrt > 0) {
        double t = (double)lr.inverse_sqrt;
        return lr.lr * sqrt(t / (t + (double)(step - lr.warmup)));
    }
    if (end <= 0 || step < begin) return lr.lr;
    double low = lr.min_lr * lr.lr;
    if (step >= end) return low;
    double done = (double)(step - begin) / (double)(end - begin);
    double left = lr.cosine > 0 ? 0.5 * (1 + cos(3.14159265358979323846 * done)) : 1 - done;
    return low + left * (lr.lr - low);
}
