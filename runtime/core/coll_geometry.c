#include "core/coll_geometry.h"

#include <stdio.h>
#include <string.h>

#include "core/fail.h"

const char *hap_coll_name(const hap_coll_call *c)
{
    switch (c->kind) {
    case HAP_ALL_GATHER:
        return "coll_all_gather";
    case HAP_REDUCE_SCATTER:
        return "coll_reduce_scatter";
    case HAP_ALL_REDUCE:
        return c->reduce == HAP_MAX ? "coll_all_reduce_max" : "coll_all_reduce";
    case HAP_ALL_TO_ALL:
        return "coll_all_to_all";
    case HAP_RESHARD:
        return "coll_reshard";
    }
    return "coll";
}

hap_form_text hap_form_name(hap_form f)
{
    static const char *const name[] = {"EVEN",      "PADDED", "GROUPED",  "SENDRECV",
                                       "EVEN_FLAT", "FLAT",   "TWO_LEVEL"};
    hap_form_text t;
    if (hap_form_put(f))
        snprintf(t.s, sizeof t.s, "PUT(%d)", hap_form_copies(f));
    else
        snprintf(t.s, sizeof t.s, "%s", (unsigned)f < FORM_PUTS ? name[f] : "?");
    return t;
}

static bool same_factor(const hap_dim *a, const hap_dim *b)
{
    return a->n == b->n && a->outer == b->outer && a->inner == b->inner;
}

// Is `full` what the members of the group hold of `cut` together? That part in *all.
static bool covers(const hap_rank *r, const hap_dim *cut, const hap_dim *full, unsigned axes,
                   hap_range *all)
{
    if (hap_dim_in_group(full, axes) || !hap_dim_union(r, cut, axes, all)) return false;
    if (full->axis < 0) return hap_dim_size(full) == hap_dim_size(cut) && all->n == cut->n;
    hap_range mine = hap_dim_range(r, full, 0, 0);
    return same_factor(cut, full) && mine.lo == all->lo && mine.n == all->n;
}

// The dims that the group cuts in src and in dst; -1 none. Others must be the same.
static const char *find_cuts(const hap_coll_call *c, const hap_tensor *src, const hap_tensor *dst,
                             int *src_dim, int *dst_dim, char *buf, int n)
{
    *src_dim = *dst_dim = -1;
    for (int i = 0; i < src->rank; i++) {
        const hap_dim *s = &src->dim[i], *d = &dst->dim[i];
        if (hap_dim_size(s) != hap_dim_size(d)) {
            snprintf(buf, (size_t)n, "dim %d is %lld in src and %lld in dst", i,
                     (long long)hap_dim_size(s), (long long)hap_dim_size(d));
            return buf;
        }
        bool in_src = hap_dim_in_group(s, c->axes), in_dst = hap_dim_in_group(d, c->axes);
        if (!in_src && !in_dst) {
            if (src->local[i] == dst->local[i] && src->first[i] == dst->first[i]) continue;
            snprintf(buf, (size_t)n, "dim %d is cut differently over an axis that takes no part",
                     i);
            return buf;
        }
        if ((in_src && *src_dim >= 0) || (in_dst && *dst_dim >= 0)) {
            snprintf(buf, (size_t)n, "not supported: dims %d and %d change together",
                     *src_dim >= 0 ? *src_dim : *dst_dim, i);
            return buf;
        }
        if (in_src) *src_dim = i;
        if (in_dst) *dst_dim = i;
    }
    return NULL;
}

// Elements from one entry of the cut factor of dim i to the next, in a tensor that is whole in the
// group: dims after i have size full[].
static int64_t stride_of(const int64_t *full, int rank, int i, const hap_dim *d)
{
    int64_t stride = d->inner;
    for (int k = i + 1; k < rank; k++)
        stride *= full[k];
    return stride;
}

