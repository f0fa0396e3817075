// What the parts of the program.c printer share: program_c.c (the file), program_decl.c (tables,
// shapes, tensors, names), program_step.c (the statements of the step).

#ifndef HAP_EMIT_PROGRAM_TEXT_H
#define HAP_EMIT_PROGRAM_TEXT_H

#include "emit/lines.h"
#include "emit/program_blocks.h"

typedef struct pt {
    hb_arena *a;
    const emit_plan *e;
    const syn_program *p;
    lines l;
    hb_map *used;  // identifiers of the file
    hb_str *names; // by buffer: plain identifiers
    hb_str *table; // by mesh cut
    pb_blocks *b;
    hb_map *shape_of; // "{CUT(0, 8, rows), WHOLE(4)}" -> index into shapes
    HB_VEC(hb_str) shapes, shape_names;
    int *shape;        // by buffer, -1: scalar
    hb_str *at, *step; // tables of offsets, by buffer; of strides, by family
    bool *used_buffer; // by buffer: some call or declaration names it
    int *line;         // by instr
} pt;

hb_str pt_quote(hb_arena *a, hb_str s);  // a C string literal
hb_str pt_number(hb_arena *a, double x); // shortest text that reads back as x
hb_str pt_ms(hb_arena *a, double sec);   // "1.23 ms"

// program_decl.c
void pt_find_shapes(pt *t);
void pt_tables(pt *t);      // cut tables, offsets, segment sizes: file scope
void pt_block_types(pt *t); // structs and tables of blocks, arrays, events: file scope
void pt_declare(pt *t);     // in main: shapes, tensors, names, blocks

// `head{1, 2, 3tail` on one line, or, too long for it, in rows that clang-format leaves alone.
void pt_number_table(pt *t, int indent, hb_str head, const int64_t *v, int n, const char *tail);

// program_step.c
void pt_function(pt *t, int loop);
void pt_step(pt *t);

#endif
