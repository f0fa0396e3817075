// The checker's sentences: where, what, and how a buffer lies on the ranks.

#include "synth/certify/check_model.h"
#include "synth/plan/search_limits.h"

static const char *const decl_names[] = {
    [REC_INPUT] = "hap_input",       [REC_PARAM] = "hap_param", [REC_STATE] = "hap_state",
    [REC_BUFFER] = "hap_buffer",     [REC_CONST] = "hap_const", [REC_GRAD] = "hap_grad",
    [REC_ALIAS] = "hap_alias",       [REC_LOSS] = "hap_loss",   [REC_BATCH] = "hap_batch",
    [REC_SCHEDULE] = "hap_schedule", [REC_SLICE] = "hap_cut",   [REC_PARTIAL] = "hap_partial",
    [REC_WAIT] = "hap_wait",         [REC_FUSE] = "hap_fuse",   [REC_FUSED] = "hap_fused",
    [REC_OVERLAP] = "hap_overlap",   [REC_TILES] = "hap_tiles", [REC_OVERLAPPED] = "hap_overlapped",
};

hb_str chk_where(const chk *c, int call)
{
    hb_buf b = {.arena = c->a};
    if (call < 0) return HB_STR("program.c");
    bool end = call >= c->r->calls.n;
    const rec_call *k = end ? c->closing : &c->r->calls.p[call];
    if (k && k->line > 0)
        hb_printf(&b, "%s:%d: ", k->file.n ? k->file.p : "program.c", k->line);
    else if (!end)
        hb_printf(&b, "call %d: ", call);
    if (end) {
        hb_puts(&b, k && k->line > 0 ? "end of the step" : "program.c: end of the step");
        return hb_done(&b);
    }
    if (k->kind == REC_OP)
        hb_printf(&b, "op_%s", ir_op_of((ir_op)k->op)->name);
    else if (k->kind == REC_START)
        hb_printf(&b, "%s%s", cost_coll_name(k->coll), k->reduce_max ? " (max)" : "");
    else
        hb_puts(&b, decl_names[k->kind]);
    if (k->name.n > 0) hb_printf(&b, " '%.*s'", HB_ARG(k->name));
    return hb_done(&b);
}

bool chk_fail(chk *c, const char *fmt, ...)
{
    hb_buf b = {.arena = c->a};
    hb_printf(&b, "%.*s: ", HB_ARG(chk_where(c, c->at)));
    va_list ap;
    va_start(ap, fmt);
    hb_vprintf(&b, fmt, ap);
    va_end(ap);
    *c->why = hb_done(&b);
    return false;
}

hb_str chk_name(const chk *c, int value)
{
    if (value < 0) return HB_STR("nothing");
    return c->g->tensors.p[c->tensor_of[value]].name;
}

hb_str chk_table_text(const chk *c, const rec_dim *d)
{
    hb_buf b = {.arena = c->a};
    bool even = d->n_table > 0;
    for (int i = 1; i < d->n_table; i++)
        even = even && d->table[i] == d->table[0];
    if (even) return HB_STR("even");
    hb_puts(&b, "by ");
    for (int i = 0; i < d->n_table && i < SYN_SHOWN_PARTS; i++)
        hb_printf(&b, "%s%lld", i ? "," : "", (long long)d->table[i]);
    if (d->n_table > SYN_SHOWN_PARTS) hb_puts(&b, ",…");
    return hb_done(&b);
}

hb_str chk_cut_text(const chk *c, int dim, const rec_dim *d)
{
    hb_str table = chk_table_text(c, d);
    const char *both = d->axis == SYN_BOTH ? " over both axes" : "";
    if (d->outer == 1 && d->inner == 1)
        return hb_fmt(c->a, "S(d%d %.*s%s)", dim, HB_ARG(table), both);
    return hb_fmt(c->a, "S(d%d %lldx[%lld]x%lld %.*s%s)", dim, (long long)d->outer, (long long)d->n,
                  (long long)d->inner, HB_ARG(table), both);
}

hb_str chk_state(const chk *c, const chk_buffer *b, int axis)
{
    if (b->cut[axis] >= 0) return chk_cut_text(c, b->cut[axis], &b->t->dim[b->cut[axis]]);
    if (b->partial[axis]) return b->partial[axis] == 'm' ? HB_STR("P(max)") : HB_STR("P(sum)");
    return HB_STR("R");
}