static const char *two_factors(const hap_rank *r, const hap_coll_call *c, const hap_tensor *src,
                               const hap_tensor *dst, int i, int j, hap_coll_view *v, char *buf,
                               int n)
{
    const hap_dim *a = &src->dim[i], *b = &dst->dim[j];
    hap_range all_a, all_b;
    bool fits = i == j ? hap_dim_union(r, a, c->axes, &all_a) && all_a.n == a->n &&
                             hap_dim_union(r, b, c->axes, &all_b) && all_b.n == b->n
                       : covers(r, a, &dst->dim[i], c->axes, &all_a) &&
                             covers(r, b, &src->dim[j], c->axes, &all_b);
    if (!fits) {
        snprintf(buf, (size_t)n, "dims %d and %d do not hold what the group holds together", i, j);
        return buf;
    }
    int64_t full[HAP_MAX_RANK], total = 1;
    for (int k = 0; k < src->rank; k++) {
        full[k] = k == i   ? a->outer * all_a.n * a->inner
                  : k == j ? b->outer * all_b.n * b->inner
                           : src->local[k];
        total *= full[k];
    }
    int64_t sa = stride_of(full, src->rank, i, a), sb = stride_of(full, src->rank, j, b);
    bool a_major = i < j || (i == j && sa >= all_b.n * sb);
    int64_t n1 = a_major ? all_a.n : all_b.n, n2 = a_major ? all_b.n : all_a.n;
    int64_t s1 = a_major ? sa : sb, s2 = a_major ? sb : sa;
    v->src_dim = a;
    v->dst_dim = b;
    v->src_lo = all_a.lo;
    v->dst_lo = all_b.lo;
    v->src_factor = a_major ? 1 : 2;
    v->dst_factor = a_major ? 2 : 1;
    v->n1 = n1;
    v->n2 = n2;
    if (total == 0) { // nothing moves; keep the divisions below defined
        v->outer = 0;
        v->mid = v->inner = 1;
        return NULL;
    }
    if (s1 % (n2 * s2) != 0) {
        snprintf(buf, (size_t)n, "not supported: the two factors of dim %d overlap", i);
        return buf;
    }
    v->outer = total / (n1 * s1);
    v->mid = s1 / (n2 * s2);
    v->inner = s2;
    return NULL;
}

// One factor: the dim of index i, cut on one side or on both.
static const char *one_factor(const hap_rank *r, const hap_coll_call *c, const hap_tensor *src,
                              const hap_tensor *dst, int i, bool in_src, bool in_dst,
                              hap_coll_view *v, char *buf, int n)
{
    const hap_dim *s = &src->dim[i], *d = &dst->dim[i], *cut = in_src ? s : d;
    hap_range all, other;
    bool fits = in_src && in_dst ? same_factor(s, d) && hap_dim_union(r, s, c->axes, &all) &&
                                       hap_dim_union(r, d, c->axes, &other) && all.lo == other.lo &&
                                       all.n == other.n
                                 : covers(r, cut, in_src ? d : s, c->axes, &all);
    if (!fits) {
        snprintf(buf, (size_t)n, "dim %d does not hold what the group holds together", i);
        return buf;
    }
    v->outer = cut->outer;
    v->inner = cut->inner;
    for (int k = 0; k < i; k++)
        v->outer *= src->local[k];
    for (int k = i + 1; k < src->rank; k++)
        v->inner *= src->local[k];
    v->n1 = all.n;
    v->src_dim = in_src ? s : NULL;
    v->dst_dim = in_dst ? d : NULL;
    v->src_lo = v->dst_lo = all.lo;
    return NULL;
}

