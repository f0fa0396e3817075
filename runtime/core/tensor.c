#include "core/tensor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/fail.h"

int64_t hap_dtype_bytes(hap_dtype t)
{
    switch (t) {
    case HAP_F32:
    case HAP_I32:
        return 4;
    case HAP_BF16:
    case HAP_F16:
        return 2;
    case HAP_I64:
        return 8;
    case HAP_BOOL:
    case HAP_U8:
        return 1;
    }
    return 0;
}

const char *hap_dtype_name(hap_dtype t)
{
    static const char *const name[] = {"f32", "bf16", "f16", "i64", "i32", "bool", "u8"};
    return (unsigned)t <= HAP_U8 ? name[t] : "?";
}

int64_t hap_dim_size(const hap_dim *d)
{
    return d->n * d->outer * d->inner;
}

int hap_dim_index(int64_t dim, int rank)
{
    return (int)(dim < 0 ? dim + rank : dim);
}

void hap_strides(const hap_tensor *t, int64_t *stride)
{
    int64_t n = 1;
    for (int d = t->rank - 1; d >= 0; d--)
        stride[d] = n, n *= t->local[d];
}

hap_sum_shape hap_sum_shape_of(const hap_tensor *x, hap_ints dims)
{
    bool summed[HAP_MAX_RANK] = {false};
    for (int i = 0; i < dims.n; i++)
        summed[hap_dim_index(dims.v[i], x->rank)] = true;
    hap_sum_shape s = {0};
    for (int d = 0; d < x->rank; d++) {
        if (x->local[d] == 1) continue;
        if (s.n > 0 && s.summed[s.n - 1] == summed[d]) {
            s.size[s.n - 1] *= x->local[d];
        } else {
            s.size[s.n] = x->local[d];
            s.summed[s.n++] = summed[d];
        }
    }
    int64_t stride = 1;
    for (int k = s.n - 1; k >= 0; k--)
        s.stride[k] = stride, stride *= s.size[k];
    return s;
}

static int axis_size(const hap_rank *r, int axis)
{
    if (axis == HAP_BOTH) return r->n_axes == 2 ? r->size[0] * r->size[1] : r->size[0];
    return r->size[axis];
}

int hap_group_size(const hap_rank *r, unsigned axes)
{
    int n = 1;
    for (int a = 0; a < r->n_axes; a++) {
        if (axes & AXIS(a)) n *= r->size[a];
    }
    return n;
}

int hap_group_member(const hap_rank *r, unsigned axes)
{
    int m = 0;
    for (int a = 0; a < r->n_axes; a++) {
        if (axes & AXIS(a)) m = m * r->size[a] + r->coord[a];
    }
    return m;
}

hap_range hap_dim_range(const hap_rank *r, const hap_dim *d, unsigned axes, int member)
{
    if (d->axis < 0) return (hap_range){0, d->n};
    int coord[HAP_MAX_AXES] = {0};
    for (int a = r->n_axes - 1; a >= 0; a--) {
        coord[a] = r->coord[a];
        if (axes & AXIS(a)) {
            coord[a] = member % r->size[a];
            member /= r->size[a];
        }
    }
    int c = d->axis < HAP_BOTH ? coord[d->axis]
            : r->n_axes == 2   ? coord[0] * r->size[1] + coord[1]
                               : coord[0];
    int64_t lo = 0;
    for (int i = 0; i < c; i++)
        lo += d->table[i];
    return (hap_range){lo, d->table[c]};
}

bool hap_dim_in_group(const hap_dim *d, unsigned axes)
{
    if (d->axis < 0) return false;
    return d->axis == HAP_BOTH ? axes != 0 : (axes & AXIS(d->axis)) != 0;
}

bool hap_dim_union(const hap_rank *r, const hap_dim *d, unsigned axes, hap_range *all)
{
    int n = hap_group_size(r, axes);
    *all = hap_dim_range(r, d, axes, 0);
    if (!hap_dim_in_group(d, axes)) return true;
    for (int m = 1; m < n; m++) {
        hap_range part = hap_dim_range(r, d, axes, m);
        if (part.lo != all->lo + all->n) return false;
        all->n += part.n;
    }
    return true;
}

static void check_dim(hap_rank *r, int i, const hap_dim *d)
{
    HAP_CK(r, d->n >= 0 && d->outer >= 1 && d->inner >= 1, "dim %d has a negative size", i);
    HAP_CK(r, d->n == 0 || d->outer <= INT64_MAX / d->inner / d->n, "dim %d is too large", i);
    if (d->axis == -1) return;
    HAP_CK(r, d->axis == HAP_BOTH || (d->axis >= 0 && d->axis < r->n_axes),
           "dim %d is cut over axis %d of a mesh of %d", i, d->axis, r->n_axes);
    HAP_CK(r, d->table, "dim %d is cut without a table", i);
    int64_t sum = 0;
    for (int c = 0; c < axis_size(r, d->axis); c++) {
        HAP_CK(r, d->table[c] >= 0 && d->table[c] <= d->n - sum,
               "the table of dim %d is negative or exceeds %lld at coordinate %d", i,
               (long long)d->n, c);
        sum += d->table[c];
    }
    HAP_CK(r, sum == d->n, "the table of dim %d sums to %lld instead of %lld", i, (long long)sum,
           (long long)d->n);
}

