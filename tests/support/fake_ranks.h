// What cuda_put.c, cuda_put_forms.c and cuda_pair.c call besides streams, for several ranks in
// one process: segments that all of them see, sums and strided copies as work of a stream
// (fake_streams.h). Any error ends the process.

#ifndef HAP_TESTS_FAKE_RANKS_H
#define HAP_TESTS_FAKE_RANKS_H

#include "core/tensor.h"

enum { FAKE_RANKS = 4, FAKE_FLAGS = 1 << 19 };

typedef struct fake_ranks {
    int n;        // ranks of the program that is run
    int64_t room; // bytes of each segment; flags lie behind sym's
    char *sym[FAKE_RANKS], *local[FAKE_RANKS];
    bool by_nccl; // no rank has peers
    long kernels; // that stored in other ranks' memory, or packed
} fake_ranks;
extern fake_ranks fake;

void fake_ranks_new(int64_t room);
void fake_ranks_free(void);
// One of the fake.n ranks, each as often as its weight says; -1: no weight is above 0.
int fake_one_of(const int *weight);

#endif
