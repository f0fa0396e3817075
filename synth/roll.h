// Parts of syn_roll: shapes of instructions, loops, families. Private to roll*.c and their tests.

#ifndef HAP_SYNTH_ROLL_H
#define HAP_SYNTH_ROLL_H

#include "synth/program.h"

typedef struct roll {
    hb_arena *arena; // dies with syn_roll
    syn_program *p;
    int *shape; // by instr: equal for instructions that one statement of a block can stand for
    int *look;  // by buffer: equal for buffers that one declaration of a block can stand for
} roll;

enum { ROLL_MAX_LEN = 4096 };

void roll_shapes(roll *r);   // roll_shape.c
void roll_loops(roll *r);    // roll.c
void roll_families(roll *r); // roll_family.c

int roll_slots(const syn_instr *in);          // out, then in, then scratch
int roll_slot(const syn_instr *in, int slot); // its buffer
// Buffer of a slot of body instruction j in repetition rep.
int roll_at(const syn_program *p, const syn_loop *l, int rep, int j, int slot);

#endif
