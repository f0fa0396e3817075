// The parts of a whole pair (an all-reduce behind a matmul): when each is made, sent and reduced.
// Inside of the cost model.
//
// By the library a part is one message. By one-sided puts (`back`) its rows go to their owners, who
// add them and send the sums back; on the link a part's sums come behind the rows of the next part:
//
//     matmul   |--0--|--1--|--2--|
//     link            |rows 0|rows 1|sums 0|  |rows 2|sums 1|  |sums 2|
//     device                 +0             +1              +2
//
// The next message leaves when the link is free of one, `ahead` before that has come.
// A sum takes the device between two matmuls: a matmul that runs has all processors until it is
// over. For the same reason the library's kernel (`late`) begins not when its rows are made but
// when the matmul that began then is over (on H200s a matmul and a collective launched at once
// took as long as one after the other).

#ifndef HAP_COSTMODEL_PAIR_WHOLE_H
#define HAP_COSTMODEL_PAIR_WHOLE_H

#include "costmodel/overlap.h"

typedef struct pair_whole {
    int n, n_kinds;
    bool back, late;
    double matmul[COST_MAX_CHUNKS][CL_MAX_CLASSES]; // by part and kind, seconds alone
    double message[COST_MAX_CHUNKS];                // back: of one of both ways
    double sum[COST_MAX_CHUNKS];                    // back
    double ahead;                                   // back: s, at most half a message
    double flag;
    const cost_contention *beside;            // by kind
    double made[CL_MAX_CLASSES], total, sent; // out: last matmuls and last message end; link busy
} pair_whole;

void pair_whole_run(pair_whole *x);

#endif
