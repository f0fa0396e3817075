// Device memory that the calls on one stream take in turns: as much as the largest of them wants.
//
// It grows, and so moves, where a call wants more than there is; never in a capture. Graphs hold
// addresses, those of programs that are not under way as well: while there are any, what a room
// moves away from stays allocated.

#ifndef HAP_RUNTIME_CUDA_ROOM_H
#define HAP_RUNTIME_CUDA_ROOM_H

#include <cuda_runtime_api.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct cuda_context;

typedef struct cuda_room {
    char *at;
    int64_t bytes;
    struct cuda_room *left; // where it was before, if graphs may hold that
} cuda_room;

// Makes m->at at least so many bytes, for what is enqueued on s next. NULL, or why not.
const char *cuda_room_take(struct cuda_context *x, cuda_room *m, cudaStream_t s, int64_t bytes);
void cuda_room_free(cuda_room *m);

#ifdef __cplusplus
}
#endif

#endif
