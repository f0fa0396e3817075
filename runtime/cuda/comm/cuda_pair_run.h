// A pair under way, for the files that run it: its chunks, events, rows and matmuls.

#ifndef HAP_RUNTIME_CUDA_PAIR_RUN_H
#define HAP_RUNTIME_CUDA_PAIR_RUN_H

#include "core/coll_geometry.h"
#include "core/pair_rows.h"
#include "cuda/comm/cuda_pair_tiles.h"
#include "cuda/comm/cuda_put.h"
#include "cuda/device/cuda_backend.h"

// Chunk k as this rank has it: rows that are multiplied as that, of or for a member; and its part
// of this rank's own rows, which another member has as its chunk k.
typedef struct cuda_pair_chunk {
    hap_range rows, own;
    int member, other, sender; // sender: of `rows`; of a producer's own rows not looked at
} cuda_pair_chunk;

typedef struct cuda_running_pair {
    hap_rank *r;
    cuda_backend *b;
    const hap_pair *p;
    hap_coll_call coll;
    hap_coll_view v; // [rows, columns]
    int me;
    int64_t row;                  // bytes of a row of what is moved, on the side that has all rows
    cudaStream_t s;               // of transfers by NCCL, of sums and copies
    cuda_put *put;                // NULL: by NCCL
    int64_t slot;                 // bytes of a slot of a sum in scratch
    hap_range mine;               // the rows of the moved factor that this rank holds or will hold
    bool alone;                   // no other collective is under way
    const cuda_pair_tiled *tiled; // NULL: chunk by chunk
    const cuda_pair_list *list;   // its
    bool sums;                    // are added in the kernel
    bool stores;                  // which stores them where they go
    cuda_pair_chunk g[HAP_PAIR_CHUNKS];
} cuda_running_pair;

// --- cuda_pair_run.c
void cuda_pair_check(const cuda_running_pair *x, const char *why);
void cuda_pair_ok(const cuda_running_pair *x, cudaError_t e, const char *call);
void cuda_pair_after(const cuda_running_pair *x, cudaStream_t s, cudaEvent_t e);
// An event of a stream as it is now, the compute stream where none is named; the i-th of this pair.
cudaEvent_t cuda_pair_mark_on(const cuda_running_pair *x, int i, cudaStream_t s);
cudaEvent_t cuda_pair_mark(const cuda_running_pair *x, int i);
char *cuda_pair_row(const cuda_running_pair *x, const hap_tensor *t, int64_t row);
// Op i of a pair, or c, some of its rows: at its line, with a span of its own.
void cuda_pair_op(hap_rank *r, const hap_pair *p, int i, const hap_op_call *c);
// The matmuls of the n chunks from k on, which are joined. Of an all-gather: this rank's rows are
// read where they come from.
void cuda_pair_multiply(const cuda_running_pair *x, int k, int n);

// Runs a pair in a way.
typedef void cuda_pair_runner(cuda_running_pair *x, cuda_pair_way way, cudaEvent_t done);

// --- cuda_pair_choice.c: the way that is kept, found in the first pass with runs by `run`
cuda_pair_way cuda_pair_choose(cuda_running_pair *x, cuda_pair_runner *run, cudaEvent_t done);

// --- cuda_pair_nccl.c: point to point, among ranks that are no peers
void cuda_pair_consume_by_nccl(const cuda_running_pair *x, cudaEvent_t done);
void cuda_pair_produce_by_nccl(const cuda_running_pair *x, cudaEvent_t done);

#endif
