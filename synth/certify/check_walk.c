// The certificate, parts 1 and 3 (docs/theory.md section 6): a walk over the record.
//
//     chk_number        values of the graph           check_values.c
//     chk_layout        tables, offsets, ranges       check_memory.c
//     chk_declarations  names, fills, schedule        check_decl.c
//     step              one call after the other      check_op.c, check_coll.c
//     chk_closing       updates, loss, gradients      check_decl.c
//
// It stops at the first call that does not hold. Time is linear in calls, but for a logarithm of
// the buffers.

#include "ir/variant.h"
#include "synth/certify/check_model.h"

// Starts in flight, by event.
typedef struct flight {
    int event, call;
} flight;
typedef HB_VEC(flight) flights;

static bool wait_for(chk *c, flights *f, const rec_call *k)
{
    int i = 0;
    while (i < f->n && f->p[i].event != k->event)
        i++;
    if (i == f->n) return chk_fail(c, "event %d was not started, or waited for already", k->event);
    const rec_call *s = &c->r->calls.p[f->p[i].call];
    for (int p = 0; p < s->n_in; p++) {
        chk_buffer *dst = &c->buf[s->out[p]], *src = &c->buf[s->in[p]];
        dst->busy = -1;
        if (src != dst && src->frozen > 0 && !chk_overlap(c, src, dst)) src->frozen--;
    }
    if (s->scratch >= 0) c->buf[s->scratch].busy = -1;
    f->p[i] = f->p[--f->n];
    return true;
}

static bool start(chk *c, flights *f, const rec_call *k)
{
    for (int i = 0; i < f->n; i++)
        if (f->p[i].event == k->event)
            return chk_fail(c, "gives event %d, which %.*s gave and nobody waited for", k->event,
                            HB_ARG(chk_where(c, f->p[i].call)));
    if (!chk_start(c, k)) return false;
    HB_PUSH(c->a, f, (flight){k->event, c->at});
    return true;
}

static bool step(chk *c, flights *f, const rec_call *k)
{
    if (c->fusion >= 0 && k->kind != REC_OP && k->kind != REC_FUSED)
        return chk_fail(c, "stands in the fusion that begins at %.*s",
                        HB_ARG(chk_where(c, c->fusion)));
    if (c->pair >= 0 && k->kind != REC_OP && k->kind != REC_START && k->kind != REC_WAIT &&
        k->kind != REC_OVERLAPPED && k->kind != REC_TILES)
        return chk_fail(c, "stands in the pair that begins at %.*s", HB_ARG(chk_where(c, c->pair)));
    switch (k->kind) {
    case REC_OP:
        return chk_op(c, k);
    case REC_SLICE:
        return chk_slice(c, k);
    case REC_PARTIAL:
        return chk_partial(c, k);
    case REC_START:
        return start(c, f, k);
    case REC_WAIT:
        return wait_for(c, f, k);
    case REC_FUSE:
        return chk_fuse(c);
    case REC_FUSED:
        return chk_fused(c, k);
    case REC_OVERLAP:
        return chk_pair(c);
    case REC_TILES:
        return chk_tiles(c);
    case REC_OVERLAPPED:
        return chk_paired(c);
    case REC_INPUT:
    case REC_PARAM:
    case REC_STATE:
    case REC_BUFFER:
    case REC_CONST:
    case REC_GRAD:
    case REC_ALIAS:
    case REC_LOSS:
    case REC_BATCH:
    case REC_SCHEDULE:
        break;
    }
    return true;
}

bool syn_check(hb_arena *a, const ir_graph *g, const ir_factors *f, const record *r, hb_str *why)
{
    hb_arena *own = hb_arena_new();
    hb_str text = {0};
    if (g->micro_batches > 1) g = ir_unroll_factors(own, g, g->micro_batches, &f);
    chk c = {.a = own, .g = g, .f = f, .r = r, .why = &text, .fusion = -1, .pair = -1};
    flights flying = {0};
    chk_number(&c);
    bool ok = chk_layout(&c) && chk_declarations(&c);
    for (c.at = 0; ok && c.at < r->calls.n;) {
        ok = step(&c, &flying, &r->calls.p[c.at]);
        if (ok) c.at++;
    }
    if (ok && flying.n > 0) {
        c.at = flying.p[0].call;
        ok = chk_fail(&c, "is never waited for");
    }
    if (ok && c.fusion >= 0) {
        c.at = c.fusion;
        ok = chk_fail(&c, "begins a fusion that does not end");
    }
    if (ok && c.pair >= 0) {
        c.at = c.pair;
        ok = chk_fail(&c, "begins a pair that does not end");
    }
    ok = ok && chk_closing(&c);
    *why = ok ? (hb_str){0} : hb_str_n(a, text.p, text.n);
    hb_arena_free(own);
    return ok;
}
