// A step as one captured graph, its one-sided puts and pairs in it.
//
// What streams of one-sided puts and pairs are given while the step is captured forks from the
// compute stream and joins it, so the graph holds each stream's order, and their waits for one
// another. The numbers that a one-sided put waits for and writes (cuda_put.h) are values of the
// graph's memory operations. Every step takes as many of them, so before a launch each operation is
// set to its value in the captured step and how far the count of its axis mask has come since: 0.2
// us of the host a node.
//
//     cuda_whole_begin(r, &w);
//     …                                // enqueues the step
//     cuda_whole_end(r, &w);
//     cuda_whole_launch(r, &w);        // each step, mixed with live ones as one likes
//
// That a launched graph ends does not follow from the proof of cuda_put.h. It orders what each
// stream is given; of a graph the driver knows nodes and what each stands behind, and puts those
// without order between them into queues of its choice. Where a wait for a number stands in one
// queue before what another rank waits for, both may wait for good. So a trial decides whether the
// graph is used (cuda_litmus.h).

#ifndef HAP_RUNTIME_CUDA_WHOLE_H
#define HAP_RUNTIME_CUDA_WHOLE_H

#include "cuda/step/cuda_program.h"

typedef struct cuda_whole {
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    cudaEvent_t forks;
    struct cuda_numbers *node; // memory operations of one-sided puts
    int n_nodes, cap_nodes;
    bool fixed;               // the driver does not set numbers of this graph; it is launched never
    uint32_t set[CUDA_MASKS]; // their numbers are of a step before which so many were taken
    uint32_t step[CUDA_MASKS]; // numbers of a step, by axis mask
} cuda_whole;

// No credits ahead are given at either end.
void cuda_whole_begin(hap_rank *r, cuda_whole *w);
void cuda_whole_end(hap_rank *r, cuda_whole *w);
// On the compute stream. silent: nothing of what the other ranks wait for is written, as if they
// waited for good; the graph is launched no more.
void cuda_whole_launch(hap_rank *r, cuda_whole *w, bool silent);
void cuda_whole_free(hap_rank *r, cuda_whole *w);
void cuda_whole_drop(hap_rank *r); // the program's, if it has one

#endif
