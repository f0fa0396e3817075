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

#endif
