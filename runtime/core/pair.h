// A pair: a collective and the matmuls that it feeds or that feed it, as hap_overlap to
// hap_overlapped bracket them. Core collects and checks its calls and gives it whole to the
// backend.
//
//     consumer   start of an all-gather or all-to-all, its wait, 1 to HAP_PAIR_OPS matmuls that
//     read
//                its dst
//     producer   one matmul, start of a reduce-scatter, all-to-all or all-reduce of its output;
//                the event is waited for later
//
// A matmul is row by row (hap_op_rows, from the formulas of the op table): linear, matmul of an
// operand that is not transposed with one of two dims, or room_linear, whose row is all rooms of a
// group. Its rows are all dims but those of a row, flattened. The moved factor is the outermost of
// them in local memory, so that what a member holds is one range of rows; an all-to-all's other cut
// is of a dim of the row. All tensors of a pair that any of its calls writes lie apart from all
// others of it: its calls run at the same time.

#ifndef HAP_RUNTIME_PAIR_H
#define HAP_RUNTIME_PAIR_H

#include "core/runtime_core.h"

enum { HAP_PAIR_OPS = 8, HAP_PAIR_CHUNKS = 256 };

// What hap_tiles says of it.
typedef struct hap_pair_tiles {
    bool said;
    int rows, cols;
    unsigned how;
    int n_chunks;
    const int64_t (*chunk)[3];
} hap_pair_tiles;

typedef struct hap_pair {
    bool open, consumer, waited;
    int n_chunks;
    const int64_t (*chunk)[3]; // distance, weight (negative: joined to the chunk before), via
    int line;                  // of hap_overlap
    // The collective, of one tensor.
    bool started;
    hap_coll_kind kind;
    unsigned axes;
    hap_form form;
    hap_tensor *dst, *src, *scratch;
    int row_dims;      // of its matmuls
    int64_t most_rows; // core/pair_rows.h
    bool by_rows;      // of an all-reduce, as hap_pair_listed makes it
    hap_pair_tiles tiles;
    int coll_line;
    hap_event *event; // consumer: what its start returned
    int n_ops;
    hap_op_call op[HAP_PAIR_OPS];
    int op_line[HAP_PAIR_OPS];
} hap_pair;

static inline hap_coll_call hap_pair_coll(const hap_pair *p) // points into p
{
    return (hap_coll_call){p->kind, HAP_SUM, p->axes, p->form, 1, &p->dst, &p->src, p->scratch};
}

#endif
