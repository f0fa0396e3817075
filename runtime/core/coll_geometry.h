// What a collective moves: its tensors seen as [outer, n1, mid, n2, inner].
//
//     kind            n1                        n2
//     all_gather      src's cut factor          1
//     reduce_scatter  dst's cut factor          1
//     all_reduce      all elements              1
//     reshard           the factor, cut in both   1
//     all_to_all      the major of the two cut factors, and the minor one
//
// n1 and n2 are what the members of the group hold together: less than the whole factor where it is
// cut over the other axis as well (CUT2 gathered over one axis). A member's part in the view is a
// box, one range of each factor, stored [outer, f1.n, mid, f2.n, inner]: just its local tensor.
// docs/formats.md ("Scratch") states the sizes; the planner computes them by itself.

#ifndef HAP_RUNTIME_COLL_GEOMETRY_H
#define HAP_RUNTIME_COLL_GEOMETRY_H

#include "core/tensor.h"

typedef struct hap_box {
    hap_range f1, f2; // relative to the view
} hap_box;

typedef struct hap_coll_view {
    int64_t outer, n1, mid, n2, inner;
    int64_t item; // bytes of an element
    unsigned axes;
    int n_members, me;
    // The cut factor of each side (NULL: holds all), which of the two it is, where the view starts.
    const hap_dim *src_dim, *dst_dim;
    int src_factor, dst_factor; // 1 or 2
    int64_t src_lo, dst_lo;
} hap_coll_view;

// The view of the k-th pair of the list. NULL, or why the pair does not fit the kind (text in buf).
const char *hap_coll_view_of(const hap_rank *r, const hap_coll_call *c, int k, hap_coll_view *v,
                             char *buf, int n);
hap_box hap_src_box(const hap_rank *r, const hap_coll_view *v, int member);
hap_box hap_dst_box(const hap_rank *r, const hap_coll_view *v, int member);
hap_box hap_box_common(hap_box a, hap_box b);
int64_t hap_box_bytes(const hap_coll_view *v, hap_box b);
// Where a part starts, packed one after the other with those of all members: bytes.
int64_t hap_packed_at(const hap_coll_view *v, hap_box part);
hap_box hap_view_box(const hap_coll_view *v);   // all of it
int64_t hap_view_bytes(const hap_coll_view *v); // of all

// The largest part of a member, of the side that is cut.
int64_t hap_max_src_bytes(const hap_rank *r, const hap_coll_view *v);
int64_t hap_max_dst_bytes(const hap_rank *r, const hap_coll_view *v);

// Scratch of one pair, not rounded; the offset of the k-th pair in the scratch tensor is the sum of
// the earlier ones, each rounded up to HAP_SCRATCH_ALIGN (scratch.c).
enum { HAP_SCRATCH_ALIGN = 256 };
int64_t hap_scratch_of(const hap_rank *r, const hap_coll_call *c, const hap_coll_view *v);
int64_t hap_coll_scratch_bytes(const hap_rank *r, const hap_coll_call *c);

// Form PUT, whose transfers go straight to where the data is wanted. Partial sums go to slots in
// the owner's scratch, one a member in the order of coordinates; the owner adds them in that order
// (16-bit types in f32), so that every backend gives the same bits.
bool hap_form_put(hap_form f);
int hap_form_copies(hap_form f); // of a one-sided put: in flight at a time, of one rank
int64_t hap_put_slot(const hap_rank *r, const hap_coll_call *c, const hap_coll_view *v); // bytes
// What member m adds of an all-reduce: elements of the flattened tensor.
hap_range hap_put_shard(const hap_coll_view *v, int m);

const char *hap_coll_name(const hap_coll_call *c); // "coll_all_gather"

typedef struct hap_form_text {
    char s[20];
} hap_form_text;
hap_form_text hap_form_name(hap_form f); // "EVEN", "PUT(2)"

#endif
