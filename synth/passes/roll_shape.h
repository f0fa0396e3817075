// Shapes of instructions: what one statement of a block can stand for. Private to roll*.c and their
// tests.

#ifndef HAP_SYNTH_ROLL_SHAPE_H
#define HAP_SYNTH_ROLL_SHAPE_H

#include "synth/plan/program.h"

// How long the buffers of one slot of a loop live. One stride cannot serve both kinds.
typedef enum {
    ROLL_ANY,     // at the end of a loop both are the same
    ROLL_PASSING, // dead before the loop ends
    ROLL_SAVED    // there for longer than a few repetitions, and when the loop ends
} roll_life;

typedef struct roll {
    hb_arena *arena; // dies with syn_roll
    syn_program *p;
    int *shape; // by instr: equal for instructions that one statement of a block can stand for
    int *look;  // by buffer: equal for buffers that one declaration of a block can stand for
    int *birth, *death; // by buffer: instructions
    roll_life *life;    // by buffer: as the loop that makes it says
} roll;

void roll_shapes(roll *r);

int roll_slots(const syn_instr *in);          // out, then in, then scratch
int roll_slot(const syn_instr *in, int slot); // its buffer
// Buffer of a slot of body instruction j in repetition rep.
int roll_at(const syn_program *p, const syn_loop *l, int rep, int j, int slot);

#endif
