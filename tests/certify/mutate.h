// Single faults in a correct record, each of which makes the program wrong.
//
// A mutant is made only where the fault cannot be harmless; the reason stands with each kind.
// Values are compared as terms (op, attributes, operand terms), computed here from the record
// alone, and a call is only touched if its result reaches an update, the loss or a saved gradient.
// Meshes need at least two coordinates on every axis: on one, a partial sum *is* the whole.

#ifndef HAP_TESTS_MUTATE_H
#define HAP_TESTS_MUTATE_H

#include "synth/certify/record.h"

// X(kind, function): mutate_names[] has the kind's text, mut_FUNCTION makes the fault.
#define MUTATIONS(X)                                                                               \
    X(DROP_CALL,                                                                                   \
      drop_call) /* its result is read later: the reader finds an older value or none */           \
    X(DROP_START, drop_start)       /* the wait names an event nobody started */                   \
    X(DROP_WAIT, drop_wait)         /* the collective is never waited for */                       \
    X(DOUBLE_WAIT, double_wait)     /* an event is waited for twice */                             \
    X(DOUBLE_UPDATE, double_update) /* an optimizer step is made twice */                          \
    X(LATE_WAIT, late_wait) /* the wait moves behind the first reader of the destination */        \
    X(SWAP_WAITS,                                                                                  \
      swap_waits) /* two waits trade events, and the first destination is read in between */       \
    X(EARLY_CALL, early_call) /* a call moves before the producer of its operand */                \
    X(LATE_CALL, late_call)   /* a call moves behind the first reader of its result */             \
    X(SWAP_OPERANDS,                                                                               \
      swap_operands) /* operands with different terms, of an op that does not commute */           \
    X(WRONG_OPERAND, wrong_operand) /* a buffer of the same dims with another term */              \
    X(WRONG_OUTPUT,                                                                                \
      wrong_output) /* written into a buffer of the same dims whose term is still read */          \
    X(SWAP_OUTPUTS, swap_outputs) /* the outputs of one call */                                    \
    X(SKIP_REDUCE, skip_reduce)   /* an op reads the partial sum instead of the reduced tensor */  \
    X(SKIP_PARTIAL,                                                                                \
      skip_partial)       /* an op reads the whole tensor where it must be kept on coordinate 0 */ \
    X(WRONG_OP, wrong_op) /* another op of the same arity without attributes */                    \
    X(WRONG_ATTR, wrong_attr) /* an attribute that the result depends on */                        \
    X(SWAP_TABLE,                                                                                  \
      swap_table) /* two unequal entries, while another operand of an op keeps its table */        \
    X(BAD_TABLE, bad_table) /* a table that does not sum to its factor */                          \
    X(UNCUT_DIM, uncut_dim) /* whole, while another operand of an op stays cut on that axis */     \
    X(OTHER_FACTOR,                                                                                \
      other_factor)             /* cut at another place of the dim than the op's other operands */ \
    X(OTHER_AXIS, other_axis)   /* cut on the other axis than the op's other operands */           \
    X(JOINT_ORDER, joint_order) /* a table over both axes, device-major, unlike its neighbour's */ \
    X(JOINT_SHIFT, joint_shift) /* ... by the next rank */                                         \
    X(JOINT_SPLIT, joint_split) /* ... over one axis, by sums, unlike its neighbour's */           \
    X(JOINT_SUMS, joint_sums)   /* cut over axis 0 by other than the sums of the cut over both */  \
    X(WRONG_SIZE, wrong_size)   /* a dim is one larger than the graph's */                         \
    X(WRONG_DTYPE, wrong_dtype) /* another dtype than the graph's */                               \
    X(WRONG_FORM,                                                                                  \
      wrong_form) /* a form that the collective lacks, or even shards where they are not */        \
    X(WRONG_REDUCER, wrong_reducer) /* sum for max, max for sum */                                 \
    X(WRONG_COLL, wrong_coll)       /* another collective */                                       \
    X(WRONG_MASK, wrong_mask)       /* other axes take part */                                     \
    X(OVERLAP,                                                                                     \
      overlap) /* a buffer lies on another whose different term is read after its write */         \
    X(IN_FLIGHT, in_flight) /* written on a source or destination between start and wait */        \
    X(SCRATCH_ON_DATA, scratch_on_data) /* the scratch lies on its own collective's source */      \
    X(NO_SCRATCH, no_scratch)           /* a form that always needs scratch has none */            \
    X(SMALL_SCRATCH, small_scratch)     /* … or four bytes of it */                              \
    X(MISALIGNED, misaligned)           /* an offset off by 64 bytes */                            \
    X(OUTSIDE, outside)                 /* an offset at the segment's end */                       \
    X(NOT_SYMMETRIC, not_symmetric)     /* a symmetric buffer with different offsets */            \
    X(PUT_TO_LOCAL,                                                                                \
      put_to_local)             /* what a one-sided put writes in other ranks lies in SEG_LOCAL */ \
    X(WRONG_FILL, wrong_fill)   /* other initial values */                                         \
    X(WRONG_RATE, wrong_rate)   /* another schedule */                                             \
    X(WRONG_BATCH, wrong_batch) /* another number of rows in the batch */                          \
    X(SWAP_NAMES, swap_names)   /* two parameters trade names */                                   \
    X(NO_DECLARATION, no_declaration) /* a parameter, moment or the loss is not declared */        \
    X(WRONG_LOSS, wrong_loss)         /* the loss is another buffer with another term */           \
    X(WRONG_GRADIENT, wrong_gradient) /* a saved gradient is another buffer with another term */

typedef enum {
#define X(name, function) MUT_##name,
    MUTATIONS(X)
#undef X
        MUT_N
} mut_kind;
extern const char *const mutate_names[MUT_N];

// NULL if the record has no place for such a fault (or this seed hit none). *what: the fault in
// words.
record *mutate(hb_arena *a, const record *r, mut_kind kind, uint64_t seed, hb_str *what);

#endif
