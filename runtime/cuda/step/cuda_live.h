// Which calls of a step's list stand outside graphs: they are *live*.
//
// A transfer by one-sided puts waits for numbers that grow from step to step, and a pair is made of
// them; so they are live but in a step that is captured whole (cuda_whole.h). A collective that is
// under way while something live is, is live too, for a graph joins all that it starts; and so is a
// run of a few calls, which are launched sooner than a graph.
//
// NCCL asks that an operation be captured on all ranks of it or on none. What is live follows from
// a rank's own list (a run of few calls; a small start that has moved, cuda_fuse_update.c), so
// ranks agree: the k-th start of the list is captured where it is on all ranks. That is the same
// collective on all of them: the program makes the same calls on every rank, a fused list leaves
// none of its starts out, and no start moves past another (start_early stops at one).
//
// As live starts and their waits bound the graphs, and no collective in a graph reaches over one,
// graphs of different ranks then hold the same collectives.
//
//     mark what is live of itself; cuda_live_close(list, live);
//     do cuda_live_tell(list, live, in), in[k] = the least of all ranks';
//     while (cuda_live_hear(list, live, in) on some rank);

#ifndef HAP_RUNTIME_CUDA_LIVE_H
#define HAP_RUNTIME_CUDA_LIVE_H

#include "cuda/fuse/cuda_record.h"

// A message between stages; and, where there are stages, a part of an input's rows, which is of one
// micro-batch alone: what stands between such calls is the same in each (cuda_capture.h).
bool cuda_live_of_stages(const hap_rank *r, const cuda_call *c);
// live[i] for each call: what else is live, by the calls that are.
void cuda_live_close(const cuda_record *list, bool *live);
// Starts of collectives and pairs; in[k]: whether the k-th stands in a graph.
int cuda_live_starts(const cuda_record *list);
void cuda_live_tell(const cuda_record *list, const bool *live, int *in);
// Starts of which in[k] is 0 are live, and what follows from that. Whether that is news.
bool cuda_live_hear(const cuda_record *list, bool *live, const int *in);

#endif
