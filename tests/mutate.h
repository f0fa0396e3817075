// Single faults in a correct record, each of which makes the program wrong.
//
// A mutant is made only where the fault cannot be harmless; the reason stands with each kind.
// Values are compared as terms (op, attributes, operand terms), computed here from the record
// alone, and a call is only touched if its result reaches an update, the loss or a saved gradient.
// Meshes need at least two coordinates on every axis: on one, a partial sum *is* the whole.

#ifndef HAP_TESTS_MUTATE_H
#define HAP_TESTS_MUTATE_H

#include "synth/record.h"

// X(name): DROP_OP is a kind, mutate_names[] its text.
#define MUTATIONS(X)                                                                               \
    X(DROP_CALL)       /* its result is read later: the reader finds an older value or none */     \
    X(DROP_START)      /* the wait names an event nobody started */                                \
    X(DROP_WAIT)       /* the collective is never waited for */                                    \
    X(DOUBLE_WAIT)     /* an event is waited for twice */                                          \
    X(DOUBLE_UPDATE)   /* an optimizer step is made twice */                                       \
    X(LATE_WAIT)       /* the wait moves behind the first reader of the destination */             \
    X(SWAP_WAITS)      /* two waits trade events, and the first destination is read in between */  \
    X(EARLY_CALL)      /* a call moves before the producer of its operand */                       \
    X(LATE_CALL)       /* a call moves behind the first reader of its result */                    \
    X(SWAP_OPERANDS)   /* operands with different terms, of an op that does not commute */         \
    X(WRONG_OPERAND)   /* a buffer of the same dims with another term */                           \
    X(WRONG_OUTPUT)    /* written into a buffer of the same dims whose term is still read */       \
    X(SWAP_OUTPUTS)    /* the outputs of one call */                                               \
    X(SKIP_REDUCE)     /* an op reads the partial sum instead of the reduced tensor */             \
    X(SKIP_PARTIAL)    /* an op reads the whole tensor where it must be kept on coordinate 0 */    \
    X(WRONG_OP)        /* another op of the same arity without attributes */                       \
    X(WRONG_ATTR)      /* an attribute that the result depends on */                               \
    X(SWAP_TABLE)      /* two unequal entries, while another operand of an op keeps its table */   \
    X(BAD_TABLE)       /* a table that does not sum to its factor */                               \
    X(UNCUT_DIM)       /* whole, while another operand of an op stays cut on that axis */          \
    X(OTHER_FACTOR)    /* cut at another place of the dim than the op's other operands */          \
    X(OTHER_AXIS)      /* cut on the other axis than the op's other operands */                    \
    X(WRONG_SIZE)      /* a dim is one larger than the graph's */                                  \
    X(WRONG_DTYPE)     /* another dtype than the graph's */                                        \
    X(WRONG_FORM)      /* a form that the collective lacks, or even shards where they are not */   \
    X(WRONG_REDUCER)   /* sum for max, max for sum */                                              \
    X(WRONG_COLL)      /* another collective */                                                    \
    X(WRONG_MASK)      /* other axes take part */                                                  \
    X(OVERLAP)         /* a buffer lies on another whose different term is read after its write */ \
    X(IN_FLIGHT)       /* written on a source or destination between start and wait */             \
    X(SCRATCH_ON_DATA) /* the scratch lies on its own collective's source */                       \
    X(NO_SCRATCH)      /* a form that always needs scratch has none */                             \
    X(SMALL_SCRATCH)   /* … or four bytes of it */                                               \
    X(MISALIGNED)      /* an offset off by 64 bytes */                                             \
    X(OUTSIDE)         /* an offset at the segment's end */                                        \
    X(OFF_WIRE)        /* a buffer that crosses the wire lies in the local segment */              \
    X(NOT_SYMMETRIC)   /* a symmetric buffer with different offsets */                             \
    X(WRONG_FILL)      /* other initial values */                                                  \
    X(WRONG_RATE)      /* another schedule */                                                      \
    X(WRONG_BATCH)     /* another number of rows in the batch */                                   \
    X(SWAP_NAMES)      /* two parameters trade names */                                            \
    X(NO_DECLARATION)  /* a parameter, moment or the loss is not declared */                       \
    X(WRONG_LOSS)      /* the loss is another buffer with another term */                          \
    X(WRONG_GRADIENT)  /* a saved gradient is another buffer with another term */

typedef enum {
#define X(name) MUT_##name,
    MUTATIONS(X)
#undef X
        MUT_N
} mut_kind;
extern const char *const mutate_names[MUT_N];

// NULL if the record has no place for such a fault (or this seed hit none). *what: the fault in
// words.
record *mutate(hb_arena *a, const record *r, mut_kind kind, uint64_t seed, hb_str *what);

#endif
