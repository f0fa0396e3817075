// plan.json: everything of the plan that a program may want to read. It is never executed.

#include "emit/emit.h"
#include "emit/json_out.h"
#include "emit/memory_kinds.h"
#include "emit/page.h"
#include "emit/verdict.h"
#include "synth/price/pair_cost.h"
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
        const cl_machine *m = &c->machine[c->machine_of[r]];
        js_sep(j);
        js_open(j, '{');
        js_integer(j, "rank", mesh_rank[r]);
        js_integer(j, "cluster_rank", r);
        js_text(j, "device", c->cls[c->class_of[r]].name);
        js_text(j, "machine", m->name);
        js_text(j, "host", m->host);
        if (mesh_rank[r] >= 0) js_integer(j, "class", p->mesh->class_of[mesh_rank[r]]);
        js_real(j, "ratio", mesh_rank[r] < 0 ? 0 : ratio[mesh_rank[r]]);
        js_flag(j, "dropped", mesh_rank[r] < 0);
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

static void put_class_memory(js *j, const emit_plan *e, const step_times *t, int c)
{
    memory_kinds m = memory_kinds_of(j->b->arena, e, t, c);
    js_key(j, "memory");
    js_open(j, '{');
    for (int k = 0; k < MEM_N_KINDS; k++)
        js_real(j, memory_kind_name[k], m.peak[k]);
    js_real(j, "gaps", m.gaps);
    js_real(j, "peak_at_ms", m.peak_sec * 1e3);
    js_key(j, "over_step");
    js_open(j, '[');
    for (int b = 0; b < MEM_N_BINS; b++) {
        js_sep(j);
        js_open(j, '[');
        for (int k = 0; k < MEM_N_KINDS; k++) {
            js_sep(j);
            hb_printf(j->b, "%.0f", m.curve[b][k]);
        }
        js_close(j, ']');
    }
    js_close(j, ']');
    js_close(j, '}');
}

// What this class's devices do with the step; the sum of computing and waiting is the step.
static void put_class_times(js *j, const class_times *t)
{
    js_real(j, "exposed_ms", t->exposed * 1e3);
    js_real(j, "waiting_ms", t->waiting * 1e3);
    js_reals(j, "phases_ms", t->phase, 3, 1e3);
}

static void put_classes(js *j, const emit_plan *e, const wording *w)
{
    const syn_program *p = e->p;
    js_key(j, "classes");
    js_open(j, '[');
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "name", k->name);
        js_integer(j, "capacity_bytes", k->capacity);
        js_integer(j, "reserve_bytes", k->reserve);
        js_integer(j, "peak_bytes", p->peak_bytes[c]);
        js_integer(j, "padded_bytes", p->padded_bytes[c]);
        js_integer(j, "work_bytes", p->work_bytes[c]);
        js_integer(j, "local_bytes", p->local_bytes[c]);
        js_real(j, "compute_ms", e->res->timeline.busy[c] * 1e3);
        js_real(j, "idle_ms", e->res->timeline.stalled[c] * 1e3);
        js_integer(j, "count", w->n_of[c]);
        js_real(j, "flops", words_peak_flops(p->g, k));
        js_integer(j, "memory_bytes", k->memory);
        js_real(j, "memory_bandwidth", k->memory_bandwidth);
        put_class_times(j, &w->t->of[c]);
        put_class_memory(j, e, w->t, c);
        js_flag(j, "emulated", k->emulated);
        js_flag(j, "plan_only", k->plan_only);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_machines(js *j, const cl_cluster *c)
{
    js_key(j, "machines");
    js_open(j, '[');
    for (int m = 0; m < c->n_machines; m++) {
        js_sep(j);
        js_open(j, '{');
        js_text(j, "name", c->machine[m].name);
        js_integer(j, "first_rank", c->machine[m].first_rank);
        js_integer(j, "ranks", c->machine[m].n_ranks);
        js_real(j, "link_bandwidth", c->machine[m].link_bandwidth);
        js_real(j, "link_latency", c->machine[m].link_latency);
        js_flag(j, "peer", c->machine[m].peer);
        js_close(j, '}');
    }
    js_close(j, ']');
    js_key(j, "network");
    js_open(j, '{');
    js_real(j, "bandwidth", c->network_bandwidth);
    js_real(j, "latency", c->network_latency);
    js_close(j, '}');
}

// The letters of the factors that a cut divides, and what it is called in words.
static void put_cut_words(js *j, const wording *w, int cut)
{
    const syn_program *p = w->p;
    hb_str word = {"", 0};
    bool *seen = HB_ARRAY(w->a, bool, p->f->n_classes + 1);
    js_key(j, "letters");
    js_open(j, '[');
    for (int i = 0; i < p->tensors.n; i++)
        for (int x = 0; p->tensors.p[i].value >= 0 && x < p->mesh->n_axes; x++) {
            const syn_axis_state *s = &p->tensors.p[i].state.ax[x];
            if (s->kind != SYN_S || s->cut != cut) continue;
            int cls = p->f->dim[p->tensors.p[i].value][s->dim].cls[s->pos];
            if (seen[cls]) continue;
            seen[cls] = true;
            if (word.n == 0) word = w->cut_by[cls];
            js_sep(j);
            hb_printf(j->b, "\"%s\"", p->f->cls[cls].letter);
        }
    js_close(j, ']');
    js_text(j, "word", word.n ? word : HB_STR("features"));
}

