// The arena of a program as numbers, without writing them into it: for tests and for comparing the
// rolled placement with the unrolled one. syn_arena is this with families, written down.

#ifndef HAP_SYNTH_ARENA_PLAN_H
#define HAP_SYNTH_ARENA_PLAN_H

#include "synth/plan/program.h"

typedef struct arena_size {
    int64_t sym, local[CL_MAX_CLASSES];
    int64_t sym_bound,
        local_bound[CL_MAX_CLASSES]; // most bytes live at once: no placement needs less
    int64_t ring_at[CL_MAX_CLASSES], ring[CL_MAX_CLASSES]; // in local: as of syn_program
    bool *in_ring;                                         // by buffer
} arena_size;

// off: by buffer and class. mod: by family (families only; else not touched).
arena_size arena_plan(hb_arena *a, const syn_program *p, bool families,
                      int64_t (*off)[CL_MAX_CLASSES], int *mod);

// Places every buffer of a rolled program.
void syn_arena(syn_program *p);
// The same, to know whether it fits: where no placement can, by what is held at once, buffers get
// no places and its sizes are those bytes. Whether they have places. least, if not NULL: where it
// fits, that is enough, its sizes need not be the smallest, and *least is the share of the fullest
// class's capacity that no placement is below; else *least stays.
bool syn_arena_settle(syn_program *p, double *least);
// Of a stage's placed program: the graph has another depth now, and so the ring as many places.
// What is packed stays where it lies, if that fits.
void syn_arena_places(syn_program *p);

#endif
