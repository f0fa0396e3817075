// What a pair (passes/overlap_pairs.h) takes: a collective and its products, in chunks of rows
// (costmodel/overlap.h).

#ifndef HAP_SYNTH_PAIR_COST_H
#define HAP_SYNTH_PAIR_COST_H

#include "synth/plan/program.h"
#include "synth/plan/search_limits.h"
#include "synth/price/costs.h"

bool syn_is_consumer(const syn_program *p, const syn_pair *x);
int syn_pair_start(const syn_program *p, const syn_pair *x); // instruction of its collective
// Share of the transfer that runs beside the products; products and transfer alone would take
// `busy` of the slowest class and `transfer`.
double syn_pair_hidden(const syn_program *p, const syn_pair *x);
// Prices the pairs of a program again, at their chunks and forms.
void syn_price_pairs(syn_program *p, syn_costs *c);
// Looks closely at the chunks of each pair.
void syn_refine_pairs(syn_program *p, syn_costs *c);

// What the members of a pair may become: of an instruction list [start, product ...].
typedef struct syn_members {
    int start, n_ops, op[SYN_PAIR_OPS];
    bool consumer;
} syn_members;
double syn_slowest(const syn_program *p, const double *sec); // of the classes' seconds the most
// What the products take alone, in the slowest class.
double syn_matmuls_seconds(const syn_program *p, const syn_members *m);

// The best form and, of a few, chunks; n_chunks 0: none is clearly faster than one after the other.
// Equal members are priced once.
const syn_pair *syn_best_pair(const syn_program *p, syn_costs *c, const syn_members *m);
// The best chunks of the whole family (overlap.h) at the form of x, in its place.
void syn_refine_pair(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x);
// At the form and chunks of x: fills its times but `sequential`.
void syn_pair_at(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x);

#endif
