// The quickest pipeline of a table of costs: which layers on which group of machines.
//
// Layers stand in a row, machines are units of a few kinds. A stage is a run of layers on one
// option: a group of units, and what every layer takes there. Every unit is in at most one stage;
// some may stay out. A step of m micro-batches takes
//
//     (m - 1) tau + fill     tau    the pace: of the slowest stage, forward and backward until its
//                                   gradient is sent, or of the slowest message, or slower
//     fill = max over stages s of             what the first micro-batch passes until the last
//            sum_{t < s} (forward_t + link)   stage is done that has work behind the micro-batches
//          + max(sum_{t >= s} (forward_t + sent_t + 2 link) + behind_s, m work_s - (m - 1) tau)
//          + ends_s
//
//     sent      of backward: until the gradient is sent
//     behind    the rest of it: done when the stage has nothing else to do, or put off
//     work      forward + backward
//
// A stage keeps ceil(round / tau) micro-batches under way, where round is what one takes from its
// forward half there to the end of its backward half, so that it never waits for a place; besides,
// those of which it puts off the rest, m (work - tau) / behind; at most m. They must fit:
// held + under way x place <= room. Where gradients are sent last, tau is the slowest stage's work.
//
// Exact but for a gap: every tau that a plan can have is looked at or bounded away. For a given tau
// a dynamic program goes over the layers from the last to the first and over the multiset of units
// used; a state keeps every pair (path, fill) that no other one beats in both, with these units or,
// where one plan is asked for, with one less; path: the sum over t >= s.

#ifndef HAP_SOLVER_PIPELINE_H
#define HAP_SOLVER_PIPELINE_H

#include "ir/base/arena.h"
#include "solver/solver_limits.h"

typedef struct pl_option {
    const int *take; // units, by kind; one at least
    double width;    // bytes/s of all its machines' network links; INFINITY: it needs none
    // Of a part of a machine: the machine's number, else -1. Messages between parts with one number
    // go over its link: bytes/s of all devices of the part, seconds beside the bytes.
    int machine;
    double inside, inside_latency;
    // By layer: seconds of a micro-batch (sent: at most backward), seconds a step; bytes that lie
    // there always and for each micro-batch under way; none is negative.
    const double *forward, *backward, *sent, *ends, *held, *place;
    double room; // bytes
} pl_option;

typedef struct pl_problem {
    int n_layers, n_kinds, n_options;
    const int *count; // units, by kind
    const pl_option *option;
    const double *border; // by layer: bytes of a micro-batch that come from the one before
    double latency;       // seconds of a message beside its bytes
    int rounds;           // micro-batches
    double gap;           // share: so much more than the best may be taken, for less work
    int least_stages;     // 1 or 2
    int most_stages;      // at most PL_MAX_STAGES
} pl_problem;

typedef struct pl_stage {
    int option, first, n_layers, under_way;
} pl_stage;
typedef struct pl_plan {
    int n;
    pl_stage stage[PL_MAX_STAGES];
    double sec;
    double tau;
    int n_tried; // values of tau
} pl_plan;

typedef enum { PL_OK, PL_NONE, PL_TOO_LARGE } pl_status;

// The n best plans, no two of them on the same units, ascending; less than n: the others have no
// stage. Only plans of less than so many seconds count (INFINITY: all). NONE: there is none.
pl_status pl_search(const pl_problem *p, double less, int n, pl_plan *out);

// Is there a plan of less than so many seconds? False where the table is too large, too.
bool pl_any(const pl_problem *p, double less);

// Seconds of a plan at its slowest stage's or message's pace, or at the least of the table's that
// it fits at, by the formula above; INFINITY if it does not fit. Fills tau, under_way and sec.
double pl_value(const pl_problem *p, pl_plan *plan);

#endif
