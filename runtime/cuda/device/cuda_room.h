// Device memory that the calls on one stream take in turns: as much as the largest of them wants.
//
// It grows, and so moves, where a call wants more than there is; never in a capture. Graphs hold
// addresses, those of programs that are not under way as well: while there are any, what a room
// moves away from stays allocated.

#ifndef HAP_RUNTIME_CUDA_ROOM_H
#define HAP_RUNTIME_CUDA_ROOM_H

#include "cuda/device/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

// Makes m->at at least so many bytes, for what is enqueued on s next. NULL, or why not.
const char *cuda_room_take(cuda_context *x, cuda_room *m, cudaStream_t s, int64_t bytes);
void cuda_room_free(cuda_room *m);
// Workspace of one row: valid until the next row asks. NULL with *why set if it cannot be had.
void *cuda_work(cuda_context *x, int64_t bytes, const char **why);

#ifdef __cplusplus
}
#endif

#endif
