// The certificate of candidates.

#include "synth/certify/modp.h"
#include "synth/passes/fuse.h"
#include "synth/plan/buffer_names.h"
#include "synth/search/candidates.h"

bool pool_prove(pool *p, syn_program *prog)
{
    const syn_options *o = p->opt;
    hb_arena *a = hb_arena_new();
    hb_str why;
    bool ran;
    syn_name_buffers(prog);
    syn_name_kernels(prog);
    record *rec = record_from_plan(a, prog);
    if (o->before_check) o->before_check(o->check_ctx, rec);
    bool ok = syn_check(a, p->g, p->f, rec, &why) && syn_check_modp(a, p->g, p->f, rec, &ran, &why);
    if (!ok && !hb_str_eq(why, p->rejected)) {
        p->rejected = hb_str_n(p->arena, why.p, why.n);
        if (o->rejected) o->rejected(o->check_ctx, p->rejected);
    }
    hb_arena_free(a);
    return ok;
}

bool pool_admits(pool *p, const candidate *c)
{
    return !p->doubtful || (c->placed && pool_prove(p, c->program));
}
