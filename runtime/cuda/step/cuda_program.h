// What is known of the steps of a program, and how they are run.
//
// The first pass of the step runs as it is called and finds plans and workspaces. The second is
// recorded (cuda_record.h) and its end runs what is left of the list; from the third on calls
// inside the step only pass core's checks, and the list runs at the step's begin, so that the host
// checks while the device works: as a CUDA graph captured in the third, in parts between what
// cannot be captured (cuda_capture.h), or call by call; or whole, with its one-sided puts
// (cuda_whole.h), where a trial in the third pass says that it may be (cuda_litmus.h). These passes
// are rehearsals (core/step.c), so that step 0 and those behind it make no plan, take no memory and
// wait for the device at their end alone; --rehearse 0: they are the first steps. Several ranks
// find by time which of the ways it is to be, in the first steps (cuda_choice.h), unless tune=off
// (of --cuda); one rank takes the graph. graph=on takes graphs, =list, as --trace does, calls,
// =auto finds out on one rank and without tuning as well; =off runs every step as called. fuse=off
// leaves the list as recorded, =exact gives the same bits (cuda_fuse.h); off also runs fusions op
// by op (cuda_fusion.h).

#ifndef HAP_RUNTIME_CUDA_PROGRAM_H
#define HAP_RUNTIME_CUDA_PROGRAM_H

#include "core/backend.h"
#include "cuda/device/cuda_backend.h"
#include "cuda/fuse/cuda_record.h"
#include "cuda/step/cuda_choice.h"

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
    int span; // cuda_trace.h: of what its wait ends, else -1
    cudaEvent_t ready, done;
    bool at_once;           // runs on the compute stream
    struct hap_event *next; // in order of start, or in the free list
};

typedef struct cuda_program {
    int64_t passes; // rehearsals among them
    cuda_record list;
    struct cuda_part *part; // cuda_capture.h: the list in parts, once it is run so
    int n_parts;
    struct cuda_whole *whole; // or as one graph; NULL: there is none
    cuda_choice choice;
} cuda_program;

typedef struct cuda_steps {
    cuda_program now; // under way: number k; the others are as they were left (cuda_programs.c)
    cuda_program *others;
    int n_others, k;
    bool use_list, use_graph, chooses; // the same on all ranks; chooses: between the two
    cuda_step_mode mode;
    cuda_fusions fusions;
    hap_event *first, *last, *free; // not waited for; free list
    hap_event passed;               // what a start returns where calls pass by
    bool whole_step;                // is being captured as one graph
    bool by_host;                   // messages of the pass under way go by way of host memory
    double listed;                  // seconds of the step that was recorded
    double begun;                   // when the list of the step under way was launched, in seconds
    struct cuda_inputs *inputs;     // cuda_inputs.h
    int64_t back;                   // bytes of padded copies that a step's end copies back
} cuda_steps;

// Copies of what lies in these bytes that the list does not make again (cuda_memory.c).
void cuda_copy_again(hap_rank *r, const char *p, int64_t bytes);

static inline cuda_steps *cuda_steps_of(const hap_rank *r)
{
    return cuda_of(r) ? cuda_of(r)->steps : NULL; // none before hap_mesh
}

#endif
