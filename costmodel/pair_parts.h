// Which rows the chunks of a pair are, rank by rank (overlap.h). Inside of the cost model. The
// runtime finds the same by itself (runtime/core/pair_rows.h); tests/costmodel/pair_parts_test.c
// compares.

#ifndef HAP_COSTMODEL_PAIR_PARTS_H
#define HAP_COSTMODEL_PAIR_PARTS_H

#include "costmodel/overlap.h"

typedef struct pair_parts { // also pair_price.h
    int n;
    int64_t most; // rows of the coordinate that has most
    int distance[COST_MAX_CHUNKS], via[COST_MAX_CHUNKS];
    int from[COST_MAX_CHUNKS], to[COST_MAX_CHUNKS], of[COST_MAX_CHUNKS]; // weights: [from, to) of
    int run[COST_MAX_CHUNKS]; // at the first of joined chunks: how many they are; else 0
} pair_parts;

void pair_parts_of(pair_parts *x, const cost_pair *p, int (*chunk)[3], int n);

// Of `rows` those before a weight of chunk k's distance.
static inline int64_t pair_rows_before(const pair_parts *x, int k, int weight, int64_t rows)
{
    int64_t n = x->most * weight / x->of[k];
    return n < rows ? n : rows;
}

static inline int64_t pair_rows_of(const pair_parts *x, int k, int64_t rows)
{
    return pair_rows_before(x, k, x->to[k], rows) - pair_rows_before(x, k, x->from[k], rows);
}

// Who sends an owner's rows of chunk k: itself, or the member that passes them on, which has fewer.
static inline int pair_sender_of(const pair_parts *x, const cost_pair *p, int k, int owner)
{
    int helper = (owner + x->via[k]) % p->n;
    return p->consumer && p->rows[helper] < p->rows[owner] ? helper : owner;
}

// Chunks as bits: those that bring a member, of an owner with so many rows, what it passes on as
// chunk k.
uint32_t pair_passed(const pair_parts *x, int k, int64_t rows);
// Does all that is passed on come there with chunks before? Whatever the rows.
bool pair_in_order(const cost_pair *p, int (*chunk)[3], int n);

// Rows [lo, hi) of a tensor whose coordinates' rows begin at first[]: `first` has room for p->n.
typedef struct pair_range {
    int64_t lo, hi;
} pair_range;
void pair_first_rows(const cost_pair *p, int64_t *first);
// Those of joined chunks k and on, on rank r, ascending, neighbours as one; returns how many.
int pair_ranges(const pair_parts *g, const cost_pair *p, int k, int r, const int64_t *first,
                pair_range *ranges);

// Rows of a rank that are added together: between any two ends of parts, ascending. The last chunk
// of others that holds them (-1: none), and the own one. At most 2 * COST_MAX_CHUNKS.
typedef struct pair_added {
    int64_t from, rows;
    int last, own;
} pair_added;
int pair_sums(const pair_parts *g, int64_t rows, pair_added *sums);

#endif
