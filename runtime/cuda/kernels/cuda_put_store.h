// Whole collectives of small tensors by one kernel of each member: it stores what it has for others
// in their memory itself, and raises flags there, in place of copy engines and streams.
//
// A member's blocks do as many parts of every message, block b part b. Of a gather each part goes
// to all. Of sums each goes to its owner, who adds the parts in the order of members once they have
// come; of an all-reduce the sums then go to all. Block b waits for the others' blocks b alone.

#ifndef HAP_RUNTIME_CUDA_PUT_STORE_H
#define HAP_RUNTIME_CUDA_PUT_STORE_H

#include "core/runtime_core.h"
#include "cuda/device/cuda_error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    CUDA_STORE_MEMBERS = 8,
    CUDA_STORE_ITEMS = 4,
    CUDA_STORE_BLOCKS = 32,
    CUDA_STORE_VECTOR = 16
};

// A tensor; addresses and sizes are multiples of CUDA_STORE_VECTOR, sizes are counted in them.
typedef struct cuda_store_item {
    const char *from[CUDA_STORE_MEMBERS]; // by member: what it gets, this one's own of a sum
    char *to[CUDA_STORE_MEMBERS];         // there; NULL: it is there
    int64_t size[CUDA_STORE_MEMBERS];     // of a gather the same for all; [me] of a sum: its own
    const char *slot[CUDA_STORE_MEMBERS]; // sums: what the member has made of this one's
    char *sum, *back[CUDA_STORE_MEMBERS]; // of an all-reduce: there; NULL at first: none
} cuda_store_item;

// Flags lie `apart` numbers from each other, the same on all members: credits of this one's sends
// by member; of what they store `stored` + part * CUDA_STORE_MEMBERS + member, parts of sums from
// CUDA_STORE_BLOCKS on.
typedef struct cuda_store {
    cuda_store_item item[CUDA_STORE_ITEMS];
    int n_items, members, me, blocks;
    bool sums;
    hap_dtype type; // of sums: bf16 or f32
    uint32_t *flags[CUDA_STORE_MEMBERS];
    int credit[CUDA_STORE_MEMBERS], stored, apart;
    uint32_t number;           // that credits have come to, and flags are raised to
    const uint32_t *number_at; // on the device, or NULL
    uint32_t *late;            // host memory, mapped: 1 + the flag that did not come in 30 s
} cuda_store;

const char *cuda_store_run(const cuda_store *p, cudaStream_t s);

#ifdef __cplusplus
}
#endif

#endif