static void put_cuts(js *j, hb_arena *a, const emit_plan *e, const wording *w)
{
    const syn_mesh *m = e->p->mesh;
    hb_str *names = emit_table_names(a, e->p);
    js_key(j, "cuts");
    js_open(j, '[');
    for (int c = 0; c < m->cuts.n; c++) {
        js_sep(j);
        js_open(j, '{');
        js_text(j, "table", names[c]);
        js_text(j, "from", m->cuts.p[c].name);
        js_integer(j, "axis", m->cuts.p[c].axis);
        js_integer(j, "size", m->cuts.p[c].size);
        js_int64s(j, "entries", m->cuts.p[c].table, m->cuts.p[c].n);
        put_cut_words(j, w, c);
        js_close(j, '}');
    }
    js_close(j, ']');
}

// All factors that may be cut: what states of other plans of this graph are said by.
static void put_factors(js *j, const wording *w)
{
    const ir_factors *f = w->p->f;
    js_key(j, "factors");
    js_open(j, '[');
    for (int c = 0; c < f->n_classes; c++) {
        if (f->cls[c].whole) continue;
        js_sep(j);
        js_open(j, '{');
        js_text(j, "letter", hb_str_c(w->a, f->cls[c].letter));
        js_integer(j, "size", f->cls[c].size);
        js_text(j, "word", w->cut_by[c]);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_tensors(js *j, hb_arena *a, const emit_plan *e, const emit_lines *where)
{
    static const char *const roles[] = {"value", "home", "input", "const", "scratch"};
    const syn_program *p = e->p;
    hb_str *names = emit_names(a, p);
    js_key(j, "tensors");
    js_open(j, '[');
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        js_sep(j);
        hb_putc(j->b, '\n');
        js_open(j, '{');
        js_text(j, "id", names[i]);
        if (where) js_text(j, "c", where->expr[i]);
        js_text(j, "role", hb_str_c(a, roles[t->role]));
        if (t->value >= 0) {
            const ir_tensor *g = &p->g->tensors.p[t->value];
            hb_buf s = {.arena = a};
            syn_state_print(&s, p->mesh, p->f, t->value, &t->state);
            js_text(j, "name", g->name);
            js_int64s(j, "shape", g->dim, g->rank);
            js_text(j, "state", hb_done(&s));
            int cut[SYN_MAX_AXES];
            for (int x = 0; x < p->mesh->n_axes; x++)
                cut[x] = t->state.ax[x].kind == SYN_S ? t->state.ax[x].cut : -1;
            js_ints(j, "cuts", cut, p->mesh->n_axes);
        }
        js_text(j, "dtype", hb_str_c(a, ir_dtype_name(t->dtype)));
        js_text(j, "segment", t->sym ? HB_STR("sym") : HB_STR("local"));
        js_int64s(j, "bytes", t->bytes, p->mesh->n_classes);
        js_int64s(j, "offset", t->off, p->mesh->n_classes);
        js_close(j, '}');
    }
    js_close(j, ']');
}

static void put_chunks(js *j, int (*chunk)[3], int n)
{
    js_key(j, "chunks");
    js_open(j, '[');
    for (int k = 0; k < n; k++) {
        js_sep(j);
        hb_printf(j->b, "[%d,%d", chunk[k][0], chunk[k][1]);
        if (chunk[k][2]) hb_printf(j->b, ",%d", chunk[k][2]);
        hb_putc(j->b, ']');
    }
    js_close(j, ']');
}

// The pair's list of tiles.
static void put_tiles(js *j, const syn_tiles *x)
{
    js_key(j, "tiles");
    js_open(j, '{');
    js_integer(j, "rows", x->rows);
    js_integer(j, "cols", x->cols);
    js_flag(j, "turns", x->how & SYN_TILE_TURNS);
    js_flag(j, "sums", x->how & SYN_TILE_SUMS);
    js_flag(j, "by_rows", x->how & SYN_TILE_BY_ROWS);
    js_flag(j, "planned", x->how & SYN_TILE_FIRST);
    put_chunks(j, x->chunk, x->n_chunks);
    js_real(j, "ms", x->total * 1e3);
    js_close(j, '}');
}

static void put_overlap(js *j, const syn_program *p, const syn_pair *x)
{
    double busy = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        busy = x->busy[c] > busy ? x->busy[c] : busy;
    js_key(j, "overlap");
    js_open(j, '{');
    js_integer(j, "length", x->len);
    put_chunks(j, x->chunk, x->n_chunks);
    js_real(j, "ms", x->total * 1e3);
    js_real(j, "chunks_ms", x->chunked * 1e3);
    if (x->tiles.n_chunks) put_tiles(j, &x->tiles);
    js_real(j, "compute_ms", busy * 1e3);
    js_real(j, "transfer_ms", x->transfer * 1e3);
    js_real(j, "hidden_ms", syn_pair_hidden(p, x) * x->transfer * 1e3);
    js_real(j, "sequential_ms", x->sequential * 1e3);
    js_close(j, '}');
}

// When an instruction runs: by class, of a collective one entry.
static void put_when(js *j, const emit_plan *e, const step_times *t, int i)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const syn_program *p = e->p;
    const cost_timeline *line = &e->res->timeline;
    int n = p->mesh->n_classes, block;
    bool sends = p->instr.p[i].kind == SYN_START;
    js_text(j, "phase", hb_str_c(j->b->arena, phases[step_phase(p, i)]));
    (void)page_block(p->g->nodes.p[p->instr.p[i].node].name, &block);
    if (block >= 0) js_integer(j, "block", block);
    if (p->instr.p[i].kind == SYN_WAIT) return;
    js_reals(j, "begin_ms", line->begin + i * n, sends ? 1 : n, 1e3);
    js_reals(j, "end_ms", line->end + i * n, sends ? 1 : n, 1e3);
    if (sends) js_real(j, "exposed_ms", t->exposed[i] * 1e3);
    if (sends && p->instr.p[i].scratch >= 0) js_integer(j, "scratch", p->instr.p[i].scratch);
}

