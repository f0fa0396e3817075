#include "synth/search/prove.h"

#include "ir/variant.h"
#include "synth/certify/modp.h"
#include "synth/passes/fuse.h"
#include "synth/plan/buffer_names.h"

bool syn_prove(hb_arena *a, syn_program *p, const syn_options *o, hb_str *rejected)
{
    hb_arena *scratch = hb_arena_new();
    hb_str why;
    syn_name_buffers(p);
    syn_name_kernels(&p, 1);
    ir_graph *g = hb_copy(scratch, p->g, sizeof *g);
    syn_program view = *p;
    view.g = g;
    if (g->micro_batches > SYN_PROVED_SLOTS) g->micro_batches = SYN_PROVED_SLOTS;
    record *rec = record_from_plan(scratch, &view);
    if (o->before_check) o->before_check(o->check_ctx, rec);
    bool ok = syn_check(scratch, g, p->f, rec, &why) &&
              syn_check_modp(scratch, g, p->f, rec, &p->values_run, &why);
    if (!ok && !hb_str_eq(why, *rejected)) {
        *rejected = hb_str_n(a, why.p, why.n);
        if (o->rejected) o->rejected(o->check_ctx, *rejected);
    }
    hb_arena_free(scratch);
    return ok;
}
