// A pair: a collective and the products that it feeds or that feed it, as hap_overlap to
// hap_overlapped bracket them. Core collects and checks its calls and gives it whole to the
// backend.
//
//     consumer   start of an all-gather, its wait, 1 to HAP_PAIR_OPS products that read its dst
//     producer   one product, start of a reduce-scatter, all-to-all or all-reduce of its output;
//                the event is waited for later
//
// A product is row by row (hap_op_by_rows, from the formulas of the op table): linear, or matmul of
// an operand that is not transposed with one of two dims. Its rows are all dims but the last,
// flattened. The moved factor is the outermost of them in local memory, so that what a member holds
// is one range of rows. All tensors of a pair that any of its calls writes lie apart from all
// others of it: its calls run at the same time.

#ifndef HAP_RUNTIME_PAIR_CALLS_H
#define HAP_RUNTIME_PAIR_CALLS_H

#include "core/runtime_core.h"

enum { HAP_PAIR_OPS = 8, HAP_PAIR_GROUPS = 256 };

typedef struct hap_pair {
    bool open, consumer, waited;
    int n_groups;
    const int64_t (*group)[3]; // distance, weight (negative: joined to the group before), via
    int line;                  // of hap_overlap
    // The collective, of one tensor.
    bool started;
    hap_coll_kind kind;
    unsigned axes;
    hap_form form;
    hap_tensor *dst, *src, *scratch;
    int64_t most_rows; // core/pair_rows.h
    int coll_line;
    hap_event *event; // consumer: what its start returned
    int n_ops;
    hap_op_call op[HAP_PAIR_OPS];
    int op_line[HAP_PAIR_OPS];
} hap_pair;

// The calls of a pair, checked and collected; each fails with a message.
void hap_pair_begin(hap_rank *r, int n_groups, const int64_t (*groups)[3]);
void hap_pair_op(hap_rank *r, const hap_op_call *c);
void hap_pair_start(hap_rank *r, const hap_coll_call *c); // after hap_coll_check
void hap_pair_wait(hap_rank *r, const hap_event *e);
void hap_pair_end(hap_rank *r);

// The collective as a call; it points into p.
hap_coll_call hap_pair_coll(const hap_pair *p);

#endif
