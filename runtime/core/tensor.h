// Where a tensor's part lies: sizes, ranges and groups, by arithmetic on hap_dim alone.
//
// A group is the ranks that differ only in the coordinates of the axes in a mask; its members are
// numbered by those coordinates, machine-major: over both axes the member is the rank itself.

#ifndef HAP_RUNTIME_TENSOR_H
#define HAP_RUNTIME_TENSOR_H

#include "core/rank.h"

int64_t hap_dtype_bytes(hap_dtype t);
const char *hap_dtype_name(hap_dtype t);

// Shared by hap_at of every backend: checks the declaration and computes the geometry. The address
// is left to the backend.
hap_tensor *hap_tensor_declare(hap_rank *r, hap_segment seg, const int64_t *off, hap_dtype type,
                               int rank, const hap_dim *dims);
void hap_tensor_free_all(hap_rank *r);

int64_t hap_dim_size(const hap_dim *d);   // of the whole dim: n * outer * inner
int hap_dim_index(int64_t dim, int rank); // of an attribute: from the end if it is negative
void hap_strides(const hap_tensor *t, int64_t *stride); // of this rank's part, in elements

// Merged dims of x, alternately kept and summed; dims of size 1 are in none.
typedef struct hap_sum_shape {
    int n;
    int64_t size[HAP_MAX_RANK], stride[HAP_MAX_RANK];
    bool summed[HAP_MAX_RANK];
} hap_sum_shape;
hap_sum_shape hap_sum_shape_of(const hap_tensor *x, hap_ints dims);

int hap_group_size(const hap_rank *r, unsigned axes);
int hap_group_member(const hap_rank *r, unsigned axes);

// Entries [lo, lo + n) of the dim's cut factor.
typedef struct hap_range {
    int64_t lo, n;
} hap_range;
// What the given member of this rank's group holds.
hap_range hap_dim_range(const hap_rank *r, const hap_dim *d, unsigned axes, int member);
// True if members of the group hold different parts.
bool hap_dim_in_group(const hap_dim *d, unsigned axes);
// What the members hold together; false if that is not one run in their order.
bool hap_dim_union(const hap_rank *r, const hap_dim *d, unsigned axes, hap_range *all);

// NULL if y is a part of x that this rank can keep (hap_cut), else why not (text in buf).
const char *hap_cut_check(const hap_rank *r, const hap_tensor *y, const hap_tensor *x, char *buf,
                          int n);
void hap_partial_check(hap_rank *r, unsigned axes, const hap_tensor *y,
                       const hap_tensor *x); // fails

// "[1024/3 784]": global sizes, cut dims with the number of parts. For messages.
const char *hap_tensor_text(const hap_rank *r, const hap_tensor *t, char *buf, int n);

#endif
