#include "core/pair_rows.h"

#include <stdlib.h>

static hap_coll_view view_of(const hap_rank *r, const hap_pair *p)
{
    hap_coll_call c = hap_pair_coll(p);
    hap_coll_view v;
    char why[160];
    hap_coll_view_of(r, &c, 0, &v, why, sizeof why); // checked when the pair was collected
    return v;
}

static int64_t rows_from(const hap_pair *p, const hap_tensor *t, int dim)
{
    int64_t n = 1;
    for (int i = dim; i < t->rank - p->row_dims; i++)
        n *= t->local[i];
    return n;
}

static const hap_tensor *all_rows(const hap_pair *p)
{
    return p->consumer ? p->dst : p->src;
}

int64_t hap_pair_cols(const hap_pair *p)
{
    const hap_tensor *t = all_rows(p);
    int64_t n = 1;
    for (int i = t->rank - p->row_dims; i < t->rank; i++)
        n *= t->local[i];
    return n;
}

hap_coll_view hap_pair_view(const hap_rank *r, const hap_pair *p)
{
    hap_coll_view v = view_of(r, p);
    const hap_tensor *t = all_rows(p);
    const hap_dim *cut = p->consumer ? v.dst_dim : v.src_dim;
    v.outer = v.mid = v.inner = 1;
    v.n1 = rows_from(p, t, 0);
    if (p->kind != HAP_ALL_TO_ALL) {
        v.n2 = 1;
        v.inner = hap_pair_cols(p);
        return v;
    }
    for (int i = t->rank - p->row_dims; i < t->rank; i++) {
        const hap_dim *d = &t->dim[i];
        v.mid *= d < cut ? t->local[i] : d == cut ? d->outer : 1;
        v.inner *= d > cut ? t->local[i] : d == cut ? d->inner : 1;
    }
    return v;
}

// What a member holds of the side that is cut on the moved factor.
static hap_range member_rows(const hap_rank *r, const hap_pair *p, int member)
{
    const hap_tensor *side = p->consumer ? p->src : p->dst;
    if (p->kind == HAP_ALL_REDUCE) {
        int64_t all = rows_from(p, side, 0), n = hap_group_size(r, p->axes);
        hap_range share = {all * member / n, all * (member + 1) / n - all * member / n};
        return p->by_rows ? share : (hap_range){0, all};
    }
    hap_coll_view v = view_of(r, p);
    const hap_dim *cut = p->consumer ? v.src_dim : v.dst_dim;
    int64_t each = cut->inner * rows_from(p, side, (int)(cut - side->dim) + 1);
    hap_range f1 = p->consumer ? hap_src_box(r, &v, member).f1 : hap_dst_box(r, &v, member).f1;
    return (hap_range){f1.lo * each, f1.n * each};
}

bool hap_pair_listed(const hap_rank *r, const hap_pair *p, hap_pair *q)
{
    *q = *p;
    if (!p->tiles.said) return false;
    q->by_rows = p->tiles.how & HAP_TILE_BY_ROWS;
    q->n_chunks = p->tiles.n_chunks;
    q->chunk = p->tiles.chunk;
    q->most_rows = hap_pair_most_rows(r, q);
    return true;
}

int64_t hap_pair_most_rows(const hap_rank *r, const hap_pair *p)
{
    int64_t most = 0;
    for (int m = 0; m < hap_group_size(r, p->axes); m++) {
        hap_range rows = member_rows(r, p, m);
        if (rows.n > most) most = rows.n;
    }
    return most;
}

hap_box hap_pair_src(const hap_rank *r, const hap_pair *p, int member)
{
    hap_coll_view v = view_of(r, p), rows = hap_pair_view(r, p);
    if (p->consumer) return (hap_box){member_rows(r, p, member), {0, rows.n2}};
    if (p->kind == HAP_ALL_TO_ALL) return (hap_box){{0, rows.n1}, hap_src_box(r, &v, member).f2};
    return (hap_box){{0, rows.n1}, {0, 1}};
}

