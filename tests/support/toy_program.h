// Programs made by hand, without search or shapes: for tests of the arena and of rolling.
//
//     toy *t = toy_new(3);                                  // three classes
//     int x = toy_buffer(t, SYN_ROLE_INPUT, "x", 1000);     // bytes; class c has c * 256 less
//     int y = toy_op1(t, IR_OP_relu, "h.0.relu", x);        // a new value as large as x
//     toy_wait(t, toy_start(t, COST_ALL_REDUCE, y, z, 0));

#ifndef HAP_TESTS_TOY_PROGRAM_H
#define HAP_TESTS_TOY_PROGRAM_H

#include "synth/plan/program.h"

typedef struct toy {
    hb_arena *arena;
    ir_graph *g;
    syn_program *p;
} toy;

toy *toy_new(int classes);
void toy_free(toy *t);
int toy_buffer(toy *t, syn_role role, const char *name, int64_t bytes);
// Appends an op instruction with a node of its own; out and in are buffers.
int toy_op(toy *t, ir_op op, ir_phase phase, const char *name, int n_out, const int *out, int n_in,
           const int *in);
int toy_op1(toy *t, ir_op op, const char *name, int in); // returns the new buffer
int toy_start(toy *t, cost_coll coll, const char *name, int in, int out,
              int scratch); // scratch: buffer, -1
int toy_wait(toy *t, int start);

// A random program of `layers` equal layers forward, backward and update, with saved activations,
// views, all-reduces and gathers that cross layers. noise: instructions strewn in that break the
// repetition.
toy *toy_random_layers(uint64_t seed, int layers, int noise);
toy *toy_random(uint64_t seed, int n_instr); // no structure at all

#endif
