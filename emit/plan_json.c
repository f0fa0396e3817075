// plan.json: everything of the plan that a program may want to read. It is never executed.

#include "emit/emit.h"
#include "emit/json_out.h"
#include "emit/plan_lists.h"
#include "emit/verdict.h"
#include "ir/base/plain.h"
#include "synth/price/simulate_plan.h"

static void put_ranks(js *j, hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    const cl_cluster *c = p->cluster;
    double *ratio = emit_ratios(a, p);
    int *mesh_rank = HB_ARRAY(a, int, c->n_ranks);
    for (int r = 0; r < c->n_ranks; r++)
        mesh_rank[r] = -1;
    for (int r = 0; r < p->mesh->n_ranks; r++)
        mesh_rank[p->mesh->cluster_rank[r]] = r;
    js_key(j, "ranks");
    js_open(j, '[');
    for (int r = 0; r < c->n_ranks; r++) {
        js_sep(j);
        js_open(j, '{');
        emit_put_rank(j, c, r, mesh_rank[r]);
        if (mesh_rank[r] >= 0) js_integer(j, "class", p->mesh->class_of[mesh_rank[r]]);
        js_real(j, "ratio", mesh_rank[r] < 0 ? 0 : ratio[mesh_rank[r]]);
        const double *with = e->res->others.with_sec;
        if (mesh_rank[r] < 0) {
            hb_str why = words_unused(j->b->arena, p, c->class_of[r]);
            js_text(j, "dropped_because",
                    why.n ? hb_fmt(j->b->arena, "faster without it; it %.*s", HB_ARG(why))
                          : HB_STR("faster without it"));
        }
        if (mesh_rank[r] < 0 && with && with[r] > 0) js_real(j, "with_ms", with[r] * 1e3);
        js_close(j, '}');
    }
    js_close(j, ']');
}

// Milliseconds that a tenth more of each resource would save.
static void put_what_if(js *j, const emit_plan *e)
{
    static const char *const names[] = {"compute", "memory", "link"};
    js_key(j, "what_if");
    js_open(j, '[');
    for (int i = 0; i < e->res->n_what_if; i++) {
        const struct syn_what_if *w = &e->res->what_if[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "resource", hb_str_c(j->b->arena, names[w->what]));
        if (w->cls >= 0) js_text(j, "class", e->p->cluster->cls[w->cls].name);
        if (w->axis >= 0) js_integer(j, "axis", w->axis);
        js_real(j, "ms", w->gain_sec * 1e3);
        js_text(j, "by", w->what == SYN_MEMORY ? HB_STR("prices") : HB_STR("simulator"));
        js_close(j, '}');
    }
    js_close(j, ']');
}

// What was asked for: files, batch, precision, strategy, pins.
static void put_request(js *j, hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    js_text(j, "format", HB_STR("hap.plan"));
    js_integer(j, "version", 1);
    js_text(j, "producer", hb_fmt(a, "hapc %.*s", HB_ARG(e->version)));
    js_text(j, "command", e->command);
    js_text(j, "graph", p->g->sha);
    js_text(j, "graph_path", e->graph_path);
    js_text(j, "cluster", p->cluster->sha);
    js_text(j, "cluster_path", e->cluster_path);
    js_text(j, "cluster_name", p->cluster->name);
    js_flag(j, "emulated", p->cluster->emulated);
    js_integer(j, "batch", p->g->batch);
    js_integer(j, "batch_option", e->batch);
    js_integer(j, "micro_batches", p->g->micro_batches > 1 ? p->g->micro_batches : 1);
    js_key(j, "recomputed");
    js_open(j, '[');
    for (int k = 0; k < p->g->recomputed.n; k++) {
        js_sep(j);
        hb_printf(j->b, "%d", p->g->recomputed.p[k]);
    }
    js_close(j, ']');
    js_text(j, "precision", hb_str_c(a, ir_precision_name(p->g->precision)));
    js_text(j, "grad_dtype", hb_str_c(a, ir_dtype_name(p->g->grad_dtype)));
    if (p->g->expert_room > 0) js_real(j, "expert_room", p->g->expert_room);
    js_text(j, "strategy", p->strategy);
    js_text(j, "strategy_option", e->strategy);
    js_flag(j, "keep_grads", p->keep_grads);
    js_flag(j, "pairs", !e->no_pairs);
    emit_put_pins(j, e->pins);
}