hap_box hap_pair_dst(const hap_rank *r, const hap_pair *p, int member)
{
    hap_coll_view v = view_of(r, p), rows = hap_pair_view(r, p);
    if (p->consumer && p->kind == HAP_ALL_TO_ALL)
        return (hap_box){{0, rows.n1}, hap_dst_box(r, &v, member).f2};
    if (p->consumer) return (hap_box){{0, rows.n1}, {0, 1}};
    return (hap_box){member_rows(r, p, member), {0, rows.n2}};
}

static int64_t weight(const hap_pair *p, int k)
{
    return p->chunk[k][1] < 0 ? -p->chunk[k][1] : p->chunk[k][1];
}

// Of its distance's weights chunk k is [*from, *to) of *all.
static void share_of(const hap_pair *p, int k, int64_t *from, int64_t *to, int64_t *all)
{
    *from = *all = 0;
    for (int i = 0; i < p->n_chunks; i++) {
        if (p->chunk[i][0] != p->chunk[k][0]) continue;
        if (i < k) *from += weight(p, i);
        *all += weight(p, i);
    }
    *to = *from + weight(p, k);
}

void hap_part_rows(const hap_rank *r, const hap_pair *p, int k, int member, int64_t *lo,
                   int64_t *hi)
{
    int64_t from, to, all;
    share_of(p, k, &from, &to, &all);
    hap_range rows = member_rows(r, p, member);
    int64_t first = p->most_rows * from / all, end = p->most_rows * to / all;
    *lo = rows.lo + (first < rows.n ? first : rows.n);
    *hi = rows.lo + (end < rows.n ? end : rows.n);
}

static int at_distance(const hap_rank *r, const hap_pair *p, int64_t d)
{
    int n = hap_group_size(r, p->axes);
    return (int)((hap_group_member(r, p->axes) + d + n) % n);
}

void hap_chunk_rows(const hap_rank *r, const hap_pair *p, int k, int *member, int64_t *lo,
                    int64_t *hi)
{
    int64_t d = p->chunk[k][0];
    *member = at_distance(r, p, p->consumer ? -d : d);
    hap_part_rows(r, p, k, *member, lo, hi);
}

int hap_pair_other(const hap_rank *r, const hap_pair *p, int k)
{
    int64_t d = p->chunk[k][0];
    return at_distance(r, p, p->consumer ? d : -d);
}

int hap_pair_sender(const hap_rank *r, const hap_pair *p, int k, int owner)
{
    int via = (int)((owner + p->chunk[k][2]) % hap_group_size(r, p->axes));
    if (via == owner) return owner;
    return member_rows(r, p, via).n < member_rows(r, p, owner).n ? via : owner;
}

bool hap_pair_brings(const hap_pair *p, int i, int k)
{
    int64_t from, to, all, from_k, to_k, all_k;
    if (p->chunk[k][2] == 0 || p->chunk[i][0] != p->chunk[k][2]) return false;
    share_of(p, i, &from, &to, &all);
    share_of(p, k, &from_k, &to_k, &all_k);
    return from * all_k < to_k * all && from_k * all < to * all_k;
}

hap_passed hap_pair_passed(const hap_rank *r, const hap_pair *p, int k)
{
    hap_passed x = {.owner = at_distance(r, p, -p->chunk[k][2])};
    int64_t lo, hi;
    int me = hap_group_member(r, p->axes);
    if (x.owner == me || hap_pair_sender(r, p, k, x.owner) != me) return x;
    hap_part_rows(r, p, k, x.owner, &lo, &hi);
    x.to = at_distance(r, p, p->chunk[k][0] - p->chunk[k][2]);
    x.rows = (hap_range){lo, hi - lo};
    return x;
}

int hap_joined_chunks(const hap_pair *p, int k)
{
    int n = 1;
    while (k + n < p->n_chunks && p->chunk[k + n][1] < 0)
        n++;
    return n;
}

int hap_joined_rows(const hap_rank *r, const hap_pair *p, int k, int n, hap_range *rows)
{
    int n_rows = 0;
    for (int i = k; i < k + n; i++) {
        int64_t lo, hi;
        int member, at = n_rows;
        hap_chunk_rows(r, p, i, &member, &lo, &hi);
        if (lo == hi) continue;
        for (; at > 0 && rows[at - 1].lo > lo; at--)
            rows[at] = rows[at - 1];
        rows[at] = (hap_range){lo, hi - lo};
        n_rows++;
    }
    int merged = 0;
    for (int i = 0; i < n_rows; i++) {
        hap_range *last = &rows[merged - 1];
        if (merged > 0 && last->lo + last->n == rows[i].lo)
            last->n += rows[i].n;
        else
            rows[merged++] = rows[i];
    }
    return merged;
}

