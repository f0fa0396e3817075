// When every buffer is alive, and which buffers may be one place.
//
// Positions are instruction indices; -1 is before the step, n_instr its end. A *cell* is a set of
// buffers that lie on the same bytes: views (a reshape and its operand), an all-reduce in place, or
// buffers that follow each other. Cells of a family stand in a *unit*, in family order; every other
// cell is a unit alone. Families of one unit count their members alike: member k of each lies in
// cell k.

#ifndef HAP_SYNTH_LIVENESS_H
#define HAP_SYNTH_LIVENESS_H

#include "synth/plan/program.h"

typedef struct arena_cell {
    int def, last;       // first write (-1: before the step) and end of the last use
    int last_by, before; // the instruction of that use, -1 none; end of the last use by any other
    int first_over,
        last_over; // writes that take the place of an earlier value of the cell; INT_MAX, INT_MIN
    int held_from, held_to; // from the first start to the last wait of collectives that read it
    bool through;           // used in the slot and made before it: all micro-batches need it
    bool wraps;             // read after the end of the step, before the next inputs come
    int unit, index;        // cell `index` of the unit
} arena_cell;

typedef struct arena_live {
    hb_arena *arena;
    const syn_program *p;
    int *parent;      // by buffer: union-find; the root stands for the cell
    arena_cell *cell; // by buffer, valid at roots
    syn_slot slot;
    int n_units;
    struct arena_members {
        int n;
        int *root; // by index in the unit: a buffer of the cell
        bool family;
    } * unit; // those with n == 0 were taken into others
} arena_live;

// families: false to place every buffer for itself.
arena_live *arena_live_new(hb_arena *a, const syn_program *p, bool families);
int arena_last(const arena_live *l, const arena_cell *c); // with the micro-batches to come
int arena_root(arena_live *l, int buffer);

// First and last instruction at which a buffer of the program is in use (birth > death: never);
// homes and constants always are.
void syn_lifetimes(const syn_program *p, int *birth, int *death);
// How often a buffer counts among the live bytes: one that is in use in more than one phase of a
// folded step is held once for each of those that its value stands for (ir/fold.h); else 1.
double *syn_held_times(hb_arena *a, const syn_program *p, const int *birth, const int *death);
// Largest share of a class's capacity that buffers take at once, each for itself, with what is held
// beside them (padded_bytes, work_bytes, as far as known): both segments together or, with `one`,
// as if they were one.
double syn_live_share(const syn_program *p, bool one);
// The same in bytes, by class of the mesh, both segments together.
void syn_live_bytes(const syn_program *p, double *bytes);

#endif
