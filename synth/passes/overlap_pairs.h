// Pairs: a collective beside the products that it feeds (*consumer*: the start of an all-gather,
// its wait, the products that read what it gathers) or the product that feeds it (*producer*: the
// product, the start of a reduce-scatter, all-reduce or all-to-all of what it makes). Products are
// linear, or matmul with one matrix; the moved factor is the outermost of their rows in memory. The
// members follow each other within one layer and one repetition of a loop; nothing else stands
// between. costmodel/overlap.h says how their groups of rows run and what that takes.

#ifndef HAP_SYNTH_PAIRS_H
#define HAP_SYNTH_PAIRS_H

#include "synth/plan/program.h"
#include "synth/price/costs.h"

// A priced and scheduled program again with the pairs that make its step shorter: their members
// brought together, forms and groups chosen; buffers and instructions are its own. NULL without
// such pairs, or if they cannot be expected to bring the step down to `enough` seconds. *sec: of
// the step with pairs, or else of p if there may be some; HUGE_VAL if not.
syn_program *syn_with_pairs(const syn_program *p, syn_costs *c, double enough, double *sec);
// Leaves those that stand in one repetition, alike in all.
void syn_pairs_of_loops(syn_program *p);
// Prices the pairs again, at their groups and forms.
void syn_price_pairs(syn_program *p, syn_costs *c);

// Looks closely at the groups of each pair.
void syn_refine_pairs(syn_program *p, syn_costs *c);

bool syn_is_consumer(const syn_program *p, const syn_pair *x);
int syn_pair_start(const syn_program *p, const syn_pair *x); // instruction of its collective
// Share of the transfer that runs beside the products; products and transfer alone would take
// `busy` of the slowest class and `transfer`.
double syn_pair_hidden(const syn_program *p, const syn_pair *x);

// --- pair_cost.c ---

// What the members of a pair may become: of an instruction list [start, product ...].
enum { SYN_PAIR_OPS = 8, SYN_PAIR_GROUPS = 12 };
typedef struct syn_members {
    int start, n_ops, op[SYN_PAIR_OPS];
    bool consumer;
} syn_members;
// What the products take alone, in the slowest class.
double syn_products_seconds(const syn_program *p, const syn_members *m);

// The best form and, of a few, groups; n_groups 0: none is clearly faster than one after the other.
// Equal members are priced once.
const syn_pair *syn_best_pair(const syn_program *p, syn_costs *c, const syn_members *m);
// The best groups of the whole family (overlap.h) at the form of x, in its place.
void syn_refine_pair(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x);
// At the form and groups of x: fills its times but `sequential`.
void syn_pair_at(const syn_program *p, syn_costs *c, const syn_members *m, syn_pair *x);

#endif
