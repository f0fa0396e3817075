// What CUDA kernels share: the stream, the workspace, the step's numbers on the device, traps.
//
// Everything of a rank that computes goes through one stream in the order of the program, so one
// workspace serves all rows. It grows only outside graph capture (cuda_room.h): the first pass of
// the step runs uncaptured and finds the size. Kernels read what changes from step to step
// (cuda_step) from device memory, so that a captured step can be replayed.

#ifndef HAP_RUNTIME_CUDA_CONTEXT_H
#define HAP_RUNTIME_CUDA_CONTEXT_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
#    define _Noreturn [[noreturn]]
extern "C" {
#endif

#include "core/run_options.h"
#include "core/runtime_core.h"
#include "cuda/device/cuda_error.h"

// hap_step_state, on the device.
typedef struct cuda_step {
    double lr;
    int64_t step;
    uint64_t seed;
} cuda_step;

// What a kernel found wrong with its data, in memory that the host sees. The first one stays.
typedef struct cuda_trap {
    int set, op, line;
    int64_t value, limit;
    int64_t expert; // of to_rooms and from_rooms, whose rows are `value`; else -1
    double norm;    // no fault: of all gradients, by clip_scale; 0 before it
} cuda_trap;

// What is made where a call first asks for it: none of it in a step that was rehearsed. Who makes
// a plan or takes memory also waits for the device; nothing else in a step does.
typedef enum { CUDA_BEFORE, CUDA_IN_STEPS, CUDA_PHASES } cuda_phase;
typedef struct cuda_made {
    int plans;       // cuBLASLt's and cuDNN's
    int allocations; // of device memory
    int graphs;
} cuda_made;

struct cuda_dense;     // cuda_multiply.c
struct cuda_tiles;     // cuda_tiles.cu
struct cuda_cudnn;     // cuda_cudnn.cpp
struct cuda_attention; // the same
struct cuda_convs;     // cuda_cudnn_conv.cpp
struct cuda_shadows;   // cuda_shadow.c
struct cuda_columns;   // cuda_columns.cu
struct cuda_lasts;     // cuda_last.cu

// Device memory that the calls on one stream take in turns (cuda_room.h).
typedef struct cuda_room {
    char *at;
    int64_t bytes;
    struct cuda_room *left; // where it was before, if graphs may hold that
} cuda_room;

typedef struct cuda_context {
    cudaStream_t stream;
    int sms;                  // that the stream may use; 0: all
    int held_sms;             // of these, held by what runs beside
    struct cuda_green *green; // cuda_green.c: what the stream belongs to, if it may not use all
    cuda_room work;
    bool capturing;
    char *zeros;              // device: CUDA_ZEROS bytes (cuda_graph.h), or NULL
    int64_t zeros_taken;      // by calls of the capture
    bool tf32, verbose;       // f32 matmuls in tf32; what is chosen is said on stderr
    hap_cuda_options options; // --cuda
    int graphs;               // that there are, of all programs
    cuda_phase phase;
    cuda_made made[CUDA_PHASES];
    cuda_step *step; // device
    cuda_trap *trap; // host memory, mapped
    int64_t *found;  // device: of cuda_find
    int line;        // of the call being made, for traps
    struct cuda_dense *dense;
    struct cuda_tiles *tiles;
    struct cuda_cudnn *cudnn; // NULL: the library was not found, or is not wanted
    struct cuda_attention *attention;
    struct cuda_convs *convs;
    bool no_cudnn, missed_cudnn; // the library was not found; what it takes came
    struct cuda_shadows *shadows;
    int64_t shadow_bytes, shadow_back; // of padded copies; copied back to the arena so far
    struct cuda_columns *columns;
    struct cuda_lasts *lasts; // tensors that lie channels last
    int64_t last_back;        // bytes of them turned again so far
} cuda_context;

// Processors that kernels of this context may count on: of its stream, the current device's where
// that may use all of it, without those that are held beside it.
static inline int cuda_sms(const cuda_context *x)
{
    int sms = x->sms, device;
    if (!sms && cudaGetDevice(&device) == cudaSuccess)
        cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
    return sms > x->held_sms ? sms - x->held_sms : sms;
}

#ifdef __cplusplus
}
#endif

#endif