static void put_instructions(js *j, hb_arena *a, const emit_plan *e, const emit_lines *where,
                             const step_times *t)
{
    const syn_program *p = e->p;
    js_key(j, "instructions");
    js_open(j, '[');
    const syn_pair *x = p->pairs.p, *end = x + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        js_sep(j);
        hb_putc(j->b, '\n');
        js_open(j, '{');
        if (where) js_integer(j, "line", where->line[i]);
        js_text(j, "call", emit_instr_name(a, p, i));
        js_text(j, "node", p->g->nodes.p[in->node].name);
        if (in->kind == SYN_WAIT) {
            js_integer(j, "start", in->start);
        } else {
            js_ints(j, "out", in->out, in->n_out);
            js_ints(j, "in", in->in, in->n_in);
            js_reals(j, "ms", in->sec, in->kind == SYN_START ? 1 : p->mesh->n_classes, 1e3);
        }
        if (in->kind == SYN_START) {
            js_text(j, "form", hb_str_c(a, cost_form_name(in->form).s));
            js_integer(j, "axes", in->axes);
            js_real(j, "bytes", emit_coll_bytes(p, in));
        }
        put_when(j, e, t, i);
        if (x < end && i == x->first) put_overlap(j, p, x++);
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
    js_text(j, "strategy", p->strategy);
    js_text(j, "strategy_option", e->strategy);
    js_flag(j, "keep_grads", p->keep_grads);
    js_flag(j, "pairs", !e->no_pairs);
    js_key(j, "pins");
    js_open(j, '[');
    for (int k = 0; e->pins && k < e->pins->n; k++) {
        js_sep(j);
        hb_put_json(j->b, e->pins->pin[k].text);
    }
    js_close(j, ']');
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
    if (r->additive_sec >= 0 && r->additive_bound_sec > 0)
        js_real(j, "gap", r->additive_sec / r->additive_bound_sec - 1);
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
    js_key(j, "verdict");
    js_open(j, '{');
    js_text(j, "decided", v->decided);
    js_text(j, "brings", v->brings);
    js_text(j, "limits", v->limits);
    js_close(j, '}');
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
    js_key(j, "search");
    js_open(j, '{');
    js_integer(j, "searches", e->res->n_solved);
    js_integer(j, "states", e->res->n_states);
    js_close(j, '}');
    js_real(j, "repeated", w->repeated);
    hb_putc(j->b, '\n');
}

void emit_plan_json(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    hb_arena *a = out->arena;
    js j = {out, true};
    const wording *w = wording_of(a, e, step_times_of(a, e));
    js_open(&j, '{');
    put_request(&j, a, e);
    put_verdict(&j, e);
    put_others(&j, w, verdict_of(w));
    put_asked(&j, e);
    put_trust(&j, w);
    js_text(&j, "backend",
            e->p->cluster->cls[e->p->mesh->cluster_class[0]].kind == CL_GPU ? HB_STR("cuda")
                                                                            : HB_STR("cpu"));
    put_machines(&j, e->p->cluster);
    put_classes(&j, e, w);
    put_ranks(&j, a, e);
    put_cuts(&j, a, e, w);
    put_factors(&j, w);
    put_tensors(&j, a, e, where);
    put_instructions(&j, a, e, where, w->t);
    js_close(&j, '}');
    hb_putc(out, '\n');
}
