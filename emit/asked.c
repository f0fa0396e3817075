// What --what-if asks: the plan beside others of a changed request or cluster.

#include "emit/verdict.h"
#include "synth/passes/workspace.h"

emit_asked emit_asked_of(hb_arena *a, hb_str change, const cl_cluster *c, const syn_result *r)
{
    emit_asked x = {.change = hb_str_n(a, change.p, change.n), .sec = -1, .all = c->n_ranks};
    if (r->status != SYN_OK) {
        x.why = hb_str_n(a, r->why.p, r->why.n);
        return x;
    }
    const syn_program *p = r->program;
    emit_plan e = {.p = p, .res = r};
    x.sec = r->predicted_sec;
    x.used = p->mesh->n_ranks;
    for (int k = 0; k < p->mesh->n_classes; k++) {
        const cl_class *cls = &c->cls[p->mesh->cluster_class[k]];
        double share =
            (double)(p->peak_bytes[k] + syn_workspace_bytes(p, k)) / (double)cls->capacity;
        if (share > x.filled) x.filled = share;
    }
    x.cut = verdict_cut(wording_of(a, &e, step_times_of(a, &e)));
    return x;
}

static void put_row(hb_buf *out, hb_str name, const emit_asked *x)
{
    hb_arena *a = out->arena;
    hb_str left = hb_fmt(a, "  %-34.*s", HB_ARG(name));
    if (left.n > 36)
        hb_printf(out, "%.*s\n%36s", HB_ARG(left), "");
    else
        hb_printf(out, "%.*s", HB_ARG(left));
    if (x->sec < 0)
        hb_printf(out, "  no plan: %.*s\n", HB_ARG(verdict_readable(a, x->why)));
    else
        hb_printf(out, "%10.*s  %13.*s  %10.*s\n", HB_ARG(say_sec(a, x->sec)),
                  HB_ARG(hb_fmt(a, "%d of %d", x->used, x->all)),
                  HB_ARG(say_percent(a, x->filled)));
}

void emit_asked_text(hb_buf *out, const emit_plan *e)
{
    hb_arena *a = out->arena;
    if (e->n_asked == 0) return;
    emit_asked own = emit_asked_of(a, HB_STR(""), e->p->cluster, e->res);
    hb_printf(out, "\n  %-34s%10s  %13s  %10s\n", "What if", "a step", "devices", "memory");
    put_row(out, HB_STR("as it is"), &own);
    for (int i = 0; i < e->n_asked; i++) {
        const emit_asked *x = &e->asked[i];
        put_row(out, say_name(a, x->change), x);
        if (x->sec >= 0 && !hb_str_eq(x->cut, own.cut) && x->cut.n > 1)
            verdict_wrapped(out, "", (hb_str){x->cut.p + 1, x->cut.n - 1}, 2);
    }
}
