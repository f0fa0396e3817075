// A capture of the compute stream, from its begin to a graph that can be launched.
//
// Libraries have kernels that count from 0, and clear a few bytes of their workspace before each: a
// node of the graph, for which the device stands still some 4.6 us in all (H200). So a captured
// call gets a workspace of its own, where it is small, in memory that the graph clears once, at its
// begin. What clears it again is taken out of the graph.

#ifndef HAP_RUNTIME_CUDA_GRAPH_H
#define HAP_RUNTIME_CUDA_GRAPH_H

#include "cuda/device/cuda_context.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { CUDA_ZEROS = 4 << 20, CUDA_ZEROS_OF_ONE = 64 << 10 }; // bytes: in all, of one call at most

// NULL, or why not. Between the two x->capturing is true; graph and exec are the caller's.
const char *cuda_graph_begin(cuda_context *x);
const char *cuda_graph_end(cuda_context *x, cudaGraph_t *graph, cudaGraphExec_t *exec);
// A workspace that no other call of the capture has, full of zeros; NULL: it has to take another.
void *cuda_graph_work(cuda_context *x, int64_t bytes);

#ifdef __cplusplus
}
#endif

#endif
