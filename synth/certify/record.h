// A program as its runtime calls show it: what haprt-record writes and what the checker reads.
//
// Made from a JSON-lines file (record_read.c) or from a plan in memory (record_plan.c); a test
// asserts that both are equal for every golden plan. Nothing here comes from the graph: names and
// shapes are what the program itself said.

#ifndef HAP_SYNTH_RECORD_H
#define HAP_SYNTH_RECORD_H

#include "synth/plan/program.h"

typedef struct rec_dim {
    int64_t n, outer,
        inner; // as hap_dim: size of the cut factor (or of the dim), factors before and after
    int axis;  // -1 whole, SYN_BOTH: both, a table entry a rank
    int n_table;
    int64_t *table; // in a plan's record one a cut, shared
} rec_dim;

typedef struct rec_tensor {
    int id, line, seg; // seg 0 SEG_SYM, 1 SEG_LOCAL
    ir_dtype dtype;
    int rank;
    rec_dim dim[IR_MAX_RANK];
    int64_t off[CL_MAX_CLASSES];
} rec_tensor;

typedef enum { // declarations first, then the step
    REC_INPUT,
    REC_PARAM,
    REC_STATE,
    REC_BUFFER,
    REC_CONST,
    REC_GRAD,
    REC_ALIAS,
    REC_LOSS,
    REC_BATCH,
    REC_SCHEDULE,
    REC_OP,
    REC_SLICE,
    REC_PARTIAL,
    REC_START,
    REC_WAIT,
    REC_FUSE,      // a fusion begins: name its kernel's
    REC_FUSED,     // it ends: in are the tensors that are kept
    REC_OVERLAP,   // a pair begins: its chunks
    REC_TILES,     // its list of tiles: tile, chunks
    REC_OVERLAPPED // it ends
} rec_kind;

typedef struct rec_call {
    rec_kind kind;
    hb_str file; // empty: program.c
    int line;    // of it; 0 unknown
    hb_str name; // declarations: the global name; CONST: also `text`; ALIAS: text = the other name
    hb_str text;
    double num[IR_SCHEDULE]; // fills {kind, a, b}; schedule.def; batch {rows, tokens}
    int op;                  // OP: ir_op
    const ir_attr *attr;     // OP: as many as the op has; a plan's are the graph's own
    int n_out, n_in;
    int *out, *in;  // tensor ids; -1 = absent optional operand. Declarations: in[0]
    cost_coll coll; // START
    cost_form form;
    bool reduce_max;
    unsigned axes;
    int scratch;         // tensor id or -1
    int event;           // START gives it, WAIT names it
    int n_chunks;        // OVERLAP, TILES
    int64_t (*chunk)[3]; // {distance, weight, via}
    int64_t tile[3];     // TILES: rows, cols, how
} rec_call;

typedef struct record {
    hb_str graph_sha;
    bool tf32;           // hap_math: f32 matmuls in tf32
    int n_stages, stage; // 0: the program has none; else of which one it is, and so is all below
    int n_ranks, n_axes, size[SYN_MAX_AXES], n_classes;
    int *class_of; // by rank
    int64_t sym_bytes, local_bytes[CL_MAX_CLASSES];
    HB_VEC(rec_tensor) tensors;
    HB_VEC(rec_call) calls;
} record;

record *record_read(hb_arena *a, const char *path, hb_diag *d);
// After syn_arena; line 0 everywhere. A view (syn_views) is a reshape right behind what makes its
// bytes, as haprt-record logs it.
record *record_from_plan(hb_arena *a, const syn_program *p);
void record_print(hb_buf *out, const record *r); // canonical text, without lines: for comparison

// What hap_batch says: entries per row of the largest integer input, 1 if there is none (for
// reports).
int64_t rec_tokens_per_row(const ir_graph *g);

// The certificate, parts 1 and 3 (docs/theory.md section 6). True if the record is a correct
// program for the graph; otherwise false and *why is one sentence naming the first call (line,
// call) that does not hold.
bool syn_check(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, hb_str *why);

#endif
