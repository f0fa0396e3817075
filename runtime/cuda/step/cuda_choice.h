// Which way a recorded step is run: as graphs, call by call, or as one graph with its one-sided
// puts in it (cuda_whole.h), where there is one. Chosen by time.
//
// A graph spares the host its launches (4 us each) but costs the device some 20 us for each of the
// library's collectives in it, and 50 us for each of its breaks where they follow one another:
// GPT-2 XL on 4 H200s, tensor-parallel with pairs, takes 152.7 ms in 99 graphs and 139.9 called;
// BERT on one, 330 launches in 13.3 ms, is quicker as a graph. So the first steps after the capture
// run in all ways, in turns there and back, and the way of the lowest median stays; of those that
// are near, the one with the fewest launches, which a busy host does not hold up. All ranks choose
// alike, by the slowest rank's medians.
//
//     way = cuda_choice_next(&c);                     each step
//     if (cuda_choice_time(&c, sec)) {                until it says so: all turns are done
//         cuda_choice_medians(&c, sec);
//         sec[way] = the most of all ranks';
//         cuda_choice_make(&c, sec);
//     }

#ifndef HAP_RUNTIME_CUDA_CHOICE_H
#define HAP_RUNTIME_CUDA_CHOICE_H

#include <stdbool.h>

typedef enum { CUDA_BY_CALLS, CUDA_BY_GRAPHS, CUDA_BY_WHOLE, CUDA_WAYS } cuda_way;

enum { CUDA_CHOICE_TURNS = 3 };

typedef struct cuda_choice { // zeroed
    int n;                   // steps timed
    double sec[CUDA_WAYS][CUDA_CHOICE_TURNS];
    bool whole; // CUDA_BY_WHOLE is one of the ways; before steps are timed
    bool made;
    cuda_way way; // once it is made
} cuda_choice;

cuda_way cuda_choice_next(const cuda_choice *c);
// The step that cuda_choice_next was asked for took so long.
bool cuda_choice_time(cuda_choice *c, double sec);
void cuda_choice_medians(const cuda_choice *c, double sec[CUDA_WAYS]);
void cuda_choice_make(cuda_choice *c, const double sec[CUDA_WAYS]);

#endif
