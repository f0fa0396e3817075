// The parts of a whole pair (an all-reduce behind a product): when each is made, sent and reduced.
// Inside of the cost model.
//
// By the library a part is one message. By pushes (`back`) its rows go to their owners, who add
// them and send the sums back; on the link a part's sums come behind the rows of the next part:
//
//     product   |--0--|--1--|--2--|
//     link            |rows 0|rows 1|sums 0|  |rows 2|sums 1|  |sums 2|
//     device                 +0             +1              +2
//
// A sum takes the device between two products: a product that runs has all processors until it is
// over. For the same reason the library's kernel (`late`) begins not when its rows are made but
// when the product that began then is over (on H200s a product and a collective launched at once
// took as long as one after the other).

#ifndef HAP_COSTMODEL_PAIR_WHOLE_H
#define HAP_COSTMODEL_PAIR_WHOLE_H

#include "costmodel/overlap.h"

typedef struct pair_whole {
    int n, n_kinds;
    bool back, late;
    double product[COST_MAX_GROUPS][CL_MAX_CLASSES]; // by part and kind, seconds alone
    double message[COST_MAX_GROUPS];                 // back: of one of both ways
    double sum[COST_MAX_GROUPS];                     // back
    double flag;
    const cost_contention *beside;            // by kind
    double made[CL_MAX_CLASSES], total, sent; // out: last products and last message end; link busy
} pair_whole;

void pair_whole_run(pair_whole *x);

#endif
