// A step as a list of its calls, so that what stands between two calls can be seen before either
// runs: cuda_fuse.c leaves out what only moves values.
//
// The program's second step is recorded; its end runs the list. Every later step makes the same
// calls on the same tensors, which the replay of a captured step presumes as well.

#ifndef HAP_RUNTIME_CUDA_RECORD_H
#define HAP_RUNTIME_CUDA_RECORD_H

#include "core/backend.h"

typedef enum {
    CUDA_DONE, // left out
    CUDA_OP,
    CUDA_JOINED, // an op that runs with the first op of its chain, before it in the list
    CUDA_CUT,
    CUDA_PARTIAL,
    CUDA_START, // a collective
    CUDA_WAIT
} cuda_call_kind;

// Ops that one kernel runs.
typedef enum {
    CUDA_ALONE,
    CUDA_NORM,     // row_sum, row_m2, norm_apply
    CUDA_NORM_BWD, // norm_bwd_stats, norm_bwd (, add) (, cast)
    CUDA_ADAM
} cuda_chain;

enum { CUDA_MAX_CHAIN = 40 };

typedef struct cuda_call {
    cuda_call_kind kind;
    int line;
    const char *name;
    hap_op_call op;   // OP; of CUT and PARTIAL out[0] and in[0]
    cuda_chain chain; // OP: with the n_joined calls that follow
    int n_joined;
    bool needs_middle;  // NORM_BWD: norm_bwd's output is read by others
    bool keep;          // PARTIAL
    hap_coll_call coll; // START
    int other;          // START: its wait; WAIT: its start
    hap_event *event;   // START: while the list runs
} cuda_call;

typedef struct cuda_record {
    cuda_call *call;
    int n, cap;
    void **owned; // copies of what calls point to
    int n_owned, cap_owned;
} cuda_record;

// Copies what the call points to; the tensors are the program's.
void cuda_record_op(hap_rank *r, cuda_record *c, const hap_op_call *op);
void cuda_record_move(hap_rank *r, cuda_record *c, cuda_call_kind kind, bool keep, hap_tensor *y,
                      hap_tensor *x);
int cuda_record_start(hap_rank *r, cuda_record *c, const hap_coll_call *coll);
void cuda_record_wait(hap_rank *r, cuda_record *c, int start);
void *cuda_record_own(hap_rank *r, cuda_record *c, const void *p, size_t bytes); // a copy
void cuda_record_free(cuda_record *c);

// Takes casts out of the list where their reader can read, or their writer write, the other type;
// then joins chains. Values stay the same bit for bit. Returns how many calls are left out or
// joined.
int cuda_fuse(hap_rank *r, cuda_record *c);

#endif
