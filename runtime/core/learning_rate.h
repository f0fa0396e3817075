// The learning rate of a step.
#ifndef HAP_RUNTIME_LEARNING_RATE_H
#define HAP_RUNTIME_LEARNING_RATE_H

#include "hap/runtime.h"

// Linear over `warmup` steps, lr (s + 1) / warmup; then a cosine from lr down to min_lr * lr at
// step `cosine` (counted from the start of training), and that from there on. Without cosine: lr.
double hap_lr_at(hap_lr lr, int64_t step);

#endif
