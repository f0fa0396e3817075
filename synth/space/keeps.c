#include "synth/space/keeps.h"

#include <math.h>

static bool has(const syn_state *x, syn_kind kind)
{
    return x->ax[0].kind == kind || x->ax[1].kind == kind;
}

static bool is_whole(const syn_state *x)
{
    return x->ax[0].kind == SYN_R && x->ax[1].kind == SYN_R;
}

static bool cuts_batch_only(const syn_space *s, int t, const syn_state *x)
{
    for (int a = 0; a < SYN_MAX_AXES; a++)
        if (x->ax[a].kind == SYN_S &&
            !s->f->cls[s->f->dim[t][x->ax[a].dim].cls[x->ax[a].pos]].batch)
            return false;
    return true;
}

static bool may_keep(const syn_space *s, int t, const syn_state *x)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    const syn_strategy_row *row = syn_strategy_of(s->strategy);
    if (ten->kind != IR_VALUE && has(x, SYN_P)) return false;
    if (ten->kind == IR_PARAM || ten->kind == IR_BUFFER)
        return is_whole(x) || row->params == SYN_CUT_ANY ||
               (row->params == SYN_CUT_LARGE &&
                (!syn_is_small(s->g, s->opt, t) || syn_pinned(s->opt->pins, t)));
    if (!row->may_keep) return true;
    return row->may_keep(&(syn_keep_facts){.cut = has(x, SYN_S),
                                           .by_batch = cuts_batch_only(s, t, x),
                                           .feeds_update = syn_feeds_update(s->g, s->kinds, t)});
}

static bool may_hold_copy(const syn_space *s, int t, const syn_state *kept)
{
    const ir_tensor *ten = &s->g->tensors.p[t];
    double bytes = (double)ir_elements(ten) * (double)ir_dtype_bytes(ten->dtype);
    if (s->kinds->part && s->kinds->part[t] != SYN_PART_VALUE) return false;
    if (is_whole(kept) || (ten->kind != IR_PARAM && ten->kind != IR_VALUE)) return false;
    return ten->kind == IR_PARAM ||
           (bytes >= (double)s->opt->copy_bytes && syn_long_lived(s->g, s->kinds, t));
}

// Which second copies the space has beside a kept state: on one axis any that is not partial; on
// two, each axis as it is or whole.
static bool may_copy(const syn_space *s, const syn_state *kept, const syn_state *copy)
{
    if (has(copy, SYN_P)) return false;
    if (s->mesh->n_axes == 1) return true;
    for (int a = 0; a < SYN_MAX_AXES; a++) {
        const syn_axis_state *x = &kept->ax[a], *y = &copy->ax[a];
        if (y->kind == SYN_S &&
            (x->kind != SYN_S || x->cut != y->cut || x->dim != y->dim || x->pos != y->pos))
            return false;
    }
    return true;
}

static int n_cuts(const syn_state *x)
{
    return (x->ax[0].kind == SYN_S) + (x->ax[1].kind == SYN_S);
}

static void prefer_cut(const syn_space *s, int t, syn_keep *keep, int *n)
{
    const syn_states *st = s->states[t];
    int most = 0, m = 0;
    if (!(syn_strategy_of(s->strategy)->prefer_cut >> s->g->tensors.p[t].kind & 1)) return;
    for (int i = 0; i < *n; i++)
        most = n_cuts(&st->s[keep[i].state]) > most ? n_cuts(&st->s[keep[i].state]) : most;
    for (int i = 0; i < *n; i++)
        if (n_cuts(&st->s[keep[i].state]) == most) keep[m++] = keep[i];
    *n = m;
}

syn_keeps *syn_keeps_build(hb_arena *a, const syn_space *s, int t)
{
    const syn_states *st = s->states[t];
    syn_keep *keep = HB_ARRAY(a, syn_keep, st->n * (st->n + 1)); // room for every pair
    int n = 0;
    for (int i = 0; i < st->n; i++)
        if (may_keep(s, t, &st->s[i]) &&
            syn_pins_allow(s->opt->pins, t, &st->s[i], s->mesh->n_axes))
            keep[n++] = (syn_keep){(int16_t)i, -1};
    prefer_cut(s, t, keep, &n);
    int single = n;
    for (int k = 0; k < single; k++) {
        if (!may_hold_copy(s, t, &st->s[keep[k].state])) continue;
        for (int j = 0; j < st->n; j++)
            if (j != keep[k].state && may_copy(s, &st->s[keep[k].state], &st->s[j]) &&
                isfinite(st->cost[keep[k].state * st->n + j]))
                keep[n++] = (syn_keep){keep[k].state, (int16_t)j};
    }
    syn_keeps *out = HB_NEW(a, syn_keeps);
    out->n = n;
    out->keep = keep;
    out->cost = HB_ARRAY(a, double, n);
    bool input = s->costs->passing > 0 && s->g->tensors.p[t].kind == IR_INPUT;
    for (int i = 0; i < n; i++) {
        bool copied = keep[i].copy >= 0;
        if (copied)
            out->cost[i] +=
                syn_made_times(s->g, t) * st->cost[keep[i].state * st->n + keep[i].copy];
        if (input || syn_long_lived(s->g, s->kinds, t))
            out->cost[i] += st->bytes[keep[i].state] + (copied ? st->bytes[keep[i].copy] : 0);
    }
    return out;
}
