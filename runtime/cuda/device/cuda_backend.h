// The CUDA backend of a rank: its device, the compute stream, a stream and communicators for each
// axis mask, the captured step.
//
// One process a device. MPI starts the ranks and joins NCCL; after that tensors move by NCCL alone.
// Ops go to one compute stream in program order. A collective runs on the stream of its axis mask:
// it waits for the compute stream where it starts, and the compute stream waits for it in hap_wait.
//
// The first pass of the step runs as it is called and finds plans and workspaces. The second is
// recorded (cuda_record.h) and its end runs what is left of the list; from the third on calls
// inside the step only pass core's checks, and the step's end runs the list: as a CUDA graph
// captured in the third, in parts between what cannot be captured (cuda_capture.h), or call by
// call; or whole, with its pushes (cuda_whole.h), where a trial in the third pass says that it may
// be (cuda_litmus.h). These passes are rehearsals (core/step.c), so that step 0 and those behind it
// make no plan, take no memory and wait for the device at their end alone; HAP_CUDA_REHEARSE=0:
// they are the first steps. Several ranks find by time which of the ways it is to be, in the first
// steps (cuda_choice.h), unless HAP_CUDA_TUNE=0; one rank takes the graph. HAP_CUDA_GRAPH=1 takes
// graphs, =list, as --trace does, calls, =auto finds out on one rank and without tuning as well; =0
// runs every step as called. HAP_CUDA_FUSE=0 leaves the list as recorded, =exact gives the same
// bits (cuda_fuse.h); 0 also runs groups op by op (cuda_group.h).

#ifndef HAP_RUNTIME_CUDA_BACKEND_H
#define HAP_RUNTIME_CUDA_BACKEND_H

#include <nccl.h>

#include "core/backend.h"
#include "cuda/device/cuda_context.h"
#include "cuda/step/cuda_choice.h"
#include "cuda/step/cuda_record.h"

typedef enum {
    CUDA_STEP_CALLED,
    CUDA_STEP_RECORDED,
    CUDA_STEP_LISTED, // from here on calls pass by
    CUDA_STEP_REPLAYED
} cuda_step_mode;

struct hap_event {
    bool active;
    int call; // in the list, while it is recorded
    int line;
    const char *name;
    double start; // seconds, for the trace
    cudaEvent_t ready, done;
    bool at_once;           // runs on the compute stream
    struct hap_event *next; // in order of start, or in the free list
};

// What is known of the steps of a program.
typedef struct cuda_steps {
    int64_t n; // passes, rehearsals among them
    cuda_record list;
    struct cuda_part *part;
    int n_parts, cap_parts;
    struct cuda_whole *whole;
    cuda_choice choice;
} cuda_steps;

typedef struct cuda_backend {
    cuda_context x;
    int device;
    // By axis mask. between (over axis 0) and inside (over axis 1) are for the phases of two-level
    // all-reduces, which run on stream[3].
    ncclComm_t group[CUDA_MASKS], between, inside;
    cudaStream_t stream[CUDA_MASKS];
    struct cuda_pushes *pushes;        // cuda_push.c
    char *own_sym;                     // SEG_SYM, where no other rank maps it
    hap_event *first, *last, *free;    // not waited for; free list
    hap_event passed;                  // what a start returns where calls pass by
    bool use_list, use_graph, chooses; // the same on all ranks; chooses: between the two
    int64_t steps;                     // passes, rehearsals among them
    cuda_step_mode mode;
    cuda_record list;
    cuda_groups groups;
    struct cuda_part *part; // cuda_capture.h: the list in parts, once it is run so
    int n_parts, cap_parts;
    struct cuda_whole *whole; // or as one graph; NULL: there is none
    bool whole_step;          // is being captured as that
    double listed;            // seconds of the step that was recorded
    cuda_choice choice;
    cuda_steps *others; // by program; cuda_inquire.c
    int n_others, program;
    cuda_room bounce[CUDA_MASKS]; // of the calls on stream[mask]: cuda_push_forms.c
    void *staging;                // page-locked
    int64_t staging_bytes;
    bool staging_taken;
    cudaStream_t beside, waits; // of pairs: copies and sums; waits for flags
    cudaEvent_t *mark;          // of the pair that is being enqueued
    int n_marks, cap_marks;
} cuda_backend;

static inline cuda_backend *cuda_of(const hap_rank *r)
{
    return r->backend;
}

void cuda_check(hap_rank *r, const char *why); // fails unless NULL
void cuda_nccl_check(hap_rank *r, ncclResult_t e, const char *call);
void cuda_nccl_start(hap_rank *r); // cuda_nccl.c
void cuda_nccl_end(hap_rank *r);
void cuda_nccl_poll(hap_rank *r); // fails on an error of a communicator
ncclDataType_t cuda_nccl_type(hap_dtype t);
void cuda_coll_run(hap_rank *r, const hap_coll_call *c, cudaStream_t s); // cuda_coll_forms.c

// cuda_pair.c: whether the pair is more than its calls one by one, and it. A consumer is done when
// the compute stream is; the collective of a producer when the event is.
bool cuda_pair_overlaps(const hap_rank *r, const hap_pair *p);
void cuda_pair_run(hap_rank *r, const hap_pair *p, cudaEvent_t done);
void cuda_pair_start(hap_rank *r);
void cuda_pair_end(hap_rank *r);

#endif
