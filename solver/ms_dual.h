// The dual of the local polytope relaxation: messages, sweeps over the edges, the bound they prove.
// Inside solver/ only.
//
// Block-coordinate ascent edge by edge ("handshake" messages of MPLP++: Tourani et al., ECCV 2018).
// With potentials th = unary + messages at hand, sum of min th is a lower bound as long as no edge
// has to_a[i] + to_b[k] > table[i][k], which every handshake sees to: whatever messages a dual
// begins with, if they come from handshakes over the same tables, its bound holds.

#ifndef HAP_SOLVER_MS_DUAL_H
#define HAP_SOLVER_MS_DUAL_H

#include "solver/minsum_parts.h"

typedef struct ms_dual_edge {
    int a, b;
    const double *f, *t; // table [a][b] and its transpose, +inf replaced, rows padded
    double *to_a, *to_b; // messages
} ms_dual_edge;

typedef struct ms_messages {
    double **to_a, **to_b; // by edge of a problem, padded
    double *all;           // that they all lie in
    size_t n;
} ms_messages;
ms_messages *ms_messages_new(hb_arena *a, const ms_problem *p); // zeros

typedef struct ms_dual {
    hb_arena *arena;
    const ms_problem *p; // unary is not NULL
    double big;  // stands for +inf, where inf - inf would be NaN; above any sum of finite costs
    double **u;  // by variable: unary, +inf replaced
    double **th; // by variable: unary + messages
    ms_dual_edge *e;
    ms_messages *m;
    double *h, *x; // scratch of the largest domain
    double *old;   // scratch of all messages, NULL until needed
    int *first;    // by variable: its half edges, half[first[v]] .. half[first[v + 1]]
    ms_half *half;
    const ms_kernels *kernels;
} ms_dual;

// Messages from solve to solve (ms_warm.c); a NULL ms_warm has none and keeps none. The cache's, or
// a new one.
ms_warm *ms_warm_of(hb_arena *a, ms_warm **cache);
// Saved are those of the problem that was loaded last.
void ms_warm_load(ms_warm *w, const ms_problem *p, const ms_names *names, ms_messages *m);
void ms_warm_save(ms_warm *w, const ms_problem *p, const ms_names *names, const ms_messages *m);

// d works on the messages in m.
void ms_dual_begin(ms_dual *d, hb_arena *arena, const ms_problem *p, ms_messages *m);
// th from unary and messages.
void ms_dual_sum(ms_dual *d);
// Messages over an edge whose ends have potentials A and B without it: to_a, to_b.
void ms_dual_messages(ms_dual *d, const ms_dual_edge *e, const double *A, const double *B,
                      double *to_a, double *to_b);
void ms_dual_shake(ms_dual *d, ms_dual_edge *e, bool flip);
void ms_dual_sweep(ms_dual *d, bool back);
// n passes over the variables (TRW-S: Kolmogorov, PAMI 2006), forward and back; with run, steps
// are taken twice as far, which needs a third of the passes but may lower the bound. The bound
// holds after the next sweep.
void ms_dual_passes(ms_dual *d, int n, bool overstep);
double ms_dual_bound(const ms_dual *d);
// What state i of each variable costs at least above the bound: slack[v][i].
void ms_dual_slacks(const ms_dual *d, double **slack);

#endif
