// Fused groups: runs of instructions that one generated kernel does on a GPU.
//
// The members of a group are rows of the op table of kind EACH or ROWS on one *domain*: the local
// shape of the tensors that they make, rows of a last dim. Every tensor of a group has a shape
// beside the domain (syn_shape); a value that only members read is not written to memory, the
// others are *kept*. A group stands within one layer and one repetition of a loop, between two
// collectives; its members follow each other. The CPU runs them one by one.

#ifndef HAP_SYNTH_FUSE_H
#define HAP_SYNTH_FUSE_H

#include "synth/plan/program.h"

typedef enum {
    SYN_FULL,   // as the domain
    SYN_ROW,    // one entry a row
    SYN_COLUMN, // one entry a column
    SYN_ONE
} syn_shape;

enum { SYN_MAX_PARTS = 24 };

// The tensors of a group, by first appearance: of each member its operands, then its outputs.
typedef struct syn_parts {
    int n, domain; // buffer; -1: no member yet
    bool rows;     // a member is of kind ROWS
    struct syn_part {
        int buffer;
        syn_shape shape;
        int made; // member that makes it, -1: read from memory
        bool kept;
    } part[SYN_MAX_PARTS];
} syn_parts;

// Finds the groups of a scheduled program, of a rolled one as its loops allow, and brings members
// together. None where no class is a GPU.
void syn_fuse(syn_program *p);
void syn_name_kernels(syn_program *p); // numbers them: equal groups share one
void syn_group_parts(const syn_program *p, const syn_group *g, syn_parts *out);
// How a kernel is made: ops, wiring, shapes, types and what is kept, as
// runtime/cuda/step/cuda_group.c reads it. Groups of one text share a kernel.
hb_str syn_group_text(hb_arena *a, const syn_program *p, const syn_group *g);
// Of a group by class, from the seconds of its members alone.
void syn_group_seconds(const syn_program *p, const syn_group *g, double *sec);

#endif
