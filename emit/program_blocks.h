// Repeated blocks of a program as tables: which buffers a repetition sees, and under which field
// names.
//
// All loops of a plan with the same name and count ("h", 12: forward, backward, update) share one
// *block*: a struct of buffers, one static entry a repetition. A field is a vector of buffers, one
// per entry; each operand slot of a loop body is such a vector. Loops that run from the last block
// to the first have dir -1: iteration i is entry count - 1 - i.
//
// Where a buffer is declared, and what expression denotes it outside a block's function:
//     DIRECT   a family that one field covers exactly: declared into the field,   h[3].ln_1
//     ARRAY    any other family: an array of its own, transformer_h_add[4] SINGLE   everything
//     else: a variable                                        lm_head

#ifndef HAP_EMIT_PROGRAM_BLOCKS_H
#define HAP_EMIT_PROGRAM_BLOCKS_H

#include "emit/emit.h"

typedef struct pb_field {
    hb_str name;
    int *member; // by entry: buffer, or START instruction for events
    bool event;
    int family; // of buffers: all of one family at member c + d * entry, else -1
    int c, d;
    bool direct; // this field is where the family is declared
    int events;  // event fields: index of the event array
} pb_field;

typedef struct pb_block {
    hb_str name; // "h": struct h_block, table h
    hb_str type; // "h_block"
    int count;
    HB_VEC(pb_field) fields;
    hb_map *by_key; // member vector -> field
    hb_map *names;
} pb_block;

typedef struct pb_loop {
    int block, dir;
    hb_str function; // "h_forward"
} pb_loop;

typedef enum { PB_SINGLE, PB_DIRECT, PB_ARRAY } pb_place;

typedef struct pb_family {
    pb_place place;
    hb_str name;      // table of offsets, array
    int block, field; // DIRECT
} pb_family;

typedef struct pb_events { // events that are waited for in another function than they are started
                           // in
    hb_str name;
    int n;      // 1: a variable, else an array
    int *start; // by entry: START instruction
} pb_events;

typedef struct pb_blocks {
    HB_VEC(pb_block) blocks;
    pb_loop *loop;     // by loop of the program
    pb_family *family; // by family of the program
    HB_VEC(pb_events) events;
    int *events_of; // by instr: index into events, -1 (local variable)
    int *loop_of;   // by instr: -1 outside
    hb_str *id;     // by buffer: expression outside of block functions
} pb_blocks;

// `used`: identifiers taken at file scope; names: emit_names.
pb_blocks *pb_find(hb_arena *a, const syn_program *p, hb_map *used, const hb_str *names);
// The field that slot `slot` (out first, then in, then scratch) of body instruction j of a loop
// reads.
int pb_field_of(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j, int slot);
int pb_wait_field(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop,
                  int j); // -1: local
int pb_start_field(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j);

#endif
