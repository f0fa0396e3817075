// What the kinds of faults of a plan of stages share: what may be changed of it.

#ifndef HAP_TESTS_MUTATE_STAGES_PARTS_H
#define HAP_TESTS_MUTATE_STAGES_PARTS_H

#include "tests/certify/mutate_parts.h"
#include "tests/certify/mutate_stages.h"

typedef struct sf {
    hb_arena *a;
    const syn_staged *was;
    const record *const *rec;
    syn_staged *p;
    mut *calls;     // by stage; r NULL: not asked for yet
    int left, seen; // places until the one that is wanted; so far
    int stage;      // where that is
} sf;

// Is this place the one that is wanted? Then the fault is made, and the function gives true.
bool sf_here(sf *x, int stage);
// A stage's program, graph (its program's, too) and record, to be changed.
syn_program *sf_program(sf *x, int s);
ir_graph *sf_graph(sf *x, int s);
mut *sf_calls(sf *x, int s);

// The calls of a record that send or receive.
bool sf_is_end(const rec_call *k, unsigned end); // IR_SEND, IR_RECV
int64_t sf_attr(const rec_call *k, const char *name);
void sf_set_attr(mut *m, int c, const char *name, int64_t value);

#define X(name, function, of) bool sf_##function(sf *x);
STAGE_FAULTS(X)
#undef X

#endif
