// What a class's memory holds: bytes by kind at the fullest moment, and over the step. Buffers that
// share bytes (views, all-reduces in place) count once, as what takes most of them.

#ifndef HAP_EMIT_MEMORY_KINDS_H
#define HAP_EMIT_MEMORY_KINDS_H

#include "emit/step_times.h"

enum {
    MEM_PARAMETERS, // and other buffers that live from step to step
    MEM_OPTIMIZER,
    MEM_ACTIVATIONS, // made by the forward pass
    MEM_GRADIENTS,   // made by backward pass and update
    MEM_SENDING,     // scratch of collectives, inputs, constants
    MEM_N_KINDS,
    MEM_N_BINS = 160 // moments of the curve, evenly over the step
};
extern const char *const memory_kind_name[MEM_N_KINDS];

typedef struct memory_kinds {
    double peak[MEM_N_KINDS];     // bytes at the fullest moment
    double gaps;                  // of the arena: what is free at that moment
    double peak_sec;              // when that is
    double (*curve)[MEM_N_KINDS]; // most within each bin
} memory_kinds;

memory_kinds memory_kinds_of(hb_arena *a, const emit_plan *e, const step_times *t, int cls);

#endif
