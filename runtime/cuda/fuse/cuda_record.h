// A step as a list of its calls, so that what stands between two calls can be seen before either
// runs: cuda_fuse leaves out what only moves values.
//
// The second pass of the program's step is recorded; its end runs the list. Every later one makes
// the same calls on the same tensors, which the replay of a captured step presumes as well.

#ifndef HAP_RUNTIME_CUDA_RECORD_H
#define HAP_RUNTIME_CUDA_RECORD_H

#include "core/backend.h"
#include "cuda/device/cuda_limits.h"
#include "cuda/kernels/cuda_chains.h"
#include "cuda/kernels/cuda_fusion.h"
#include "cuda/kernels/cuda_ops.h"

typedef enum {
    CUDA_DONE, // left out
    CUDA_OP,
    CUDA_JOINED, // an op that runs with the first op of its chain, before it in the list
    CUDA_FUSION, // ops as one generated kernel
    CUDA_CUT,
    CUDA_PARTIAL,
    CUDA_START, // a collective
    CUDA_PAIR,  // one with its matmuls
    CUDA_PORT,  // a message to or from another stage
    CUDA_WAIT
} cuda_call_kind;

// Ops that one kernel runs (cuda_chains.h).
typedef enum {
    CUDA_ALONE,
#define HAP_CHAIN(name, kernel) CUDA_##name,
#include "hap/joins.def"
} cuda_chain;

typedef struct cuda_call {
    cuda_call_kind kind;
    int line;
    const char *name;
    hap_op_call op;   // OP, PORT; of CUT and PARTIAL out[0] and in[0]
    cuda_chain chain; // OP: with the n_joined calls that follow
    int n_joined;
    unsigned unread;  // OP: bit k: out[0] of call k of the chain is read by no call outside it
    cuda_head_at *at; // OP, attention: where its operands' heads lie, by role; rotary: where they
                      // turn in place; NULL: dense
    bool once;        // what it writes stays: OP, a parameter's cast, whose update writes the copy
                      // from then on; PARTIAL of nothing
    bool keep;        // PARTIAL
    cuda_fusion *fusion; // GROUP
    hap_coll_call coll;  // START, PAIR
    hap_pair *pair;      // PAIR
    int other;           // START, PAIR of a producer: its wait, else -1; WAIT: its start
    hap_event *event;    // START, PAIR: while the list runs
    int free_from; // START of a one-sided put: the first call from which on none touches what it
                   // writes
    int next;      // of these and of PAIRs on the same axes, -1: none (cuda_ahead.h)
} cuda_call;

typedef struct cuda_record {
    cuda_call *call;
    int n, cap;
    void **owned; // copies of what calls point to
    int n_owned, cap_owned;
    hap_tensor **placed; // by place of the ring, by number in it: the tensor as it lies there
    int n_placed;
    char *room; // device memory for small tensors that leave the arena
    int64_t room_used;
    struct cuda_spare *spare; // and for large ones
    int n_spare, cap_spare;
    int64_t spare_bytes;
    int allocations;
    bool begun;                               // has run
    int first[CUDA_MASKS], ahead[CUDA_MASKS]; // cuda_ahead.h: by axis mask, of a step and in it
} cuda_record;

enum { CUDA_ROOM = 16 << 20 }; // bytes at most

// Copies what the call points to. The tensors are the program's; those of a ring, which moves them
// from place to place (hap_ring), are copies: one for each place.
void cuda_record_op(hap_rank *r, cuda_record *c, const hap_op_call *op);
void cuda_record_port(hap_rank *r, cuda_record *c, const hap_op_call *op);
void cuda_record_fusion(hap_rank *r, cuda_record *c, const cuda_fusion *g, const hap_op_call *ops);
void cuda_record_move(hap_rank *r, cuda_record *c, cuda_call_kind kind, bool keep, hap_tensor *y,
                      hap_tensor *x);
int cuda_record_start(hap_rank *r, cuda_record *c, const hap_coll_call *coll);
int cuda_record_pair(hap_rank *r, cuda_record *c, const hap_pair *p);
void cuda_record_wait(hap_rank *r, cuda_record *c, int start);
void *cuda_record_own(hap_rank *r, cuda_record *c, const void *p, size_t bytes); // a copy
// Device memory that stays as long as the list; NULL if there is no more of it.
void *cuda_record_room(cuda_record *c, int64_t bytes);
// Memory for a tensor that is there from call `from` to call `to`, shared with tensors that are
// there at other times; NULL if there is no more of it.
void *cuda_record_spare(hap_rank *r, cuda_record *c, int64_t bytes, int from, int to);
// Whether t lies in memory of the list's that holds nothing else in all of the step.
bool cuda_record_keeps(const cuda_record *c, const hap_tensor *t);
void cuda_record_free(cuda_record *c);

#endif
