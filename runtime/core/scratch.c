// Scratch sizes of collectives: the table of docs/formats.md ("Scratch"), which the planner
// computes by its own code. N = members of the group, max = the largest part of a member.

#include "core/coll_geometry.h"

static int64_t ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

int64_t hap_scratch_of(const hap_rank *r, const hap_coll_call *c, const hap_coll_view *v)
{
    int64_t n = v->n_members, full = hap_view_bytes(v);
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
    case HAP_RECUT:
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
        sum += ceil_div(hap_scratch_of(r, c, &v), HAP_SCRATCH_ALIGN) * HAP_SCRATCH_ALIGN;
    }
    return sum;
}
