// Records that are right by construction: a random plan of a graph, without search, cost or
// syn_program.
//
// Every node gets a random form on every axis (cut by an even or an uneven table with empty shards,
// partial sums passed through, or none), every operand the conversions that this takes, collectives
// random forms and waits as late as the first use, buffers offsets by first fit over their
// lifetimes. What the checker must accept, and the material of the mutation test.

#ifndef HAP_TESTS_RECORD_GEN_H
#define HAP_TESTS_RECORD_GEN_H

#include "synth/certify/record.h"

typedef struct gen_options {
    int n_axes, size[SYN_MAX_AXES];
    int n_classes; // ranks are dealt to them in turn
    uint64_t seed;
    bool keep_grads;
    int cut_percent; // how often a node is cut where it can be
} gen_options;

// What the op calls of a generated record are: their nodes, and where their outputs are partial
// sums ('s'), partial maxima ('m') or neither (0).
typedef struct gen_op {
    int call, node;
    char partial[IR_MAX_OUT][SYN_MAX_AXES];
} gen_op;
typedef struct gen_trace {
    HB_VEC(gen_op) ops; // in the order of the calls
} gen_trace;

// trace may be NULL.
record *gen_record(hb_arena *a, const ir_graph *g, const ir_factors *f, const gen_options *o,
                   gen_trace *trace);
void record_place(hb_arena *a, record *r); // fills offsets and segment sizes (record_place.c)
uint64_t gen_random(uint64_t *state);      // SplitMix64

#endif
