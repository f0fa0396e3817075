// The learning rate of a step.
#ifndef HAP_RUNTIME_LEARNING_RATE_H
#define HAP_RUNTIME_LEARNING_RATE_H

#include "hap/runtime.h"

// Of step s = 0, 1, …, counted from the start of training:
//
//   s < warmup       lr (s + 1) / warmup; has_start: from start * lr at step 0 in a line to lr
//   inverse_sqrt T   lr sqrt(T / (T + s - warmup))
//   s < warmup + stable                 lr
//   cosine or linear N                  from there down to min_lr * lr at step N, along a half
//                                       cosine or a line, and that from there on
//   none of them     lr
double hap_lr_at(hap_lr lr, int64_t step);

#endif
