// Scratch sizes of collectives: the table of docs/formats.md ("Scratch"), which the planner
// computes by its own code. N = members of the group, max = the largest part of a member.

#include "core/coll_geometry.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

static int64_t aligned(int64_t bytes)
{
    return ceil_div(bytes, HAP_SCRATCH_ALIGN) * HAP_SCRATCH_ALIGN;
}

hap_range hap_put_shard(const hap_coll_view *v, int m)
{
    int64_t piece = ceil_div(v->n1, v->n_members), lo = m * piece, end = lo + piece;
    if (lo > v->n1) lo = v->n1;
    return (hap_range){lo, (end < v->n1 ? end : v->n1) - lo};
}

int64_t hap_put_slot(const hap_rank *r, const hap_coll_call *c, const hap_coll_view *v)
{
    return aligned(c->kind == HAP_ALL_REDUCE ? hap_put_shard(v, 0).n * v->item
                                             : hap_max_dst_bytes(r, v));
}

int64_t hap_scratch_of(const hap_rank *r, const hap_coll_call *c, const hap_coll_view *v)
{
    int64_t n = v->n_members, full = hap_view_bytes(v);
    if (hap_form_put(c->form))
        return c->kind == HAP_REDUCE_SCATTER || c->kind == HAP_ALL_REDUCE
                   ? n * hap_put_slot(r, c, v)
                   : 0;
    int64_t packed = v->outer == 1 ? 0 : full; // parts are contiguous already if the factor leads
    switch (c->kind) {
    case HAP_ALL_GATHER:
        return c->form == FORM_PADDED ? (n + 1) * hap_max_src_bytes(r, v) : packed;
    case HAP_REDUCE_SCATTER:
        if (c->form == FORM_PADDED) return (n + 1) * hap_max_dst_bytes(r, v);
        if (c->form == FORM_SENDRECV) return packed + hap_max_dst_bytes(r, v);
        if (c->form == FORM_EVEN_FLAT) return (n + 1) * ceil_div(full / v->item, n) * v->item;
        return packed;
    case HAP_ALL_REDUCE:
        return c->form == FORM_TWO_LEVEL ? ceil_div(full / v->item, r->size[1]) * v->item : 0;
    case HAP_ALL_TO_ALL:
    case HAP_RESHARD:
        return hap_max_src_bytes(r, v) + hap_max_dst_bytes(r, v);
    }
    return 0;
}

int64_t hap_coll_scratch_bytes(const hap_rank *r, const hap_coll_call *c)
{
    int64_t sum = 0;
    for (int k = 0; k < c->n; k++) {
        hap_coll_view v;
        char why[160];
        if (hap_coll_view_of(r, c, k, &v, why, sizeof why)) return -1;
        sum += aligned(hap_scratch_of(r, c, &v));
    }
    return sum;
}
