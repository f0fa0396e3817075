// Prices groupings of one pair, seconds of equal rows asked for once. Inside of the cost model.

#ifndef HAP_COSTMODEL_PAIR_PRICE_H
#define HAP_COSTMODEL_PAIR_PRICE_H

#include "costmodel/overlap.h"

typedef struct pair_pricer {
    const cost_pair *p;
    double whole[CL_MAX_CLASSES]; // by kind: matmul a row, of all rows at once
    double quicker;               // matmuls and gaps take so much of their seconds
    double crowded;               // a producer's messages so many times theirs beside a matmul
    int n_known;
    struct pair_known {
        bool used, message;
        int kind;
        int64_t rows;
        double sec;
    } known[COST_PAIR_KNOWN];
} pair_pricer;

pair_pricer *pair_pricer_new(hb_arena *a, const cost_pair *p);
double pair_price(pair_pricer *x, int (*chunk)[3], int n, cost_pair_time *t);
double pair_sequential(pair_pricer *x);

struct pair_parts;
struct pair_sender;
void pair_list_price(pair_pricer *x, const struct pair_parts *g, cost_pair_time *t); // of tiles

// Whose kind a message is of.
static inline int pair_message_kind(const cost_pair *p, int from, int to)
{
    return p->kind[p->by_receiver ? to : from];
}

// Of both (pair_messages.c).
double pair_seconds(pair_pricer *x, bool message, int kind, int64_t rows);
bool pair_even(const cost_pair *p); // ranks at one chunk send to one member each, for as long
// When the messages of every chunk end, by receiver, if all are ready from the start; and by rank
// when its link is free.
void pair_arrivals(pair_pricer *x, const struct pair_parts *g,
                   double at[COST_MAX_CHUNKS][COST_MAX_PAIR_RANKS], double *busy);
// What a rank sends, in order; behind[k]: matmuls before chunk k is sent.
void pair_add_messages(pair_pricer *x, const struct pair_parts *g, int r, const int *behind,
                       struct pair_sender *s);
// When a rank has added what came for it, chunk k at came[k], all of it in `sec`.
double pair_add_up(const struct pair_parts *g, int64_t rows, const double *came, double sec);

#endif
