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

// Of one list of tiles (pair_list.c), and what it shares with chunks (pair_time.c).
struct pair_parts;
struct pair_sender;
void pair_list_price(pair_pricer *x, const struct pair_parts *g, cost_pair_time *t);
double pair_message_seconds(pair_pricer *x, int kind, int64_t rows);
void pair_arrivals(pair_pricer *x, const struct pair_parts *g,
                   double at[COST_MAX_CHUNKS][COST_MAX_PAIR_RANKS], double *busy);
void pair_add_messages(pair_pricer *x, const struct pair_parts *g, int r, const int *behind,
                       struct pair_sender *s);
double pair_add_up(const struct pair_parts *g, int64_t rows, const double *came, double sec);

#endif
