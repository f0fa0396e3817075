// Between fake_streams.c and fake_graphs.c: what streams hold.

#ifndef HAP_TESTS_FAKE_OPS_H
#define HAP_TESTS_FAKE_OPS_H

#include "tests/support/fake_streams.h"

enum { MOST_STREAMS = 64, MOST_NODES = 2048, WORDS_OF_NODES = MOST_NODES / 64 };

// How many far kernels of each stream came before.
typedef struct fake_clock {
    uint32_t n[MOST_STREAMS];
} fake_clock;

// A record of an event, kept until the streams are forgotten.
typedef struct fake_mark {
    bool come;
    cudaStream_t by;
    fake_clock before;
    struct fake_mark *next;
} fake_mark;

typedef enum { RECORD, AWAIT, WRITE, REACH, COPY, CALL, REPLAY } fake_op_kind;
typedef struct fake_op {
    fake_op_kind kind;
    fake_mark *mark; // RECORD, AWAIT
    uint32_t *at, x; // WRITE, REACH
    fake_copy copy;  // COPY
    bool (*able)(const void *);
    bool (*step)(void *, int); // CALL
    void *arg;
    bool owns;                  // arg
    struct fake_replay *replay; // REPLAY
    int done;                   // steps
    int tag;
    struct fake_op *next;
} fake_op;

// Nodes of a graph.
typedef struct fake_set {
    uint64_t word[WORDS_OF_NODES];
} fake_set;

struct CUstream_st {
    fake_op *first, *last;
    int weight, id;
    fake_clock before;
    struct CUgraph_st *graph; // that it is captured into
    fake_set behind;          // the nodes there that its next one follows
};
struct CUevent_st {
    fake_mark *last; // NULL: never recorded
    int capture;     // recorded in that one; 0: in none
    fake_set behind;
};

fake_op *fake_add(cudaStream_t s, fake_op_kind kind);
CUresult fake_number(fake_op *o, const CUstreamBatchMemOpParams *p); // makes it a wait or a write
bool fake_ready(cudaStream_t s, const fake_op *o);
bool fake_run(cudaStream_t s, fake_op *o); // a step; whether it was the last one
void fake_come_behind(fake_clock *c, const fake_clock *other);

// fake_graphs.c
fake_op *fake_add_node(cudaStream_t s, fake_op_kind kind);
CUresult fake_add_batch(CUstream s, unsigned n, const CUstreamBatchMemOpParams *op);
void fake_captured_record(cudaEvent_t e, cudaStream_t s);
bool fake_captured_wait(cudaStream_t s, cudaEvent_t e); // false: nothing of it is captured
bool fake_replay_ready(struct fake_replay *x);
bool fake_replay_step(cudaStream_t s, struct fake_replay *x);
void fake_replay_free(struct fake_replay *x);
CUresult fake_get_nodes(CUgraph g, CUgraphNode *node, size_t *n);
CUresult fake_node_type(CUgraphNode node, CUgraphNodeType *type);
CUresult fake_current(CUcontext *to);
CUresult fake_get_params(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *p);
CUresult fake_set_params(CUgraphExec exec, CUgraphNode node,
                         const CUDA_BATCH_MEM_OP_NODE_PARAMS *p);

#endif
