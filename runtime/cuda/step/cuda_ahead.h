// From which call of a recorded step on a collective by one-sided puts may be written to.
//
// The credits of a one-sided put (cuda_put.h) say that other ranks may write into its destination
// and scratch. They are given when the compute stream comes to the one-sided put; where the step is
// known as a list they can be given before, after any call from which on none touches those bytes,
// so that they are there when the others want to send. Of each axis mask they are given in the
// order of the list. A pair and a collective in place give their own, and none behind them are
// given before.
//
//     cuda_ahead_find(list);            // once the list is final
//     cuda_ahead_begin(list);           // each step
//     after call i, or before the first (i = -1), and by no captured part of a step:
//         while ((k = cuda_ahead_next(list, axes, i)) >= 0) give those of call k

#ifndef HAP_RUNTIME_CUDA_AHEAD_H
#define HAP_RUNTIME_CUDA_AHEAD_H

#include "cuda/fuse/cuda_record.h"

void cuda_ahead_find(cuda_record *c);
void cuda_ahead_begin(cuda_record *c);
int cuda_ahead_next(cuda_record *c, unsigned axes, int i); // -1: none

#endif
