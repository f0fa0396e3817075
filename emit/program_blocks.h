// Repeated blocks of a program as tables: who owns a buffer, and how a statement names it.
//
// All loops of a plan over the same layers ("h": forward, backward, update) share one *block*: a
// struct of buffers with an entry a layer. Iteration it of a loop is entry first + dir * it, which
// is the number that the layer has in the graph's names; a loop may leave entries out. A field is a
// vector of buffers, one per entry, -1 where there is none. It owns them if they are in no other
// field; a family that several fields see is a list of its own, and everything else a variable:
//     OWNED     h[3].ln_1      inside a function of the block b->ln_1
//     LISTED    add_2[4]       inside, for entry i, add_2[i + 1]
//     SINGLE    lm_head
// A field whose buffers follow no such pattern is filled one by one (`linked`).

#ifndef HAP_EMIT_PROGRAM_BLOCKS_H
#define HAP_EMIT_PROGRAM_BLOCKS_H

#include "emit/emit.h"

typedef struct pb_field {
    hb_str name;
    int *member; // by entry: buffer, -1
    bool owned, linked;
} pb_field;

typedef struct pb_block {
    hb_str name;   // "h": struct h_block, table h
    hb_str type;   // "h_block"
    hb_str layers; // "transformer.h": what stands before the number, empty: the layers have none
    int count;
    HB_VEC(pb_field) fields;
    hb_map *names;
} pb_block;

typedef struct pb_loop {
    int block, first, dir;
    hb_str function; // "h_forward"
} pb_loop;

typedef struct pb_list {
    hb_str name; // empty: the family's buffers are owned by fields
} pb_list;

// Events that are waited for in another function than they are started in: an array, or (n 1) a
// variable. In a block, entry e of the loop that starts is start[e + shift].
typedef struct pb_events {
    hb_str name;
    int n, shift;
    int *start; // START instruction, -1
} pb_events;

typedef struct pb_blocks {
    HB_VEC(pb_block) blocks;
    pb_loop *loop; // by loop of the program
    pb_list *list; // by family of the program
    HB_VEC(pb_events) events;
    int *events_of;     // by instr: index into events, -1 (local variable)
    int *event_at;      // by instr: index into start
    const int *loop_of; // by instr: -1 outside
    const int *part_of; // by instr: number of the run of the step outside of loops, -1 inside
    syn_slot slot;
    hb_str *id; // by buffer: its expression outside of block functions
} pb_blocks;

// `used`: identifiers taken at file scope; names: emit_names; loop_of and part_of as above.
pb_blocks *pb_find(hb_arena *a, const syn_program *p, hb_map *used, const hb_str *names,
                   const int *loop_of, const int *part_of);
// How instruction j of a loop's body names the buffer of slot `slot` (out first, then in, then
// scratch), and the event that it starts or waits for (empty: a local variable).
hb_str pb_operand(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j, int slot);
hb_str pb_event(hb_arena *a, const syn_program *p, const pb_blocks *b, int loop, int j);
// The same outside of loops.
hb_str pb_event_of(hb_arena *a, const pb_blocks *b, int start);
// The phase of instructions [first, end): that of the first one that is no wait.
ir_phase pb_phase(const syn_program *p, int first, int end);

#endif