const char *hap_coll_view_of(const hap_rank *r, const hap_coll_call *c, int k, hap_coll_view *v,
                             char *buf, int n)
{
    const hap_tensor *src = c->src[k], *dst = c->dst[k];
    *v = (hap_coll_view){.outer = 1,
                         .mid = 1,
                         .n2 = 1,
                         .inner = 1,
                         .src_factor = 1,
                         .dst_factor = 1,
                         .axes = c->axes};
    v->n_members = hap_group_size(r, c->axes);
    v->me = hap_group_member(r, c->axes);
    if (!src || !dst) return "a tensor is NULL";
    v->item = hap_dtype_bytes(src->type);
    if (src->type != dst->type || src->rank != dst->rank)
        return "src and dst differ in type or number of dims";

    int i, j;
    const char *why = find_cuts(c, src, dst, &i, &j, buf, n);
    if (why) return why;
    switch (c->kind) {
    case HAP_ALL_GATHER:
        if (i < 0 || j >= 0) return "src must be cut over the group and dst not";
        return one_factor(r, c, src, dst, i, true, false, v, buf, n);
    case HAP_REDUCE_SCATTER:
        if (i >= 0 || j < 0) return "dst must be cut over the group and src not";
        return one_factor(r, c, src, dst, j, false, true, v, buf, n);
    case HAP_ALL_REDUCE:
        if (i >= 0 || j >= 0) return "a tensor is cut over the group it is reduced over";
        v->n1 = src->elements;
        return NULL;
    case HAP_ALL_TO_ALL:
    case HAP_RESHARD:
        if (i < 0 || j < 0) return "src and dst must both be cut over the group";
        if (i == j && same_factor(&src->dim[i], &dst->dim[i]))
            return one_factor(r, c, src, dst, i, true, true, v, buf, n);
        if (c->kind == HAP_RESHARD) return "src and dst must be cut on the same factor";
        return two_factors(r, c, src, dst, i, j, v, buf, n);
    }
    return "no such kind";
}

static hap_box box_of(const hap_rank *r, const hap_coll_view *v, const hap_dim *d, int factor,
                      int64_t lo, int member)
{
    hap_box b = {{0, v->n1}, {0, v->n2}};
    if (!d) return b;
    hap_range part = hap_dim_range(r, d, v->axes, member);
    part.lo -= lo;
    *(factor == 1 ? &b.f1 : &b.f2) = part;
    return b;
}

hap_box hap_src_box(const hap_rank *r, const hap_coll_view *v, int member)
{
    return box_of(r, v, v->src_dim, v->src_factor, v->src_lo, member);
}

hap_box hap_dst_box(const hap_rank *r, const hap_coll_view *v, int member)
{
    return box_of(r, v, v->dst_dim, v->dst_factor, v->dst_lo, member);
}

static hap_range common(hap_range a, hap_range b)
{
    int64_t lo = a.lo > b.lo ? a.lo : b.lo;
    int64_t end = a.lo + a.n < b.lo + b.n ? a.lo + a.n : b.lo + b.n;
    return (hap_range){lo, end > lo ? end - lo : 0};
}

hap_box hap_box_common(hap_box a, hap_box b)
{
    return (hap_box){common(a.f1, b.f1), common(a.f2, b.f2)};
}

int64_t hap_box_bytes(const hap_coll_view *v, hap_box b)
{
    return v->outer * b.f1.n * v->mid * b.f2.n * v->inner * v->item;
}

int64_t hap_packed_at(const hap_coll_view *v, hap_box part)
{
    return v->outer * part.f1.lo * v->inner * v->item;
}

hap_box hap_view_box(const hap_coll_view *v)
{
    return (hap_box){{0, v->n1}, {0, v->n2}};
}

int64_t hap_view_bytes(const hap_coll_view *v)
{
    return v->outer * v->n1 * v->mid * v->n2 * v->inner * v->item;
}

int64_t hap_max_src_bytes(const hap_rank *r, const hap_coll_view *v)
{
    int64_t max = 0;
    for (int m = 0; m < v->n_members; m++) {
        int64_t b = hap_box_bytes(v, hap_src_box(r, v, m));
        if (b > max) max = b;
    }
    return max;
}

int64_t hap_max_dst_bytes(const hap_rank *r, const hap_coll_view *v)
{
    int64_t max = 0;
    for (int m = 0; m < v->n_members; m++) {
        int64_t b = hap_box_bytes(v, hap_dst_box(r, v, m));
        if (b > max) max = b;
    }
    return max;
}

bool hap_form_put(hap_form f)
{
    return ((unsigned)f & 15u) == FORM_PUTS;
}

int hap_form_copies(hap_form f)
{
    return (int)f >> 4;
}
