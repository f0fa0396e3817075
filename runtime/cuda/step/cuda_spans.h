// The list of a step in parts: runs of live calls and runs between them, which are captured; and
// which of these are the same work, so that one graph does for them.
//
// The slots of a stage make the same calls for each micro-batch, on tensors in the place of its
// ring. Where two parts agree in everything that a call says (ops, attributes, where tensors lie)
// they are the same work: a kernel reads what changes from step to step from device memory. Not the
// same are parts with dropout, whose offset is an attribute, and with a tensor that has left the
// arena. Parts with collectives are graphs of their own.

#ifndef HAP_RUNTIME_CUDA_SPANS_H
#define HAP_RUNTIME_CUDA_SPANS_H

#include "cuda/fuse/cuda_record.h"

typedef struct cuda_span {
    int from, to; // calls of the list
    bool live;
    int as; // the first part that is the same work, itself if there is none before; -1: live
} cuda_span;

// Malloced; *n of them. The last one is like no other: a step ends in it (cuda_step_ends).
cuda_span *cuda_spans(hap_rank *r, const cuda_record *list, const bool *live, int *n);

#endif
