// What a kernel over rows does in which pass, and what it keeps in registers between them.
//
// A sum or maximum over the row is known behind the pass that makes it, so a value's *level* is how
// many passes stand before it. Values are the fusion's tensors (its parts, by their numbers) and
// *terms*: what row_expsum adds up, where softmax_apply goes on with the same.
//
// Where a thread has a few vectors of a row (slots), each pass begins with reading what it needs
// from memory, and what comes later if registers allow; and it leaves in registers those of its
// values that later passes start from. What has no room there is computed anew from memory, which
// is then in the cache. With a sum over leading dims, an operand that repeats for all rows of the
// sum is read before them, and what a row's first pass begins with is read a row ahead.

#ifndef HAP_EMIT_KERNEL_PASSES_H
#define HAP_EMIT_KERNEL_PASSES_H

#include "synth/plan/fusion_parts.h"

enum { KERNEL_VALUES = SYN_MAX_PARTS + SYN_MAX_FUSION };

typedef struct kernel_value {
    syn_shape shape;
    ir_dtype dtype; // of which its entries are, though registers hold f32
    int made;       // member, -1: read from memory
    int level;
    bool kept;
    bool terms; // what `made` adds up
} kernel_value;

typedef struct kernel_passes {
    const syn_program *p;
    const syn_fusion *g;
    syn_parts s;
    int n; // values
    kernel_value value[KERNEL_VALUES];
    int in[SYN_MAX_FUSION][IR_MAX_IN], made[SYN_MAX_FUSION][IR_MAX_OUT]; // values
    int terms[SYN_MAX_FUSION];                                           // value, -1: none
    int first_attr[SYN_MAX_FUSION];
    int last; // pass, from 0
} kernel_passes;

typedef struct kernel_pass {
    bool wanted[KERNEL_VALUES];  // the pass needs it, entry by entry
    bool fetched[KERNEL_VALUES]; // is read to registers as the pass begins
    bool held[KERNEL_VALUES];    // is in registers behind it
} kernel_pass;

void kernel_look(kernel_passes *k, const syn_program *p, const syn_fusion *g);

const syn_instr *kernel_member(const kernel_passes *k, int m);
const ir_op_info *kernel_row(const kernel_passes *k, int m);
// Member m is the sum over leading dims; leaves one entry a row; goes on with another one's terms.
bool kernel_adds(const kernel_passes *k, int m);
bool kernel_reduces(const kernel_passes *k, int m);
bool kernel_of_terms(const kernel_passes *k, int m);
// The value is of a row, not of its entries.
bool kernel_of_row(const kernel_passes *k, int value);
// Its members' sum is of the rows in which this one, read from memory, repeats.
bool kernel_repeats(const kernel_passes *k, int value);
// What `first`, the first pass, fetches is read while the row before is at hand.
bool kernel_ahead(const kernel_passes *k, const kernel_pass *first, int value);
// Pass number `pass` where `before` is held.
void kernel_pass_of(const kernel_passes *k, int pass, const bool *before, kernel_pass *out);

#endif
