// How pushes are done where a measurement is to choose: HAP_PUSH, read when SEG_SYM is made, a list
// of words with commas between, the same on all ranks. Without it the first value of each.
//
//     flags    each     a flag is written by the transfer stream, behind its message
//              side     by a stream of flags, which waits for an event of the message: messages of
//                       FORM_PUSH follow one another without a write between them
//              copy     by the copy engine: 4 bytes from a word written before the first message
//              late     of whole collectives in one batch behind the last message or piece of it,
//                       by the transfer stream; of pairs as each
//              end      the same by the stream of flags; of pairs as side
//     credits  each     the transfer stream waits for a member's credit before it sends there
//              once     for all members' credits in one batch, before the first message
//              side     a stream of its own does that; the transfer stream waits for its event
//              none     nobody waits: wrong; tests are to notice
//     give     side     credits are given by a stream that waits for the compute stream
//              compute  by the compute stream itself, which that holds up
//     awaits   each     a receiver waits for the parts of each member by a call
//              once     for all of them in one batch
//     pieces   1        a sum's last message goes in as many pieces, each half of the one before:
//                       what has come is added while the rest comes
//     cuts     1        every other message goes in as many equal pieces
//     least    1048576  bytes of a piece, on average
//     add      plain    adds of bf16 and f32 load one slot at a time
//              wide     all slots, then add
//     kernel   0        bytes: a part that lies in shorter runs is copied by a kernel, whose threads
//                       take up to 16 bytes each, where a copy engine takes up one run after the
//                       other; its flag is written, with flags=copy as well
//
// FORM_PUSH_ALL, a stream a member, takes flags side, late and end as each; credits once and side
// wait for the member of the stream alone.

#ifndef HAP_RUNTIME_CUDA_PUSH_OPTIONS_H
#define HAP_RUNTIME_CUDA_PUSH_OPTIONS_H

#ifdef __cplusplus
extern "C" {
#endif

#include "core/rank.h"

typedef enum {
    PUSH_FLAGS_EACH,
    PUSH_FLAGS_SIDE,
    PUSH_FLAGS_COPY,
    PUSH_FLAGS_LATE,
    PUSH_FLAGS_END
} push_flags;
typedef enum {
    PUSH_CREDITS_EACH,
    PUSH_CREDITS_ONCE,
    PUSH_CREDITS_SIDE,
    PUSH_CREDITS_NONE
} push_credits;

enum { PUSH_MOST_PIECES = 8 };

typedef struct cuda_push_options {
    push_flags flags;
    push_credits credits;
    bool give_compute, awaits_once, add_wide;
    int pieces, cuts; // 1 to PUSH_MOST_PIECES
    int64_t least, kernel;
} cuda_push_options;

// NULL, or what is wrong with the text.
const char *cuda_push_options_of(const char *text, cuda_push_options *o);

#ifdef __cplusplus
}
#endif

#endif
