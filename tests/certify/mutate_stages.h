// Single faults of a plan of stages that mutate.h has not: of its slot tables, rings, ports, sums,
// tied copies, weights and memory, of what equal stages share, and of the graphs that were cut.
//
// Places of a kind are counted, so that a test can have all of them, or some by a seed. Here too a
// fault is made only where it cannot be harmless; the reason stands with each kind.

#ifndef HAP_TESTS_MUTATE_STAGES_H
#define HAP_TESTS_MUTATE_STAGES_H

#include "synth/certify/record.h"
#include "synth/plan/staged.h"

// Which part of a plan is wrong, and so who must find it:
//     PLAN     a stage's program: what is proved of few micro-batches when a plan is made, and the
//              check of its record with all of them
//     CIRCLE   the same, but each stage by itself is right: the check of all together
//     CALLS    the record of a stage: its check, or that of all together
//     GRAPHS   a stage's graph, and whatever was proved against it: the check of all together, with
//              records that are right
typedef enum { FAULT_PLAN, FAULT_CIRCLE, FAULT_CALLS, FAULT_GRAPHS } fault_of;

// X(kind, function, of what): fault_names[] has the kind's text, sf_FUNCTION makes the fault.
#define STAGE_FAULTS(X)                                                                            \
    /* slot tables: parts of micro-batches in their order */                                       \
    X(PART_DROPPED, part_dropped, PLAN)                                                            \
    X(PART_TWICE, part_twice, PLAN)                                                                \
    X(PART_OF_NO_MICRO_BATCH, part_of_none, PLAN)                                                  \
    X(PARTS_TRADED, parts_traded, PLAN)        /* messages go out of order */                      \
    X(WEIGHTS_TRADED, weights_traded, PLAN)    /* sums are made in another order */                \
    X(BACKWARD_FIRST, backward_first, PLAN)    /* reads what its forward part makes later */       \
    X(WEIGHTS_FIRST, weights_first, PLAN)      /* ... its backward part */                         \
    X(PLACE_TAKEN, place_taken, PLAN)          /* by one more under way than there are places */   \
    X(ORDERS_IN_CIRCLE, orders_circle, CIRCLE) /* ahead of a gradient, all activations are wanted  \
                                                  of a stage that waits for that gradient */       \
    /* rings, and what lies beside them */                                                         \
    X(RING_SHORT, ring_short, PLAN)      /* a place begins in the one before */                    \
    X(RING_LEFT, ring_left, PLAN)        /* a tensor has one place for all micro-batches */        \
    X(RING_SHIFTED, ring_shifted, PLAN)  /* a tensor lies one place on: the last is outside */     \
    X(RING_COVERED, ring_covered, PLAN)  /* another buffer lies on a place that is in use */       \
    X(RING_READ, ring_read, CALLS)       /* the value of another micro-batch is read */            \
    X(RING_WRITTEN, ring_written, CALLS) /* ... is overwritten, its own is not made */             \
    X(RING_SHARES, ring_shares, CALLS)   /* other shares in one place than in the others */        \
    X(MEMORY_SHORT, memory_short, PLAN)  /* by a byte of what is in use */                         \
    /* ports */                                                                                    \
    X(SEND_DROPPED, send_dropped, CALLS)                                                           \
    X(RECV_DROPPED, recv_dropped, CALLS)                                                           \
    X(SEND_TWICE, send_twice, CALLS)                                                               \
    X(RECV_TWICE, recv_twice, CALLS)                                                               \
    X(SEND_PORT, send_port, CALLS)                                                                 \
    X(RECV_PORT, recv_port, CALLS)                                                                 \
    X(SEND_MESSAGE, send_message, CALLS)                                                           \
    X(RECV_MESSAGE, recv_message, CALLS)                                                           \
    X(SENDS_TRADED, sends_traded, CALLS) /* two ports carry each other's values, in good order */  \
    X(SEND_LATE, send_late, CALLS)       /* when the next micro-batch's value lies there */        \
    X(RECV_EARLY, recv_early, CALLS)     /* ahead of the last reader of what came before */        \
    X(CALLS_IN_CIRCLE, calls_circle, CALLS) /* a gradient is received ahead of the send of what it \
                                               is made of */                                       \
    X(STAGES_TRADED, stages_traded, CALLS)  /* two stages do each other's program */               \
    /* sums over micro-batches */                                                                  \
    X(SUM_WITHOUT_ZERO, sum_without_zero, CALLS)                                                   \
    X(SUM_ZERO_LATE, sum_zero_late, CALLS) /* behind the first part */                             \
    X(SUM_LACKS_PART, sum_lacks_part, CALLS)                                                       \
    X(SUM_PART_TWICE, sum_part_twice, CALLS)                                                       \
    X(SUM_OTHER, sum_other, CALLS)           /* a part goes to another sum */                      \
    X(SUM_READ_EARLY, sum_read_early, CALLS) /* ahead of its last part */                          \
    X(SUM_REDUCED_ALWAYS, sum_reduced, PLAN) /* not in the last micro-batch alone */               \
    X(SLOT_ONCE, slot_once, PLAN)            /* what each micro-batch needs, the last has */       \
    /* weights and their copies */                                                                 \
    X(COPY_RECEIVED_ALWAYS, copy_received, PLAN)  /* not in the first micro-batch alone */         \
    X(COPY_SUM_SENT_ALWAYS, copy_sum_sent, PLAN)  /* not in the last */                            \
    X(COPY_OF_NEXT_STEP, copy_of_next, CALLS)     /* sent behind its update */                     \
    X(WEIGHT_OF_NEXT_STEP, weight_of_next, CALLS) /* updated ahead of its last reader */           \
    /* equal stages, of which one is proved */                                                     \
    X(TWIN_OPERANDS, twin_operands, PLAN)                                                          \
    X(TWIN_OUTPUT, twin_output, PLAN)                                                              \
    X(TWIN_PORT, twin_port, PLAN)                                                                  \
    X(TWIN_SHARES, twin_shares, PLAN)                                                              \
    X(TWIN_PLACE, twin_place, PLAN)                                                                \
    X(TWIN_NAME, twin_name, CALLS) /* declares its twin's parameter */                             \
    /* graphs */                                                                                   \
    X(GRAPH_OPERAND, graph_operand, GRAPHS)                                                        \
    X(GRAPH_ATTRIBUTE, graph_attribute, GRAPHS)                                                    \
    X(GRAPH_OWN_VALUE, graph_own_value, GRAPHS) /* its own in place of what it receives */         \
    X(GRAPH_NOT_ADDED, graph_not_added, GRAPHS) /* a sum is its last part */                       \
    X(GRAPH_ONCE, graph_once, GRAPHS)           /* not for each micro-batch */                     \
    X(GRAPH_KEPT, graph_kept, GRAPHS)           /* what is updated stays as it was */              \
    X(GRAPH_UPDATES_TRADED, graph_updates, GRAPHS)                                                 \
    X(GRAPH_NO_HOME, graph_no_home, GRAPHS)                                                        \
    X(GRAPH_TWO_HOMES, graph_two_homes, GRAPHS)                                                    \
    X(GRAPH_NAMES, graph_names, GRAPHS) /* two parameters or inputs trade names */                 \
    X(GRAPH_NO_LOSS, graph_no_loss, GRAPHS)                                                        \
    X(GRAPH_OTHER_LOSS, graph_other_loss, GRAPHS)                                                  \
    X(GRAPH_TWO_LOSSES, graph_two_losses, GRAPHS)                                                  \
    X(GRAPH_FIRST_VALUES, graph_init, GRAPHS) /* a parameter or constant begins otherwise */       \
    X(GRAPH_SIZE, graph_size, GRAPHS)                                                              \
    X(GRAPH_TYPE, graph_type, GRAPHS)                                                              \
    X(GRAPH_RATE, graph_rate, GRAPHS) /* another schedule */                                       \
    X(GRAPH_PRECISION, graph_precision, GRAPHS)                                                    \
    X(GRAPH_BATCH, graph_batch, GRAPHS)                                                            \
    X(GRAPH_MICRO_BATCHES, graph_micro, GRAPHS)                                                    \
    X(GRAPH_OTHER_NAME, graph_alias, GRAPHS) /* of a tied parameter, in checkpoints */             \
    X(GRAPH_PORT, graph_port, GRAPHS)        /* an end says another port */                        \
    X(GRAPH_MESSAGE, graph_message, GRAPHS)  /* ... another first message */                       \
    X(GRAPH_STEP, graph_step, GRAPHS)        /* ... always the same one, or one each time */       \
    X(GRAPH_TURN, graph_turn, GRAPHS)        /* ... stands in another part */                      \
    X(GRAPH_CROSSED, graph_crossed, GRAPHS)  /* two ports end at each other's receives */

typedef enum {
#define X(name, function, of) FAULT_##name,
    STAGE_FAULTS(X)
#undef X
        FAULT_N
} stage_fault;
extern const char *const fault_names[FAULT_N];
extern const fault_of fault_parts[FAULT_N];

typedef struct faulty {
    const syn_staged *p; // its programs, and its cut
    const record **rec;  // by stage, of all micro-batches
    int stage;           // that has the fault; -1: more than one
    hb_str what;
} faulty;

// p: with the record of each of its stages. How many places there are for a fault of the kind; the
// plan with the fault at one of them, sharing all else with p.
int faults_of(const syn_staged *p, const record *const *rec, stage_fault kind);
bool fault_at(hb_arena *a, const syn_staged *p, const record *const *rec, stage_fault kind,
              int place, faulty *out);

#endif
