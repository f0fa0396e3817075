// Where the time of the predicted step goes: by class computing, waiting for data and waiting for
// others, which add up to the step; by collective what the step waits for.
//
// A class *waits for data* while it computes nothing and a collective runs; it *waits for others*
// while it computes nothing and none does. Exposed time of a collective is the time it runs while
// the busiest class computes nothing, shared evenly between collectives at once; all of it adds up
// to what the busiest class waits for data.

#ifndef HAP_EMIT_STEP_TIMES_H
#define HAP_EMIT_STEP_TIMES_H

#include "emit/emit.h"
#include "synth/price/price_stages.h"

typedef struct class_times {
    double compute, exposed, waiting; // seconds; their sum is the step
    double phase[3];                  // of compute: forward, backward, update
} class_times;

// One instruction that takes time.
typedef struct step_span {
    int instr, cls; // cls -1: a collective
    double begin, end;
} step_span;

typedef struct step_times {
    double total; // seconds of the step
    int n_classes, busiest;
    class_times of[CL_MAX_CLASSES];
    double *exposed; // by instr: seconds, of a START; else 0
    int *wait;       // by instr: of a START its wait, else 0
    int n_spans[CL_MAX_CLASSES + SYN_MAX_AXES];
    step_span *span[CL_MAX_CLASSES + SYN_MAX_AXES]; // classes, then streams; in time's order
} step_times;

// The plan's timeline, which must have been kept.
step_times *step_times_of(hb_arena *a, const emit_plan *e);
// Of a stage, whose step is the whole one's: its pieces, their number, seconds of the whole step.
step_times *step_times_of_stage(hb_arena *a, const emit_plan *e, const syn_stage_piece *piece,
                                int n_pieces, double total);
ir_phase step_phase(const syn_program *p, int instr);

#endif
