// Which rows a chunk of a pair is, and who has them. The planner has code of its own for the same;
// tests/costmodel/pair_parts_test.c compares the two.

#ifndef HAP_RUNTIME_PAIR_ROWS_H
#define HAP_RUNTIME_PAIR_ROWS_H

#include "core/coll_geometry.h"

// Elements of a row of the side that has all rows.
int64_t hap_pair_cols(const hap_pair *p);
// The collective's tensor as [rows, columns]: f1 counts rows; of an all-to-all f2 is the factor of
// the columns that this side is cut on, else there is one.
hap_coll_view hap_pair_view(const hap_rank *r, const hap_pair *p);
// What a member holds of src and of dst in that view. All-reduce: all.
hap_box hap_pair_src(const hap_rank *r, const hap_pair *p, int member);
hap_box hap_pair_dst(const hap_rank *r, const hap_pair *p, int member);
// The pair with the groups of its list of tiles (hap_tiles) in place of its chunks: an all-reduce's
// by rows as a reduce-scatter of rows, of which each member adds an even share. False: the program
// says no list, and *q is p.
bool hap_pair_listed(const hap_rank *r, const hap_pair *p, hap_pair *q);
// Of the member that has most: what the parts of a distance are shares of.
int64_t hap_pair_most_rows(const hap_rank *r, const hap_pair *p);
// Rows [lo, hi) of `member`'s entries that are chunk k's of them, as far as it has so many:
// consumer, rows of dst; producer, rows of src.
void hap_part_rows(const hap_rank *r, const hap_pair *p, int k, int member, int64_t *lo,
                   int64_t *hi);
// Who sends the rows that `owner` has of chunk k: the owner, or the member that passes them on,
// which has fewer rows.
int hap_pair_sender(const hap_rank *r, const hap_pair *p, int k, int owner);
// Does chunk i bring the member that passes on some of the rows of chunk k?
bool hap_pair_brings(const hap_pair *p, int i, int k);
// What this rank passes on as chunk k: rows of dst, of `owner` for `to`; none: no rows.
typedef struct hap_passed {
    hap_range rows;
    int owner, to;
} hap_passed;
hap_passed hap_pair_passed(const hap_rank *r, const hap_pair *p, int k);
// What chunk k is on this rank: the member its rows come from (consumer) or go to (producer).
void hap_chunk_rows(const hap_rank *r, const hap_pair *p, int k, int *member, int64_t *lo,
                    int64_t *hi);
// How many chunks from k on are joined: their rows are multiplied together, once all are there.
int hap_joined_chunks(const hap_pair *p, int k);
// Their rows on this rank, ascending, neighbours as one range; returns how many (at most n).
int hap_joined_rows(const hap_rank *r, const hap_pair *p, int k, int n, hap_range *rows);
// The member at distance d that this rank's rows go to in a consumer pair, come from in a producer.
int hap_pair_other(const hap_rank *r, const hap_pair *p, int k);
// Of a producer that reduces: rows of this rank that are added together, those between any two ends
// of chunks; the chunk that brings the last of others' parts of them (-1: none), and that as which
// this rank makes its own. In the order of `last`; at most 2 * HAP_PAIR_CHUNKS. Returns how many.
typedef struct hap_pair_sum {
    hap_range rows;
    int last, own;
} hap_pair_sum;
int hap_pair_sums(const hap_rank *r, const hap_pair *p, hap_pair_sum *sums);
// A member's share of the sums of a chunk of rows of an all-reduce, in elements: where it lies in
// the tensor and in the member's slots, and how many there are. Units are dealt out in turn, so
// that each chunk is shared evenly and all of a member's units fit in a slot; a unit is 16 bytes
// where rows are multiples of that, else an element.
typedef struct hap_share {
    int64_t at, slot, n;
} hap_share;
hap_share hap_pair_share(hap_range rows, int64_t cols, int64_t item, int member, int n_members);
// An op of the pair on rows [lo, hi) alone: c, with tensors of x in place of those that have rows.
typedef struct hap_row_tensors {
    hap_tensor in[HAP_MAX_IN], out;
} hap_row_tensors;
hap_op_call hap_op_of_rows(const hap_op_call *c, int64_t lo, int64_t hi, hap_row_tensors *x);

#endif