static void put_gap_parts(js *j, const syn_result *r)
{
    static const char *const name[SYN_GAP_PARTS] = {[SYN_GAP_SEARCH] = "search",
                                                    [SYN_GAP_PRICES] = "prices",
                                                    [SYN_GAP_CHOICES] = "choices",
                                                    [SYN_GAP_UNCOUNTED] = "uncounted"};
    double part[SYN_GAP_PARTS];
    syn_gap_parts(&r->additive_levels, r->additive_bound_sec, r->additive_sec, part);
    js_key(j, "gap_parts");
    js_open(j, '{');
    for (int i = 0; i < SYN_GAP_PARTS; i++)
        js_real(j, name[i], part[i] / r->additive_bound_sec);
    js_close(j, '}');
}

// What was found: mesh, times and bounds, baselines.
static void put_verdict(js *j, const emit_plan *e)
{
    const syn_program *p = e->p;
    const syn_result *r = e->res;
    const cost_timeline *t = &r->timeline;
    js_key(j, "mesh");
    js_open(j, '[');
    for (int x = 0; x < p->mesh->n_axes; x++) {
        js_sep(j);
        hb_printf(j->b, "%d", p->mesh->size[x]);
    }
    js_close(j, ']');
    js_integer(j, "n_ranks", p->mesh->n_ranks);
    js_real(j, "predicted_ms", t->total * 1e3);
    js_real(j, "peak_ms", syn_peak_seconds(p) * 1e3);
    js_real(j, "communication_ms", t->comm * 1e3);
    js_real(j, "hidden_ms", t->hidden * 1e3);
    if (r->additive_sec >= 0) js_real(j, "additive_ms", r->additive_sec * 1e3);
    if (r->additive_bound_sec >= 0) js_real(j, "additive_bound_ms", r->additive_bound_sec * 1e3);
    if (r->additive_sec >= 0 && r->additive_bound_sec > 0) {
        js_real(j, "gap", r->additive_sec / r->additive_bound_sec - 1);
        put_gap_parts(j, r);
    }
    hb_str open = say_open(j->b->arena, r);
    if (open.n) js_text(j, "gap_open", open);
    if (r->lower_bound_sec >= 0) js_real(j, "lower_bound_ms", r->lower_bound_sec * 1e3);
    js_integer(j, "sym_bytes", p->sym_bytes);
    put_what_if(j, e);
    js_key(j, "baselines");
    js_open(j, '{');
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        if (r->baseline_sec[s] >= 0) {
            js_real(j, syn_strategy_name((syn_strategy)s), r->baseline_sec[s] * 1e3);
        } else {
            js_key(j, syn_strategy_name((syn_strategy)s));
            hb_puts(j->b, "null");
        }
    }
    js_close(j, '}');
}

