// Records that are right by construction: a random plan of a graph, without search, cost or
// syn_program.
//
// Every node gets a random form on every axis (cut by an even or an uneven table with empty shards,
// partial sums passed through, or none), every operand the conversions that this takes, collectives
// random forms and waits as late as the first use, buffers offsets by first fit over their
// lifetimes. What the checker must accept, and the material of the mutation test.

#ifndef HAP_TESTS_RECORD_GEN_H
#define HAP_TESTS_RECORD_GEN_H

#include "synth/record.h"

typedef struct gen_options {
    int n_axes, size[SYN_MAX_AXES];
    int n_classes; // ranks are dealt to them in turn
    uint64_t seed;
    bool keep_grads;
    int cut_percent; // how often a node is cut where it can be
} gen_options;

record *gen_record(hb_arena *a, const ir_graph *g, const ir_factors *f, const gen_options *o);
uint64_t gen_random(uint64_t *state); // SplitMix64

#endif
