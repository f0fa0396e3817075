// The verdict on a plan: what was decided, what it brings, what limits it; what it is compared
// with. The same sentences stand on the terminal and on the page.

#ifndef HAP_EMIT_VERDICT_H
#define HAP_EMIT_VERDICT_H

#include "emit/plan_parts.h"

// The step done in another way, by the same simulator.
typedef struct alternative {
    syn_strategy strategy; // SYN_AUTO: one device alone
    hb_str name, where;    // "Data parallel, equal batches", "on all 4 GPUs"
    double sec;            // < 0: none
    hb_str why;            // < 0: why
    bool kept;             // on fewer devices than all: those of the plan,
    bool other;            // or others that do better with it
    bool whole;            // to a plan of stages: the best without
    bool simple;           // what people do by hand
} alternative;

// Devices that are alike: a class in use, or one that is left out.
typedef struct device_row {
    int cls; // of the mesh; -1: unused
    int cluster_cls;
    int count;
    double share;    // of the work that is cut, all of them together
    double with_sec; // unused: the fastest plan seen that uses one of them; 0: none
} device_row;

typedef struct verdict {
    hb_str model, cluster; // names, harmless
    hb_str decided, brings, limits;
    hb_str note;      // of repeated work and of a search cut short; empty
    hb_str times;     // where the times come from, a sentence
    hb_str proof;     // what the certificate lacks, a sentence; empty
    alternative *alt; // fastest first, those without a time last
    int n_alt;
    bool kept_known;         // the baselines of others are of the devices of the plan
    const alternative *best; // the best simple one; NULL: none is known
    device_row *device;
    int n_devices;
} verdict;

verdict *verdict_of(const wording *w);
// Of a plan of stages (stages_verdict.c).
verdict *verdict_of_stages(hb_arena *a, const plan_parts *x, const emit_plan *about);
// Why a stage has its layers: sentences.
hb_str stages_why(hb_arena *a, const plan_parts *x, const emit_plan *about, int s);
// The verdict, at most 24 lines of 80 columns; dir: the plan folder, NULL if nothing was written.
void stages_verdict_text(hb_buf *out, const plan_parts *x, const emit_plan *about, const char *dir);
// A heading and words behind it from column 9 on, wrapped at 80; at most `lines` of them. How many.
int verdict_wrapped(hb_buf *out, const char *head, hb_str text, int lines);
// Decided, Brings, Limits and Times, so that all of a verdict with so many rows has 24 lines.
void verdict_sentences(hb_buf *out, const verdict *v, int rows);
// A class of the program that no code can be built for; NULL: none.
const cl_class *verdict_plan_only(const syn_program *p);
// The lines that name the page and the run; unable: as verdict_plan_only found it.
void verdict_ways(hb_buf *out, const char *dir, const cl_class *unable);
hb_str verdict_cut(const wording *w); // " The computing is cut by …."; empty: nothing to say
hb_str verdict_readable(hb_arena *a, hb_str why); // a reason of the search, long numbers as sizes
hb_str verdict_model(hb_arena *a, hb_str path);   // "gpt2" of "examples/gpt2/graph.json"
hb_str verdict_faster(hb_arena *a, double ratio); // "2.1 x as fast as", "8.8 % faster than"
hb_str verdict_lower(hb_arena *a, hb_str name);   // as in the middle of a sentence
hb_str verdict_all(hb_arena *a, const char *device, int n); // "on all 4 GPUs"
hb_str verdict_times(hb_arena *a, const emit_plan *e);      // where times come from
int verdict_by_sec(const void *x, const void *y);           // alternatives, fastest first
hb_str verdict_resource(const wording *w, const struct syn_what_if *x); // "speed of the V100"

#endif
