#include "core/learning_rate.h"

#include <math.h>

double hap_lr_at(hap_lr lr, int64_t step)
{
    if (step < lr.warmup) return lr.lr * (double)(step + 1) / (double)lr.warmup;
    if (lr.cosine <= 0) return lr.lr;
    double low = lr.min_lr * lr.lr;
    if (step >= lr.cosine) return low;
    double done = (double)(step - lr.warmup) / (double)(lr.cosine - lr.warmup);
    return low + 0.5 * (1 + cos(3.14159265358979323846 * done)) * (lr.lr - low);
}
