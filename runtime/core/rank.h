// The state of one rank: what core's files, a backend's kernels and its collectives share.
//
// Kernels see `now` alone (hap_step in runtime_core.h); only core writes what stands here.

#ifndef HAP_RUNTIME_RANK_H
#define HAP_RUNTIME_RANK_H

#include "core/pair.h"
#include "core/run_options.h"
#include "core/runtime_core.h"

typedef enum {
    HAP_VAR_INPUT,
    HAP_VAR_PARAM,
    HAP_VAR_STATE,
    HAP_VAR_BUFFER,
    HAP_VAR_CONST,
    HAP_VAR_GRAD
} hap_var_kind;

// A tensor that has a name outside the program.
typedef struct hap_var {
    hap_var_kind kind;
    const char *name; // the program's literal
    hap_tensor *t;
    hap_fill fill;    // PARAM, BUFFER, CONST
    const char *file; // CONST stored in a file: "F.safetensors#name"; else NULL
    int line;
    int stage; // whose it is: of another stage t has a type and whole dims, no data
} hap_var;

typedef struct hap_alias_name {
    const char *name, *of;
} hap_alias_name;

struct hap_rank {
    // Place.
    int id, n_ranks;
    char host[64];
    // Among the ranks of its stage (hap_stages), which are all where there are no stages.
    int member, n_members;
    int n_axes, size[HAP_MAX_AXES], coord[HAP_MAX_AXES];
    int n_classes, class_id;
    const int *class_of;                 // by rank
    const int *device, *sms, *nccl_host; // by member, as hap_places has them; NULL: not said
    hap_math_mode math;                  // of f32 matmuls
    bool emulated; // the backend gives some rank of the program other hardware than there is
    char *seg[2];  // by hap_segment; zeroed pages
    int64_t seg_bytes[2];

    // What is being done, for messages, heartbeat and trace.
    const char *file;   // NULL program.c, else that of the declaration under way
    int line;           // of it
    const char *doing;  // name of the call
    hap_step_state now; // step (a resumed run goes on counting), learning rate, seed
    bool in_step, in_fusion;
    hap_pair pair; // the open one

    // Declarations.
    hap_options opt;
    const char *graph_sha;
    hap_lr schedule;
    int64_t batch_rows, tokens_per_row;
    hap_tensor **tensor;
    int n_tensors, cap_tensors;
    hap_var *var;
    int n_vars, cap_vars;
    hap_var *saved_var; // what checkpoints are made of: of all stages, in one order on all ranks
    int n_saved_vars;
    hap_alias_name *alias;
    int n_aliases, cap_aliases;
    hap_tensor *loss;
    int n_stages, stage; // 0: the program has none
    uint64_t call_sum;   // of the calls of this step so far, if `summing` (core/call_sum.h)
    bool summing;
    struct hap_ports *ports;
    const hap_port *port; // of the message that is sent or waited for; NULL: none
    int port_number;      // its place in the table
    int64_t message;      // counts from 0 in a step
    int n_rings, ring;    // places of the ring (0: none), and the one that is meant
    int64_t ring_at[HAP_MAX_CLASSES], ring_bytes[HAP_MAX_CLASSES];

    // The run.
    int rehearsals; // that the backend asks for ahead of the first step (core/step.c)
    int rehearsal;  // the one under way, 1 at first; 0: none, what runs are steps
    bool loaded;
    int64_t steps_done;            // in this run
    int64_t end_step;              // the step before which this run is to end
    int64_t cursor;                // rows of the batch read since the start of training
    int64_t samples, eval_samples; // of the data, 0: no input is of the batch
    int64_t saved_step;            // of the last checkpoint that was written; -1: none
    char saved_to[2200];
    char init_folder[2304];  // of --init, if that is a folder of transformers' layout; else ""
    double step_start;       // seconds
    double own_sec;          // of this step so far, for the rank's own work (core/pace.h)
    double norm;             // of the last step's gradients; -1: the program finds none
    bool stopped;            // this step is the last one (hap_stop_asked, on any rank)
    bool moves;              // the same behind a checkpoint, to go on elsewhere
    bool evaluating, noting; // core/evaluate.h
    struct hap_eval *eval;
    struct hap_report *report;
    struct hap_inputs *inputs;
    struct hap_trace *trace;
    bool device_traces; // the backend adds what calls take; else core does, by the host's clock
    struct hap_heartbeat *beat;
    struct hap_pace *pace;
    struct hap_nan_check *nan_check;
    void *backend; // the backend's own state
};

// What this process was asked by signals: SIGUSR2 to end behind the next checkpoint, SIGUSR1 after
// the step under way. The larger one counts.
typedef enum { HAP_STOP_NOT, HAP_STOP_SAVED, HAP_STOP_NOW } hap_stop;
hap_stop hap_stop_asked(void);

#endif
