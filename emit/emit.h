// What a person and a compiler read of a plan: program.c, plan.json, report.txt, trace.json.
//
// Everything is printed from one emit_plan; bytes are deterministic (no date, no search time in
// program.c).
//
//     emit_plan e = {.p = result.program, .res = &result, ...};
//     if (!emit_folder(a, &e, "plan", &why)) fprintf(stderr, "%.*s\n", HB_ARG(why));

#ifndef HAP_EMIT_EMIT_H
#define HAP_EMIT_EMIT_H

#include "synth/plan/staged.h"
#include "synth/search/synth.h"

// The same planned again with one thing changed (--what-if).
typedef struct emit_asked {
    hb_str change; // "batch=64", "machines.old.count=0"
    double sec;    // of a step; < 0: no plan, and why
    hb_str why;
    int used, all; // devices
    double filled; // of the fullest memory, as a share
    hb_str cut;    // " The computing is cut by …."
} emit_asked;

typedef struct emit_plan {
    const syn_program *p;  // rolled and placed
    const syn_result *res; // times, baselines, bounds
    hb_str command; // as typed, without the path of the binary: "hapc mlp.json lab.yaml -o mlp"
    hb_str version; // "0.1.0"
    hb_str graph_path, cluster_path; // as the user wrote them
    int64_t batch;                   // --batch, 0 if not given
    hb_str strategy;                 // --strategy
    const syn_pins *pins;            // --pin, NULL none
    bool no_pairs;                   // --pairs off
    bool curves_missing;             // no measured curves: times are datasheet formulas
    hb_str unmeasured;               // what has no curve where there are some, empty: nothing
    const syn_alternative *instead;  // by instruction, as emit_price_moves left it; NULL: not asked
    const emit_asked *asked;         // --what-if, as typed; n_asked of them
    int n_asked;
    const syn_result *whole; // of a plan of stages: what the same takes without, NULL not asked
    hb_str stages;           // --stages, as typed
} emit_plan;

// Where program.c has an instruction of the plan: line of the call, 0 of a view, which is none.
typedef struct emit_lines {
    int *line;    // by index of instr
    hb_str *expr; // by buffer: how program.c's main names it, "h[3].ln_1"
    int n_lines;
} emit_lines;

// False with *why (one sentence, "not supported: …") if the program needs what runtime.h does not
// have.
bool emit_supported(hb_arena *a, const ir_graph *g, hb_str *why);

// program.c, and buffers.h that it includes; where may be NULL.
void emit_program_c(hb_buf *out, hb_buf *buffers, const emit_plan *e, emit_lines *where);
// kernels.cu of n programs, a plan's or its stages'; false: there are no fusions.
bool emit_kernels(hb_buf *out, hb_str version, const syn_program *const *p, int n);
void emit_plan_json(hb_buf *out, const emit_plan *e, const emit_lines *where);
// For the report: what the collectives that take longest are worth (one search each; none on large
// graphs).
void emit_price_moves(hb_arena *a, emit_plan *e);
void emit_report_text(hb_buf *out, const emit_plan *e);
// The page: one file that reads no other. where may be NULL.
void emit_report_html(hb_buf *out, const emit_plan *e, const emit_lines *where);
// The verdict, at most 24 lines of 80 columns; dir: the plan folder, NULL if nothing was written.
void emit_verdict_text(hb_buf *out, const emit_plan *e, const char *dir);
void emit_trace_json(hb_buf *out, const emit_plan *e, const emit_lines *where);

// What a result says to a change; its strings are a's.
emit_asked emit_asked_of(hb_arena *a, hb_str change, const cl_cluster *c, const syn_result *r);
// The table of what was asked, below the verdict; nothing if nothing was.
void emit_asked_text(hb_buf *out, const emit_plan *e);

// Writes DIR at once: into a temporary folder beside it, then by rename. An existing DIR is
// replaced only if it is empty or a plan folder (it holds program.c and plan.json).
bool emit_folder(hb_arena *a, const emit_plan *e, const char *dir, hb_str *why);
// Takes a plan folder away, but for what is not of a plan.
void emit_remove_folder(hb_arena *a, const char *dir);
// Moves a plan folder to where another is, which it replaces as emit_folder does, or nothing.
bool emit_move_folder(hb_arena *a, const char *from, const char *to, hb_str *why);

// --- plans of stages; of about: command, version, paths, batch, strategy, where times are from ---
// where: filled, by stage.
void emit_stages_program(hb_buf *out, hb_buf *buffers, const syn_staged *p, const emit_plan *about,
                         emit_lines *where);
// The verdict, at most 24 lines of 80 columns; dir: the plan folder, NULL if nothing was written.
void emit_stages_verdict(hb_buf *out, const syn_staged *p, const emit_plan *about, const char *dir);
void emit_stages_text(hb_buf *out, const syn_staged *p, const emit_plan *about); // the report
void emit_stages_json(hb_buf *out, const syn_staged *p);                         // for --json
// As emit_folder.
bool emit_stages_folder(hb_arena *a, const syn_staged *p, const emit_plan *about, const char *dir,
                        hb_str *why);
hb_str emit_stage_words(hb_arena *a, const syn_staged *p, int s); // "layers 0-5 on m0, m1"

// --- shared by the printers ---
hb_str emit_module(hb_arena *a, const ir_graph *g,
                   int node); // "transformer.h.0.attn" of …attn.c_attn
// "[8@rows 128 768]+" with the cuts by the names of program.c (mesh cut -> table name).
hb_str emit_shape(hb_arena *a, const syn_program *p, int tensor, const hb_str *table_of_cut);
hb_str *emit_table_names(hb_arena *a, const syn_program *p); // by mesh cut
// "h.0.ln_1" of "transformer.h.0.ln_1" where most parameters begin with "transformer.".
hb_str emit_root(const ir_graph *g); // "transformer", empty where names share no beginning
hb_str emit_without_root(hb_str root, hb_str name);
// Names of the buffers, by tensor: C identifiers, unique, no word of C or of runtime.h.
hb_str *emit_names(hb_arena *a, const syn_program *p);
hb_str emit_identifier(hb_arena *a, hb_str s);              // one identifier, not yet unique
hb_str emit_unique(hb_arena *a, hb_map *used, hb_str want); // appends _2, _3, … if taken; takes it
hb_str emit_bytes(hb_arena *a, double bytes);               // "31.2 KiB"
hb_str emit_instr_name(hb_arena *a, const syn_program *p,
                       int instr);                                // "op_linear", "all_gather", …
double emit_coll_bytes(const syn_program *p, const syn_instr *i); // global bytes of its sources
double emit_slowest(const syn_program *p, const syn_instr *i);    // seconds, max over classes
// Share of the divided work by rank of the mesh; sums to 1. Work every rank does in full counts for
// none.
double *emit_ratios(hb_arena *a, const syn_program *p);
// A table's entries for a C initializer, at most n items; runs of long tables as HAP_X256(3).
int emit_table_items(hb_arena *a, const int64_t *v, int n, hb_str *item);
void emit_table_sum(hb_buf *out, const int64_t *v, int n); // " 2 + 1 + 1", " 256 x 3 + 768 x 1"
// Share of a collective's time that passes before the first class waits for it, in [0, 1]; 0 if the
// timeline was not kept.
double emit_hidden(const emit_plan *e, int start, int wait);
// "transformer.h.*.ln_1": components that are numbers become '*'.
hb_str emit_pattern(hb_arena *a, hb_str name);

#endif
