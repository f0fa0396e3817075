// Numbers and tensors in words, for the verdict and the page: three significant figures, units of
// docs/formats.md, the field's words (docs/glossary.md).

#ifndef HAP_EMIT_WORDS_H
#define HAP_EMIT_WORDS_H

#include "emit/step_times.h"

hb_str say_sec(hb_arena *a, double sec);                      // "38.7 ms", "1.23 s", "430 us"
hb_str say_percent(hb_arena *a, double share);                // "0", "under 0.1 %", "1.2 %", "34 %"
hb_str say_times(hb_arena *a, double ratio);                  // "1.02 x", "3.9 x", "34 x"
hb_str say_count(hb_arena *a, int64_t n);                     // "1,024"
hb_str say_things(hb_arena *a, int64_t n, const char *thing); // "1 GPU", "4 GPUs"
// "a, b and c".
hb_str say_list(hb_arena *a, const hb_str *item, int n);
hb_str say_rate(hb_arena *a, double rate, const char *unit); // "312 TFLOP/s"
// What is open of a gap above SYN_BOUND_WIDE, sentences; empty: the gap is no wider.
hb_str say_open(hb_arena *a, const syn_result *r);
// A name that came from outside, without what a terminal or a page would obey: control characters,
// marks of writing direction and broken UTF-8 become U+FFFD.
hb_str say_name(hb_arena *a, hb_str name);

// Of a search that ended at its limit of work (SYN_WORK).
hb_str say_cut_short(void);
// Of a plan whose certificate has no modular run.
hb_str say_not_run(void);

// What words need to know of a plan.
typedef struct wording {
    hb_arena *a;
    const emit_plan *e;
    const syn_program *p;
    const step_times *t;
    const char *device; // "GPU", or "device" where not all are
    hb_str *cut_by;     // by factor class: "samples", "heads", "experts"; empty: no word for it
    hb_str *table;      // by mesh cut: its name in program.c
    int *n_of;          // ranks, by class of the mesh
    // Share of the busiest class's computing by what it is cut by, most first.
    int n_shares;
    struct {
        hb_str by[SYN_MAX_AXES]; // "repeated": on every coordinate
        double share;
    } * share;
    double repeated;    // share that every device does in full
    double same_inside; // share that every machine does in full, its devices each a part
} wording;
wording *wording_of(hb_arena *a, const emit_plan *e, const step_times *t);

// "positions across machines, features inside them", "samples inside each machine".
hb_str words_both(const wording *w, const hb_str *by);

// Equal parts in a row along a tensor.
typedef struct part_run {
    int cls; // of the devices; -1: of several
    int64_t entries;
    int count;
} part_run;
// A table, run by run; their number. `run` has room for its entries.
int cut_runs(const wording *w, int cut, part_run *run);
// "cut by heads: 5 / 4 / 2 / 1"; "whole on every device".
hb_str say_state(const wording *w, int tensor, const syn_state *s);
// "bf16", where the graph computes in it and the class cannot; NULL.
const char *words_not_in(const ir_graph *g, const cl_class *k);
// flop/s of a class in the precision of the graph, or f32's where it has none.
double words_peak_flops(const ir_graph *g, const cl_class *k);
// What speaks against a class that the plan leaves out, a clause: its speed beside the fastest in
// use, the network to it. Empty: neither.
hb_str words_unused(hb_arena *a, const syn_program *p, int cls);
hb_str say_op(hb_arena *a, const syn_program *p, int instr); // "matrix multiply"

#endif
