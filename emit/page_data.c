#include "emit/page_data.h"

#include "emit/page.h"
#include "ir/base/plain.h"

#include <string.h>

static void put_head(page *g)
{
    const plan_part *pace = &g->all->part[g->all->pace];
    const syn_staged *staged = g->all->staged;
    js *j = &g->j;
    js_text(j, "model", g->v->model);
    js_text(j, "cluster", g->v->cluster);
    js_text(j, "command", say_name(g->a, g->about->command));
    js_text(j, "producer", hb_fmt(g->a, "hapc %.*s", HB_ARG(g->about->version)));
    js_text(j, "graph", g->graph->sha);
    js_integer(j, "batch", g->graph->batch);
    js_text(j, "precision", hb_str_c(g->a, ir_precision_name(g->graph->precision)));
    js_integer(j, "micro_batches", g->graph->micro_batches > 1 ? g->graph->micro_batches : 1);
    js_integer(j, "recomputed", g->graph->recomputed.n);
    js_text(j, "device", hb_str_c(g->a, pace->w->device));
    js_integer(j, "kept", staged ? staged->n_ranks : pace->p->mesh->n_ranks);
    js_integer(j, "all", g->cluster->n_ranks);
    js_ints(j, "mesh", pace->p->mesh->size, pace->p->mesh->n_axes);
    js_integer(j, "busiest", pace->first_class + pace->t->busiest);
    js_real(j, "ms", pace->t->total * 1e3);
    js_key(j, "verdict");
    js_open(j, '[');
    const hb_str said[] = {g->v->decided, g->v->brings, g->v->limits};
    for (int i = 0; i < 3; i++) {
        js_sep(j);
        hb_put_json(j->b, said[i]);
    }
    js_close(j, ']');
    js_text(j, "note", g->v->note);
}

static void put_alternatives(page *g)
{
    js *j = &g->j;
    js_key(j, "alternatives");
    js_open(j, '[');
    for (int i = 0; i < g->v->n_alt; i++) {
        const alternative *x = &g->v->alt[i];
        js_sep(j);
        js_open(j, '{');
        const char *id = x->whole                  ? "whole"
                         : x->strategy == SYN_AUTO ? "one"
                                                   : syn_strategy_name(x->strategy);
        js_text(j, "id", hb_str_c(g->a, id));
        js_text(j, "name", x->name);
        js_text(j, "where", x->where);
        js_real_or_null(j, "ms", x->sec, 1e3);
        if (x->sec < 0) js_text(j, "why", say_name(g->a, x->why));
        js_flag(j, "kept", x->kept);
        js_flag(j, "other", x->other);
        js_flag(j, "simple", x->simple);
        js_close(j, '}');
    }
    js_close(j, ']');
    double lower = g->all->staged ? -1 : g->e->res->lower_bound_sec;
    js_real_or_null(j, "lower_ms", lower, 1e3);
}

static void put_what_if(page *g)
{
    js *j = &g->j;
    js_key(j, "what_if");
    js_open(j, '[');
    for (int i = 0; i < g->e->res->n_what_if; i++) {
        const struct syn_what_if *x = &g->e->res->what_if[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "name", verdict_resource(g->w, x));
        js_real(j, "ms", x->gain_sec > 0 ? x->gain_sec * 1e3 : 0);
        js_flag(j, "simulated", x->what != SYN_MEMORY);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_asked(page *g)
{
    js *j = &g->j;
    js_key(j, "asked");
    js_open(j, '[');
    for (int i = 0; i < g->about->n_asked; i++) {
        const emit_asked *x = &g->about->asked[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "change", say_name(g->a, x->change));
        js_real_or_null(j, "ms", x->sec, 1e3);
        if (x->sec < 0) js_text(j, "why", say_name(g->a, verdict_readable(g->a, x->why)));
        js_integer(j, "devices", x->used);
        js_integer(j, "of", x->all);
        js_real(j, "filled", x->filled);
        js_text(j, "cut", x->cut);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_trust(page *g)
{
    const syn_result *r = g->e->res;
    js *j = &g->j;
    js_key(j, "trust");
    js_open(j, '{');
    js_text(j, "times",
            g->about->curves_missing     ? HB_STR("datasheet")
            : g->about->unmeasured.n > 0 ? HB_STR("mixed")
                                         : HB_STR("measured"));
    js_text(j, "said", g->v->times);
    bool whole = !g->all->staged;
    js_real_or_null(j, "additive_ms", whole ? r->additive_sec : -1, 1e3);
    js_real_or_null(j, "additive_bound_ms", whole ? r->additive_bound_sec : -1, 1e3);
    js_text(j, "open", whole ? say_open(j->b->arena, r) : HB_STR(""));
    js_flag(j, "emulated", g->cluster->emulated);
    js_text(j, "proof", g->v->proof);
    js_integer(j, "searches", r->n_solved);
    js_close(j, '}');
}

static void put_shares(page *g)
{
    js *j = &g->j;
    js_key(j, "shares");
    js_open(j, '[');
    for (int i = 0; i < g->w->n_shares; i++) {
        const hb_str *by = g->w->share[i].by;
        hb_str words = words_both(g->w, by);
        js_sep(j);
        js_open(j, '{');
        js_text(j, "w", words);
        js_real(j, "share", g->w->share[i].share);
        js_close(j, '}');
    }
    js_close(j, ']');
    js_real(j, "repeated", g->w->repeated);
}

static void put_all(hb_buf *out, page *g)
{
    hb_buf text = {.arena = g->a};
    g->j = (js){&text, true};
    page_go(g, g->all->pace);
    js_open(&g->j, '{');
    js_integer(&g->j, "version", 1);
    put_head(g);
    put_alternatives(g);
    if (g->all->staged) page_stages(g);
    page_cluster(g);
    page_timeline(g);
    page_model(g);
    page_collectives(g);
    page_go(g, g->all->pace);
    put_what_if(g);
    put_asked(g);
    put_trust(g);
    put_shares(g);
    js_close(&g->j, '}');
    js_put_in_script(out, hb_done(&text));
}

void page_data(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    page g = {.a = out->arena, .about = e, .graph = e->p->g, .cluster = e->p->cluster};
    g.all = parts_of(g.a, e, where);
    g.v = verdict_of(g.all->part[0].w);
    put_all(out, &g);
}

void page_data_stages(hb_buf *out, const plan_parts *x, const emit_plan *about)
{
    page g = {.a = out->arena,
              .all = x,
              .about = about,
              .graph = x->staged->g,
              .cluster = x->staged->cluster};
    g.v = verdict_of_stages(g.a, x, about);
    put_all(out, &g);
}
