#include "core/coll_check.h"

#include "core/coll_geometry.h"
#include "core/fail.h"

// Which forms a call can have, as bits.
static unsigned shardings_of(const hap_coll_call *c)
{
    const unsigned put = 1u << FORM_PUTS;
    switch (c->kind) {
    case HAP_ALL_GATHER:
        return 1u << FORM_EVEN | 1u << FORM_PADDED | 1u << FORM_GROUPED | 1u << FORM_SENDRECV | put;
    case HAP_REDUCE_SCATTER:
        return 1u << FORM_EVEN | 1u << FORM_PADDED | 1u << FORM_GROUPED | 1u << FORM_SENDRECV |
               1u << FORM_EVEN_FLAT | put;
    case HAP_ALL_REDUCE:
        return 1u << FORM_FLAT | 1u << FORM_TWO_LEVEL | (c->reduce == HAP_SUM ? put : 0);
    case HAP_ALL_TO_ALL:
        return 1u << FORM_EVEN | 1u << FORM_SENDRECV | put;
    case HAP_RESHARD:
        return 1u << FORM_EVEN | 1u << FORM_SENDRECV;
    }
    return 0;
}

// Each copy goes to another member. What other ranks write into lies in SEG_SYM.
static void check_put(hap_rank *r, const hap_coll_call *c)
{
    int n = hap_group_size(r, c->axes), copies = hap_form_copies(c->form);
    int most = n > 1 ? n - 1 : 1;
    HAP_CK(r, copies >= 1 && copies <= most, "form %s: of %d members 1 to %d copies are in flight",
           hap_form_name(c->form).s, n, most);
    for (int k = 0; k < c->n && c->kind != HAP_REDUCE_SCATTER; k++)
        HAP_CK(r, c->dst[k]->seg == SEG_SYM, "item %d: form %s writes to dst, outside SEG_SYM", k,
               hap_form_name(c->form).s);
    HAP_CK(r, !c->scratch || c->scratch->seg == SEG_SYM,
           "form %s writes to scratch, outside SEG_SYM", hap_form_name(c->form).s);
}

static bool equal_shards(const hap_rank *r, const hap_coll_view *v)
{
    for (int m = 1; m < v->n_members; m++) {
        if (hap_src_box(r, v, m).f1.n != hap_src_box(r, v, 0).f1.n ||
            hap_dst_box(r, v, m).f1.n != hap_dst_box(r, v, 0).f1.n)
            return false;
    }
    return true;
}

void hap_coll_check(hap_rank *r, const hap_coll_call *c)
{
    unsigned all = r->n_axes == 2 ? 3u : 1u;
    HAP_CK(r, c->axes != 0 && (c->axes & ~all) == 0, "axis mask %u of a mesh of %d axes", c->axes,
           r->n_axes);
    unsigned form = hap_form_put(c->form) ? FORM_PUTS : c->form;
    HAP_CK(r, form <= FORM_PUTS && (shardings_of(c) >> form & 1u), "there is no form %s of it",
           hap_form_name(c->form).s);
    HAP_CK(r, c->form != FORM_TWO_LEVEL || c->axes == 3u, "form TWO_LEVEL needs both axes");
    HAP_CK(r, c->n >= 1, "an empty list");
    int64_t need = 0;
    for (int k = 0; k < c->n; k++) {
        hap_coll_view v;
        char why[160], a[128], b[128];
        const char *bad = hap_coll_view_of(r, c, k, &v, why, sizeof why);
        if (bad && (!c->src[k] || !c->dst[k])) hap_fail(r, HAP_EXIT_FAILED, "%s", bad);
        if (bad)
            hap_fail(r, HAP_EXIT_FAILED, "item %d: %s (src %s, dst %s)", k, bad,
                     hap_tensor_text(r, c->src[k], a, sizeof a),
                     hap_tensor_text(r, c->dst[k], b, sizeof b));
        bool moves_shards = c->kind == HAP_ALL_GATHER || c->kind == HAP_REDUCE_SCATTER;
        HAP_CK(r, c->form != FORM_EVEN || !moves_shards || equal_shards(r, &v),
               "item %d: form EVEN on unequal shards of %s", k,
               hap_tensor_text(r, moves_shards && v.src_dim ? c->src[k] : c->dst[k], a, sizeof a));
        int64_t one = hap_scratch_of(r, c, &v);
        need += (one + HAP_SCRATCH_ALIGN - 1) / HAP_SCRATCH_ALIGN * HAP_SCRATCH_ALIGN;
    }
    if (hap_form_put(c->form)) check_put(r, c);
    int64_t have = c->scratch ? c->scratch->bytes : 0;
    HAP_CK(r, have >= need, "form %s needs %lld bytes of scratch, the plan gives %lld",
           hap_form_name(c->form).s, (long long)need, (long long)have);
}