hap_tensor *hap_tensor_declare(hap_rank *r, hap_segment seg, const int64_t *off, hap_dtype type,
                               int rank, const hap_dim *dims)
{
    HAP_CK(r, r->n_axes > 0 && r->n_classes > 0 && r->seg_bytes[SEG_SYM] >= 0,
           "a tensor is declared before mesh, classes and segments");
    HAP_CK(r, r->n_classes <= HAP_MAX_CLASSES, "%d classes of ranks", r->n_classes);
    HAP_CK(r, !r->in_step, "a tensor is declared inside the step");
    HAP_CK(r, (unsigned)type <= HAP_U8, "no such type: %d", (int)type);
    HAP_CK(r, (unsigned)seg <= SEG_LOCAL, "no such segment: %d", (int)seg);
    HAP_CK(r, rank >= 0 && rank <= HAP_MAX_RANK && (rank == 0 || dims), "a tensor of %d dims",
           rank);

    hap_tensor *t = hap_alloc(r, sizeof *t);
    *t = (hap_tensor){.id = r->n_tensors,
                      .seg = seg,
                      .off = off[r->class_id],
                      .type = type,
                      .rank = rank,
                      .elements = 1,
                      .line = r->line};
    for (int c = 0; c < r->n_classes; c++)
        t->off_of[c] = off[c];
    for (int c = 0; c < r->n_classes && seg == SEG_SYM; c++)
        HAP_CK(r, off[c] == t->off, "a tensor of SEG_SYM at byte %lld, and in class %d at another",
               (long long)t->off, c);
    for (int i = 0; i < rank; i++) {
        const hap_dim *d = &dims[i];
        check_dim(r, i, d);
        t->dim[i] = *d;
        hap_range mine = hap_dim_range(r, d, 0, 0);
        t->first[i] = mine.lo;
        t->local[i] = d->outer * mine.n * d->inner;
        HAP_CK(r, t->local[i] == 0 || t->elements <= INT64_MAX / 16 / t->local[i],
               "a tensor is too large");
        t->elements *= t->local[i];
    }
    int64_t size = hap_dtype_bytes(type), limit = r->seg_bytes[seg];
    t->bytes = t->elements * size;
    HAP_CK(r, t->off >= 0 && t->off % size == 0, "offset %lld of a tensor of %s", (long long)t->off,
           hap_dtype_name(type));
    HAP_CK(r, t->bytes <= limit && t->off <= limit - t->bytes,
           "a tensor ends at byte %lld of a segment of %lld", (long long)(t->off + t->bytes),
           (long long)limit);

    r->tensor = hap_grow(r, r->tensor, &r->cap_tensors, r->n_tensors + 1, sizeof *r->tensor);
    r->tensor[r->n_tensors++] = t;
    return t;
}

const char *hap_cut_check(const hap_rank *r, const hap_tensor *y, const hap_tensor *x, char *buf,
                          int n)
{
    if (y->type != x->type || y->rank != x->rank) return "type or number of dims differ";
    for (int i = 0; i < y->rank; i++) {
        const hap_dim *d = &y->dim[i], *s = &x->dim[i];
        hap_range want = hap_dim_range(r, d, 0, 0), have = hap_dim_range(r, s, 0, 0);
        bool same = d->n == s->n && d->outer == s->outer && d->inner == s->inner;
        if (hap_dim_size(d) != hap_dim_size(s)) {
            snprintf(buf, (size_t)n, "dim %d is %lld in x and %lld in y", i,
                     (long long)hap_dim_size(s), (long long)hap_dim_size(d));
            return buf;
        }
        if (s->axis < 0) continue;
        if (same && want.lo >= have.lo && want.lo + want.n <= have.lo + have.n) continue;
        snprintf(buf, (size_t)n, "dim %d: x does not hold y's part", i);
        return buf;
    }
    return NULL;
}

void hap_partial_check(hap_rank *r, unsigned axes, const hap_tensor *y, const hap_tensor *x)
{
    unsigned all = r->n_axes == 2 ? 3u : 1u;
    HAP_CK(r, axes != 0 && (axes & ~all) == 0, "axis mask %u of a mesh of %d axes", axes,
           r->n_axes);
    HAP_CK(r, y->type == x->type && y->rank == x->rank, "type or number of dims differ");
    for (int i = 0; i < y->rank; i++) {
        HAP_CK(r,
               hap_dim_size(&y->dim[i]) == hap_dim_size(&x->dim[i]) && y->local[i] == x->local[i] &&
                   y->first[i] == x->first[i],
               "dim %d is cut differently in y and x", i);
        HAP_CK(r, !hap_dim_in_group(&x->dim[i], axes), "dim %d is cut over the axes", i);
    }
}

void hap_tensor_free_all(hap_rank *r)
{
    for (int i = 0; i < r->n_tensors; i++)
        free(r->tensor[i]);
    free(r->tensor);
    r->tensor = NULL;
    r->n_tensors = r->cap_tensors = 0;
}

const char *hap_tensor_text(const hap_rank *r, const hap_tensor *t, char *buf, int n)
{
    int at = snprintf(buf, (size_t)n, "%s [", hap_dtype_name(t->type));
    for (int i = 0; i < t->rank && at < n; i++) {
        const hap_dim *d = &t->dim[i];
        at += snprintf(buf + at, (size_t)(n - at), "%s%lld", i ? " " : "",
                       (long long)hap_dim_size(d));
        if (d->axis >= 0 && at < n)
            at += snprintf(buf + at, (size_t)(n - at), "/%d", axis_size(r, d->axis));
    }
    if (at < n) snprintf(buf + at, (size_t)(n - at), "]");
    return buf;
}
