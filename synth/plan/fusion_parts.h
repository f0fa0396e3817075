// What a fusion is made of.
//
// The members of a fusion are ops of the table of kind EACH or ROWS on one *domain*: the local
// shape of the tensors that they make, rows of a last dim. A sum of what they make over the leading
// dims may be one, too: the gradient of a bias of attention. Its kernel takes the rows that make
// one row of the sum in turn, so it wants many of these, and rows of whole vectors. Every tensor of
// a fusion has a shape beside the domain (syn_shape); a value that only members read is not written
// to memory, the others are *kept*. A fusion stands within one layer and one repetition of a loop,
// between two collectives; its members follow each other. The CPU runs them one by one.

#ifndef HAP_SYNTH_FUSION_PARTS_H
#define HAP_SYNTH_FUSION_PARTS_H

#include "synth/plan/program.h"
#include "synth/plan/search_limits.h"

typedef enum {
    SYN_FULL,   // as the domain
    SYN_ROW,    // one entry a row
    SYN_COLUMN, // one entry a column
    SYN_ONE,
    SYN_TAIL, // as the domain's last dims: it repeats along those before
    SYN_ADDED // of the same dims: sums over those before
} syn_shape;

// The tensors of a fusion, by first appearance: of each member its operands, then its outputs.
typedef struct syn_parts {
    int n, domain; // buffer; -1: no member yet
    bool rows;     // a member is of kind ROWS
    bool norm;     // of a norm's gradient, which the runtime joins with what stands around it
    bool adds;     // a member is a sum over leading dims
    int slots;     // vectors of 8 of a row for each thread that takes it, at most; 0: not said
    bool ragged;   // rows are no whole vectors
    struct syn_part {
        int buffer;
        syn_shape shape;
        int made; // member that makes it, -1: read from memory
        bool kept;
        bool repeats; // SYN_TAIL of the dims of the sum: the same in all turns
    } part[SYN_MAX_PARTS];
} syn_parts;

// May the instruction be a member of a fusion at all?
bool syn_may_fuse(const syn_program *p, const syn_instr *in);
// in becomes member number `member`, or s stays as it is.
bool syn_parts_take(const syn_program *p, syn_parts *s, const syn_instr *in, int member);
// in reads entries or rows that members read or make.
bool syn_parts_share(const syn_parts *s, const syn_instr *in);
void syn_fusion_parts(const syn_program *p, const syn_fusion *g, syn_parts *out);
// How a kernel is made: ops, wiring, shapes, types and what is kept, as
// runtime/cuda/step/cuda_fusion.c reads it. Groups of one text share a kernel.
hb_str syn_fusion_text(hb_arena *a, const syn_program *p, const syn_fusion *g);

#endif
