// Bytes that every program of a choice holds while a node runs, however it is scheduled and placed:
//
//     homes, moments, constants   their bytes, always
//     a value (or input) made before and read after the node: of the buffers on the way from
//     where it is kept to what its last reader takes, one is live; the smallest is counted. Only
//     collectives start early: from the first slice on, the way is gone where the reader is
//     what the node itself reads and makes, in the states of its form
//     a second copy read once before and once after: the same from the copy on. A choice whose copy
//     has less than two readers stands for the cheaper one without it. Of three readers or more:
//     between the first two if the first takes the copy, between the last two if the last does
//     beside the arena, on GPUs: the padded copies of one op, the workspace of one
//
// Ops keep their order under every schedule; of values that are views of each other one is counted.
// Two other values that are live at once never share bytes. Equal conversions count each: they are
// made once only in a plan that fits without (share_moves.h).

#ifndef HAP_SYNTH_LIVE_BOUND_H
#define HAP_SYNTH_LIVE_BOUND_H

#include "synth/space/space.h"

// Bytes over one variable or an edge, counted while node p runs, from < p < to. There are many:
// floats, rounded down where they are not exact.
typedef struct syn_live_term {
    int a, b;           // variables; b = -1: unary
    int from, to;       // nodes
    const float *bytes; // [class][domain a][domain b], shared between equal kinds
} syn_live_term;

typedef struct syn_live_bound {
    hb_arena *arena;
    const syn_space *s;
    HB_VEC(syn_live_term) terms;
    syn_live_term likely; // what most programs hold and some may not; bytes NULL: nothing is known
    // While it is made.
    hb_arena *scratch;
    hb_map *tables;
    HB_VEC(const float *) known;
    const double **least[2]; // [early], by kind of tensor: smallest buffer on the way
} syn_live_bound;

syn_live_bound *syn_live_bound_new(hb_arena *a, const syn_space *s);
// Counts that, too, from now on: for what may fit, not for bounds. False: nothing is known.
bool syn_live_count_likely(syn_live_bound *h);
int syn_live_domain(const syn_live_bound *h, int var); // of the space's variable; 1 for -1
// Bytes of an assignment of the space's variables while each node runs: [class][n_nodes + 1].
double *syn_live_by(const syn_live_bound *h, hb_arena *a, const int *x);
// Of that the largest share of a capacity.
double syn_most_live(const syn_space *s, const double *bytes);
// The assignment that a choice stands for.
int *syn_assignment_of(hb_arena *a, const syn_space *s, const syn_choice *c);

#endif
