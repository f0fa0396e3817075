// Streams and events of CUDA without a device: what the runtime enqueues is done in host memory, a
// step at a time, by whichever stream a drawn number picks. Copies and sums take several steps, so
// that what may run between them does.
//
// Streams run in their order and for the rest in any: a wait for an event ends when the record that
// it stands behind has run, a wait for a number when memory has reached it, cyclically. What a
// kernel stores in another device's memory comes there some time after the kernel has ended, at the
// latest when a number is written by a stream that stands behind the kernel: that write is a fence.
// Streams are captured and graphs launched as well (fake_graphs.c).

#ifndef HAP_TESTS_FAKE_STREAMS_H
#define HAP_TESTS_FAKE_STREAMS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "cuda/device/cuda_driver.h"

extern const cuda_driver fake_driver; // the stream operations alone

void fake_seed(uint64_t seed); // what is picked from here on, and how often each stream is
uint64_t fake_draw(uint64_t n);

// Work of a stream: step 0, 1, … until it says that it is done.
void fake_call(cudaStream_t s, bool (*step)(void *arg, int number), void *arg);

// The same with a copy of the argument, so that a captured one can be replayed; where `able` is
// false it cannot go on. NULL: it always can.
void fake_call_own(cudaStream_t s, bool (*able)(const void *arg),
                   bool (*step)(void *arg, int number), const void *arg, size_t bytes);

// A kernel that copies planes of rows of bytes, in steps. far: into another device's memory.
typedef struct fake_copy {
    char *to;
    const char *from;
    size_t bytes, rows, planes, to_row, from_row, to_plane, from_plane;
    bool far;
} fake_copy;
void fake_kernel(cudaStream_t s, const fake_copy *c);

// From here on copies that are enqueued have the tag; `watch` is told when one begins (1) and ends
// (-1), and where it writes. NULL: nobody is.
void fake_tag(int tag);
void fake_watch(void (*watch)(int tag, const char *to, int change));

// A step of some stream. False: none can go on.
bool fake_step(void);
bool fake_idle(void); // all that was enqueued has run
bool fake_stream_idle(cudaStream_t s);
void fake_forget(void); // drops what has not
// Waits for numbers where this is true do not wait. NULL: all do.
void fake_deaf(bool (*deaf)(cudaStream_t s, const uint32_t *at));
// Waits of a stream for events that another one has recorded, where this is true, do not wait.
void fake_rash(bool (*rash)(cudaStream_t s, cudaStream_t recorded));
void fake_loose(bool is); // writes of numbers are no fences
void fake_queues(
    int n); // in which nodes of graphs stand from here on, at most MOST_STREAMS; 0: any
void fake_stale(bool is); // numbers of captured graphs stay as they were
// Numbers of captured graphs are set by the context of their node, by the current one, by none.
typedef enum { FAKE_OWN, FAKE_CURRENT, FAKE_NONE } fake_context;
void fake_contexts(fake_context of);
void fake_each_stream(void (*f)(cudaStream_t s, void *arg), void *arg);

#endif
