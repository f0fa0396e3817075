// What the printers of a program share: program_c.c (header, cuts, main), program_functions.c
// (the functions of the step), buffers_h.c (what lies where).

#ifndef HAP_EMIT_PROGRAM_TEXT_H
#define HAP_EMIT_PROGRAM_TEXT_H

#include "emit/lines.h"
#include "emit/program_blocks.h"
#include "synth/price/endings.h"

// A run of the step outside of loops: one function.
typedef struct pt_part {
    int first, end;
    hb_str function;
} pt_part;

typedef struct pt {
    hb_arena *a;
    const emit_plan *e;
    const syn_program *p;
    lines l;
    hb_map *used;  // identifiers of the file
    hb_str *names; // by buffer: plain identifiers
    hb_str *table; // by mesh cut
    pb_blocks *b;
    bool *view;          // by instr: no call (syn_views)
    syn_endings endings; // of matmuls, by fusions
    HB_VEC(pt_part) parts;
    int *loop_of, *part_of; // by instr, -1 none
    int *line;              // by instr
    syn_slot slot;
    const char *stage; // "_0" behind names of tables in a program of stages, else ""
} pt;

hb_str pt_quote(hb_arena *a, hb_str s);  // a C string literal
hb_str pt_number(hb_arena *a, double x); // shortest text that reads back as x
hb_str pt_ms(hb_arena *a, double sec);   // "1.23": milliseconds, of at least 0.001

// program_c.c
hb_str pt_model(hb_str graph); // "gpt2" of examples/gpt2/graph.json
// used: names of the file; those of this program are put there.
pt pt_new(hb_arena *a, const emit_plan *e, hb_buf *out, hb_map *used, const char *stage);
void pt_cuts(pt *t);
void pt_declare(pt *t); // the statements from hap_mesh to declare_buffers

// program_functions.c
void pt_find_parts(pt *t);
void pt_prototypes(pt *t);
void pt_loop_body(pt *t); // the calls of the functions, in main
void pt_functions(pt *t);

// buffers_h.c
hb_str pt_shape(pt *t, int tensor); // "f32[8@rows 128 3*12@heads*64]+" as a C string
void pt_buffers_head(pt *t, hb_buf *out);
void pt_buffers(pt *t, hb_buf *out);

#endif