// What it is compared with beyond the baselines on all devices, and why some of those have no time.
static void put_others(js *j, const wording *w, const verdict *v)
{
    const syn_result *r = w->e->res;
    js_key(j, "baselines_why");
    js_open(j, '{');
    for (int i = 0; i < v->n_alt; i++)
        if (v->alt[i].sec < 0 && !v->alt[i].kept)
            js_text(j, syn_strategy_name(v->alt[i].strategy), v->alt[i].why);
    js_close(j, '}');
    js_key(j, "baselines_kept");
    js_open(j, '{');
    for (int s = SYN_AUTO + 1; v->kept_known && s < syn_n_strategies; s++)
        js_real_or_null(j, syn_strategy_name((syn_strategy)s), r->others.baseline_sec[s], 1e3);
    js_close(j, '}');
    js_key(j, "baselines_best");
    js_open(j, '{');
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        if (r->others.near_sec[s] < 0 || r->others.near_n[s] == 0) continue;
        js_key(j, syn_strategy_name((syn_strategy)s));
        js_open(j, '{');
        js_real(j, "ms", r->others.near_sec[s] * 1e3);
        js_integer(j, "devices", r->others.near_n[s]);
        js_close(j, '}');
    }
    js_close(j, '}');
    if (r->others.one_class >= 0 && r->others.one_sec > 0) {
        js_key(j, "one_device");
        js_open(j, '{');
        js_text(j, "device", w->p->cluster->cls[r->others.one_class].name);
        js_real(j, "ms", r->others.one_sec * 1e3);
        js_close(j, '}');
    }
    js_key(j, "without");
    js_open(j, '[');
    for (int k = 0; r->others.without_sec && k < w->p->cluster->n_classes; k++) {
        if (!(r->others.without_sec[k] > 0)) continue;
        js_sep(j);
        js_open(j, '{');
        js_text(j, "device", w->p->cluster->cls[k].name);
        js_real(j, "ms", r->others.without_sec[k] * 1e3);
        js_close(j, '}');
    }
    js_close(j, ']');
    emit_put_verdict(j, v);
}

static void put_asked(js *j, const emit_plan *e)
{
    js_key(j, "asked");
    js_open(j, '[');
    for (int i = 0; i < e->n_asked; i++) {
        const emit_asked *x = &e->asked[i];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "change", x->change);
        js_real_or_null(j, "ms", x->sec, 1e3);
        if (x->sec < 0) js_text(j, "why", x->why);
        js_integer(j, "devices", x->used);
        js_integer(j, "of", x->all);
        js_real(j, "filled", x->filled);
        js_close(j, '}');
    }
    js_close(j, ']');
}

// How far to trust it: where times come from, the proof, the search.
static void put_trust(js *j, const wording *w)
{
    const emit_plan *e = w->e;
    js_key(j, "times");
    js_open(j, '{');
    js_text(j, "from",
            e->curves_missing ? HB_STR("datasheet")
            : e->unmeasured.n ? HB_STR("mixed")
                              : HB_STR("measured"));
    js_text(j, "formulas_for", e->unmeasured);
    js_close(j, '}');
    js_text(j, "certificate", HB_STR("proved")); // else there is no plan
    js_flag(j, "modular_run", e->p->values_run);
    js_key(j, "search");
    js_open(j, '{');
    js_integer(j, "searches", e->res->n_solved);
    js_integer(j, "states", e->res->n_states);
    if (e->res->effort > 0) {
        js_real(j, "effort", e->res->effort);
        js_integer(j, "first_draw", e->res->first_draw);
    }
    js_close(j, '}');
    js_real(j, "repeated", w->repeated);
    hb_putc(j->b, '\n');
}

void emit_plan_json(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    hb_arena *a = out->arena;
    js j = {out, true};
    const plan_parts *x = parts_of(a, e, where);
    const wording *w = x->part[0].w;
    js_open(&j, '{');
    put_request(&j, a, e);
    put_verdict(&j, e);
    put_others(&j, w, verdict_of(w));
    put_asked(&j, e);
    put_trust(&j, w);
    js_text(&j, "backend",
            e->p->cluster->cls[e->p->mesh->cluster_class[0]].kind == CL_GPU ? HB_STR("cuda")
                                                                            : HB_STR("cpu"));
    emit_put_machines(&j, e->p->cluster);
    put_ranks(&j, a, e);
    emit_put_lists(&j, x);
    js_close(&j, '}');
    hb_putc(out, '\n');
}