static int by_rows(const void *a, const void *b)
{
    int64_t p = *(const int64_t *)a, q = *(const int64_t *)b;
    return (p > q) - (p < q);
}

static int by_last(const void *a, const void *b)
{
    const hap_pair_sum *p = a, *q = b;
    return p->last == q->last ? p->own - q->own : p->last - q->last;
}

int hap_pair_sums(const hap_rank *r, const hap_pair *p, hap_pair_sum *sums)
{
    int64_t end[2 * HAP_PAIR_CHUNKS], part[2 * HAP_PAIR_CHUNKS];
    int n = 2 * p->n_chunks, n_sums = 0, me = hap_group_member(r, p->axes);
    for (int k = 0; k < p->n_chunks; k++) {
        hap_part_rows(r, p, k, me, &part[2 * k], &part[2 * k + 1]);
        end[2 * k] = part[2 * k], end[2 * k + 1] = part[2 * k + 1];
    }
    qsort(end, (size_t)n, sizeof *end, by_rows);
    for (int i = 0; i + 1 < n; i++) {
        if (end[i] == end[i + 1]) continue;
        hap_pair_sum s = {{end[i], end[i + 1] - end[i]}, -1, -1};
        for (int k = 0; k < p->n_chunks; k++)
            if (part[2 * k] <= end[i] && end[i] < part[2 * k + 1])
                *(p->chunk[k][0] == 0 ? &s.own : &s.last) = k;
        sums[n_sums++] = s;
    }
    qsort(sums, (size_t)n_sums, sizeof *sums, by_last);
    return n_sums;
}

static int64_t units_before(int64_t units, int member, int n)
{
    return (units + member) / n;
}

hap_share hap_pair_share(hap_range rows, int64_t cols, int64_t item, int member, int n_members)
{
    int64_t unit = cols * item % 16 == 0 ? 16 / item : 1;
    int64_t from = rows.lo * cols / unit, to = (rows.lo + rows.n) * cols / unit, at = from;
    for (int m = 0; m < member; m++)
        at += units_before(to, m, n_members) - units_before(from, m, n_members);
    int64_t slot = units_before(from, member, n_members);
    int64_t end = units_before(to, member, n_members);
    return (hap_share){at * unit, slot * unit, (end - slot) * unit};
}

// Rows [lo, hi) of t, whose first `lead` dims are rows.
static hap_tensor *rows_of(hap_tensor *to, const hap_tensor *t, int lead, int64_t lo, int64_t hi)
{
    int64_t cols = 1;
    *to = *t;
    to->rank = 1 + t->rank - lead;
    for (int i = 1; i < to->rank; i++) {
        to->local[i] = t->local[lead + i - 1];
        to->first[i] = t->first[lead + i - 1];
        to->dim[i] = t->dim[lead + i - 1];
        cols *= to->local[i];
    }
    to->local[0] = hi - lo;
    to->first[0] = 0;
    to->dim[0] = WHOLE(hi - lo);
    to->elements = (hi - lo) * cols;
    to->bytes = to->elements * hap_dtype_bytes(t->type);
    to->data = (char *)t->data + lo * cols * hap_dtype_bytes(t->type);
    return to;
}

hap_op_call hap_op_of_rows(const hap_op_call *c, int64_t lo, int64_t hi, hap_row_tensors *x)
{
    const hap_op_row *row = &hap_op_rows[c->op];
    hap_op_call part = *c;
    for (int i = 0; i < c->n_in; i++)
        if (i == 0 || row->along >> i & 1)
            part.in[i] = rows_of(&x->in[i], c->in[i], c->in[0]->rank - row->dims, lo, hi);
    part.out[0] = rows_of(&x->out, c->out[0], c->out[0]->rank - row->dims, lo, hi);
    return part;
}
