// What hapc profile measured, and the two files it becomes.

#ifndef HAP_CLI_PROFILE_FIGURES_H
#define HAP_CLI_PROFILE_FIGURES_H

#include "cli/cli.h"

// A figure of the measuring program, by rank of its run.
typedef struct profile_figure {
    hb_str kind, name, form, dtype;
    double thin, size;
    double *sec;
} profile_figure;

typedef struct profile_device {
    hb_str name, host;
    bool gpu;
    int units;
    int64_t memory, reserve;
} profile_device;

// One start of the measuring program.
typedef struct profile_run {
    int n;
    int *rank;    // of the cluster
    bool crosses; // between machines
    bool whole;   // all ranks; rows were measured, too
    profile_device *device;
    HB_VEC(profile_figure) figure;
} profile_run;
// Reads what the program wrote; false after an error was printed.
bool profile_read(hb_arena *a, const char *path, profile_run *r);

// Machines of what was measured: of the cluster file that was given, or this one.
typedef struct profile_machine {
    hb_str name, host;
    int first, n; // ranks
    int parts;    // emulated hosts, 1: none
} profile_machine;

typedef struct profile {
    hb_str name, date;
    int n_ranks;
    int *sms;            // by rank, 0: all
    bool *threads_given; // by rank: the file says `threads`
    hb_str *model;       // by rank: of the catalogue, as the file says; empty: by its device
    hb_str *called;      // by rank: name of a spelt-out device in the file; empty
    HB_VEC(profile_machine) machine;
    HB_VEC(profile_run) run;
} profile;

// The cluster file, which names its curves `curves`; then the curves of its classes (of `cluster`,
// the file as read). names: by rank, what curves call its kind, where a number is part of that,
// which the file then says; NULL: they are not known yet.
hb_str profile_cluster_text(hb_arena *a, const profile *p, const char *curves, const hb_str *names);
hb_str profile_curves_text(hb_arena *a, const profile *p, const cl_cluster *cluster);

#endif
