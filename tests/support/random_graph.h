// Seeded generator of small valid graphs, for property tests of the ir, the search's oracle and the
// checker. The same seed gives the same graph.
//
//     ir_graph *g = random_graph(a, 42, (random_graph_options){.n_ops = 6, .train = true});
//
// n_ops counts rows of the forward pass up to the loss, roughly: rows that come in groups (softmax,
// layer norm) are finished. Dims are small (2 to 6) matmuls with common divisors, so that reshape,
// split and slice meet both aligned and unaligned cases.

#ifndef HAP_TESTS_RANDOM_GRAPH_H
#define HAP_TESTS_RANDOM_GRAPH_H

#include "ir/graph.h"

typedef struct random_graph_options {
    int n_ops;
    bool train;  // with loss, backward pass and optimizer
    bool linear; // only rows whose values stay small integers under exact arithmetic: no exp, norm,
                 // div
    ir_precision precision; // with casts before the gradients
    ir_dtype grad_dtype;
} random_graph_options;

ir_graph *random_graph(hb_arena *a, uint64_t seed, random_graph_options o);

// The generator, for tests that draw more.
typedef struct random_source {
    uint64_t state;
} random_source;
int random_below(random_source *r, int n); // [0, n)

#endif
