// A planning problem as a user poses it: a graph, a cluster, options. It is text for the readers of
// hapc, so a problem that a test finds can be written to files and planned again by hapc.
//
//     random_source r = {42};
//     problem p = problem_random(&r, (problem_sizes){0});
//     problem_answer x = problem_plan(&p);        // in a process of its own
//     problem_write(a, &p, "/tmp/42");            // /tmp/42.json, /tmp/42.yaml; gives the command
//
// Models are small training steps of real proportions: multilayer perceptrons, GPT, mixtures of
// experts, chains side by side. Devices have the figures of real ones; their memory goes from ample
// to less than the step takes on one device.

#ifndef HAP_TESTS_PROBLEM_H
#define HAP_TESTS_PROBLEM_H

#include "random_graph.h"

enum { PROBLEM_LAYERS = 20, PROBLEM_CLASSES = 8, PROBLEM_MACHINES = 5, PROBLEM_GROUPS = 6 };

typedef enum { PROBLEM_MLP, PROBLEM_GPT, PROBLEM_MOE, PROBLEM_BRANCHES } problem_kind;

typedef struct problem_model {
    problem_kind kind;
    int n_layers; // BRANCHES: chains, of 2 or 3 layers each
    int64_t batch, tokens, width, heads, vocabulary, experts;
    int64_t hidden[PROBLEM_LAYERS + 1]; // by layer; MLP: width behind it
    bool clip, tied;
} problem_model;

typedef struct problem_class {
    double tflops, gb, gbps; // f32 peak, memory, memory bandwidth
} problem_class;

typedef struct problem_machine {
    int n_groups;
    struct problem_group {
        int cls, n;
    } group[PROBLEM_GROUPS];
    double gbps, us; // link
} problem_machine;

typedef struct problem_cluster {
    bool cpu; // devices are processors, so that plans run here
    int n_classes, n_machines;
    problem_class cls[PROBLEM_CLASSES];
    problem_machine machine[PROBLEM_MACHINES];
    double net_gbit, net_us;
} problem_cluster;

// Of the command line; NULL, 0 and "" are left out. micro -1: auto.
typedef struct problem_options {
    const char *mesh, *strategy;
    int micro;
    char recompute[24], pin[80];
} problem_options;

typedef struct problem {
    problem_model model;
    problem_cluster cluster;
    problem_options options;
} problem;

typedef struct problem_sizes {
    bool run; // small enough to be trained here, on CPUs
    // 2 layers of a transformer, 3 to 5 of others, and tight memory in one of 8 only, not of 2:
    // planned in a tenth of the time
    bool few_layers;
    int max_devices; // 0: 10
    int max_classes; // 0: 4
} problem_sizes;

typedef enum {
    PROBLEM_PLANNED,
    PROBLEM_NO_PLAN,
    PROBLEM_BAD,
    PROBLEM_LATE,
    PROBLEM_DIED
} problem_status;

typedef struct problem_answer {
    // BAD: the readers refuse it (a pin that holds nowhere); LATE: out of time; DIED: a bug
    problem_status status;
    double sec;        // predicted; HUGE_VAL without a plan
    double cpu_sec;    // user and system time
    double peak_bytes; // of the fullest device
    char plan[64];     // "6 of 8 ranks, 2x3, 4 micro-batches, 2 recomputed"
    char why[240];
} problem_answer;

problem problem_random(random_source *r, problem_sizes s);
// Gives it memory of which the step takes much: each class another share of what the step takes on
// one device, in all from `least` to `most` times that.
void problem_tighten(random_source *r, problem *p, double least, double most);
int problem_devices(const problem_cluster *c);
problem_class problem_random_class(random_source *r, bool cpu);
void problem_random_link(random_source *r, bool cpu, problem_machine *m);
double random_real(random_source *r, double least, double most); // evenly in the logarithm

hb_str problem_graph(hb_arena *a, const problem_model *m);             // JSON
hb_str problem_yaml(hb_arena *a, const problem_cluster *c);            // a cluster file
hb_str problem_words(hb_arena *a, const problem_options *o);           // " --mesh flat"
hb_str problem_summary(hb_arena *a, const problem *p);                 // one line for people
hb_str problem_write(hb_arena *a, const problem *p, const char *base); // "BASE.json BASE.yaml …"
// 2-dimensional parameters by number, NULL beyond the last.
const char *problem_weight(hb_arena *a, const problem_model *m, int i);

// About what the step takes on one device: states of the parameters and what the forward pass
// saves.
double problem_bytes(const problem_model *m);

// Numbers of cases: as typed, and another one each time.
uint64_t problem_number(const char *text);
uint64_t problem_fresh_seed(void);

extern int problem_seconds; // of processor time, that a plan may take

// Plans as `hapc GRAPH CLUSTER OPTIONS` does, in a child with a limit of processor time.
problem_answer problem_plan(const problem *p);
// The same on the cluster of a text, instead of its own.
problem_answer problem_plan_on(const problem *p, hb_str yaml);

#endif
