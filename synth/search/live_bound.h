// Bytes that every program of a choice holds while a node runs, however it is scheduled and placed:
//
//     homes, moments, constants   their bytes, always
//     a value (or input) made before and read after the node: of the buffers on the way from
//     where it is kept to what its last reader takes, one is live; the smallest is counted
//     what the node itself reads and makes, in the states of its form
//     a second copy read once before and once after: the same from the copy on. A choice whose copy
//     has less than two readers stands for the cheaper one without it
//
// Ops keep their order under every schedule; of values that are views of each other one is counted.
// Two other values that are live at once never share bytes.

#ifndef HAP_SYNTH_LIVE_BOUND_H
#define HAP_SYNTH_LIVE_BOUND_H

#include "synth/space/space.h"

// Bytes over one variable or an edge, counted while node p runs, from < p < to.
typedef struct syn_live_term {
    int a, b;            // variables; b = -1: unary
    int from, to;        // nodes
    const double *bytes; // [class][domain a][domain b], shared between equal kinds
} syn_live_term;

typedef struct syn_live_bound {
    hb_arena *arena;
    const syn_space *s;
    HB_VEC(syn_live_term) terms;
    hb_map *tables;
    HB_VEC(const double *) known;
    const double **least; // by kind of tensor: [class][n][n], smallest buffer on the way
} syn_live_bound;

syn_live_bound *syn_live_bound_new(hb_arena *a, const syn_space *s);
int syn_live_domain(const syn_live_bound *h, int var); // of the space's variable; 1 for -1
// Bytes of an assignment of the space's variables while each node runs: [class][n_nodes + 1].
double *syn_live_by(const syn_live_bound *h, hb_arena *a, const int *x);
// Of that the largest share of a capacity.
double syn_most_live(const syn_space *s, const double *bytes);
// The assignment that a choice stands for.
int *syn_assignment_of(hb_arena *a, const syn_space *s, const syn_choice *c);

#endif
