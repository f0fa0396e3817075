// When the messages of a pair end where ranks send unequal ones. Inside of the cost model.
//
// A rank works through its matmuls; messages leave it one after the other once the matmuls before
// them are made. Who send to one rank have its link in equal shares, and each goes on with its next
// message when it is through (so measured: uneven one-sided puts on four H200s took what this says
// to the third digit). Matmuls and messages of a rank beside each other both slow down.

#ifndef HAP_COSTMODEL_PAIR_LINKS_H
#define HAP_COSTMODEL_PAIR_LINKS_H

#include "costmodel/overlap.h"

typedef struct pair_message {
    int to, chunk;
    double sec;     // alone
    int behind;     // so many of the matmuls
    uint32_t after; // it passes on what these chunks, as bits, bring the sender
} pair_message;

typedef struct pair_sender {
    int n_matmuls, n_messages;
    double matmul[COST_MAX_CHUNKS];            // seconds alone
    pair_message message[2 * COST_MAX_CHUNKS]; // one own and one passed on, a chunk
    cost_contention beside;
    double made, sent; // out: when the last matmul and the last message end
} pair_sender;

// ends[chunk][to] of all messages; others stay as they are.
// flag: seconds from a message's end until what it brings is passed on.
void pair_links_run(int n, pair_sender *rank, double flag, double (*ends)[COST_MAX_PAIR_RANKS]);

#endif
