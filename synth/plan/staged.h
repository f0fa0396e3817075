// A plan of stages (ir/stages.h): a program for each, on devices of its own, and the order of its
// slots.

#ifndef HAP_SYNTH_STAGED_H
#define HAP_SYNTH_STAGED_H

#include "ir/stages.h"
#include "synth/plan/program.h"

typedef struct syn_stage {
    const cl_cluster *cluster; // its machines
    int *cluster_rank;         // by rank of these: that of the whole cluster
    int first_layer, n_layers;
    syn_program *program; // on some or all of its devices
    int first_rank;       // of its ranks among all of the plan
    // Predicted seconds of the stage alone: before the micro-batches, of one forward, one backward,
    // of weight gradients (0: they are no part of their own), behind the last. Without
    // micro-batches: all of it is before.
    double before, forward, backward, weights, after;
    double busy, waits, ends; // in the whole: computing and its own communication, waiting for
                              // others; when its last call has ended
} syn_stage;

typedef struct syn_staged {
    const ir_graph *g; // the step, or a variant of it, that was cut
    const cl_cluster *cluster;
    const ir_stages *cut;
    int n, n_ranks;
    syn_stage *stage;
    double *port_sec;   // by port: seconds of a message
    double *port_bytes; // by port: that all receivers of a message get
    double predicted_sec, plan_sec;
    bool values_run; // the certificate of every stage has the modular run (theory section 6)
} syn_staged;

#endif
