// How near two runs of training are: the measures of design.md, section 6, over arrays by name.
//
// A parameter whose true gradient is zero (softmax ignores what attention's key bias adds) moves by
// AdamW's normalised rounding errors alone; where the reference's gradient is that small, the
// distance of parameters leaves it out. A bias of several projections in one (GPT-2's q, k, v) is
// simulated part by part: `parts` says how many equal parts the names that match have.

#ifndef HAP_TESTS_COMPARE_H
#define HAP_TESTS_COMPARE_H

#include "tests/support/arrays.h"

typedef struct compare_parts {
    const char *match; // glob on a parameter's name; NULL: none
    int n;
} compare_parts;

double compare_distance(const array *x, const array *y, int64_t from, int64_t to);

// The largest |a - b| / |b| of two lists, and where.
double compare_losses(const double *a, const double *b, int n, int *at);

// The worst ‖g − ref‖ / (1e-4·‖ref‖ + 1e-7·‖all ref‖) over ref's tensors, and its name; 1 is the
// limit. A tensor that g lacks, or of another size, gives infinity.
double compare_grads(const arrays *g, const arrays *ref, hb_str *worst);

// ‖p − ref‖ / ‖ref − start‖ over all tensors of ref together, but those parts whose gradient in
// `grads` is at most 1e-6 of the whole gradient; their elements are counted in *left_out. Infinity
// as above.
double compare_params(const arrays *p, const arrays *ref, const arrays *start, const arrays *grads,
                      compare_parts parts, int64_t *left_out);

#endif
