// Values of ports, packed: the runs of a rank's part that are one message behind another.

#ifndef HAP_RUNTIME_CUDA_PORT_RUNS_H
#define HAP_RUNTIME_CUDA_PORT_RUNS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_PORT_RUN = 1 << 13 }; // bytes of a run at most: a warp copies one

typedef struct cuda_port_run {
    int64_t local, packed, bytes; // where it lies in the tensor, and packed
} cuda_port_run;

// Launches all kernels of this file, on nothing: the driver loads a kernel at its first launch, and
// may wait for the whole device then.
const char *cuda_port_load(cudaStream_t s, int *done);
// NULL, or why it cannot be launched.
const char *cuda_port_pack(cudaStream_t s, void *room, const void *x, const cuda_port_run *run,
                           int64_t n);
// *done is `number` once all of y is there.
const char *cuda_port_unpack(cudaStream_t s, void *y, const void *room, const cuda_port_run *run,
                             int64_t n, int *done, int number);

#ifdef __cplusplus
}
#endif

#endif
