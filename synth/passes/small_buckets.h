// Which messages travel together so that the last one has been sent soonest. Pure numbers: bucket.c
// fills them in.
//
// Messages 0 .. n - 1 go in their order, one bucket at a time. A bucket starts when its last
// message is made and what is before it has been sent:
//
//     end(j) = min over i < j of  max(end(i), made_j-1) + alone_i + ... + alone_j-1
//                                 - (j - i - 1) saved
//
// for the first j messages, the last bucket being i .. j - 1.

#ifndef HAP_SYNTH_SMALL_BUCKETS_H
#define HAP_SYNTH_SMALL_BUCKETS_H

#include <stdbool.h>

#include "ir/base/arena.h"

typedef struct syn_message {
    double made;  // seconds of computing before it is there; never less than the one before
    double alone; // seconds, sent by itself
    int first; // the first message that may be in one bucket with it as the last; never less than
               // that of the one before
} syn_message;

typedef struct syn_messages {
    int n;
    const syn_message *of;
    double saved; // seconds, by one that follows another in a bucket; at most the least `alone`
} syn_messages;

// ends[i]: a bucket ends with message i. Of all that have sent the last message soonest (a share
// `near` more is as soon), one of the fewest buckets. Returns that time. O(n^2).
double syn_small_buckets(const syn_messages *m, double near, bool *ends);

#endif
