// plan.json: everything of the plan that a program may want to read. It is never executed.

#include "emit/emit.h"
#include "synth/price/pair_cost.h"
#include "synth/price/simulate_plan.h"

typedef struct {
    hb_buf *b;
    bool first; // of the object or list that is open
} js;

static void sep(js *j)
{
    if (!j->first) hb_putc(j->b, ',');
    j->first = false;
}

static void key(js *j, const char *name)
{
    sep(j);
    hb_printf(j->b, "\"%s\":", name);
}

static void open_(js *j, char c)
{
    hb_putc(j->b, c);
    j->first = true;
}

static void close_(js *j, char c)
{
    hb_putc(j->b, c);
    j->first = false;
}

static void text(js *j, const char *name, hb_str s)
{
    key(j, name);
    hb_put_json(j->b, s);
}

static void integer(js *j, const char *name, int64_t v)
{
    key(j, name);
    hb_printf(j->b, "%lld", (long long)v);
}

static void real(js *j, const char *name, double v)
{
    key(j, name);
    hb_printf(j->b, "%.9g", v);
}

static void flag(js *j, const char *name, bool v)
{
    key(j, name);
    hb_puts(j->b, v ? "true" : "false");
}

static void ints(js *j, const char *name, const int64_t *v, int n)
{
    key(j, name);
    open_(j, '[');
    for (int i = 0; i < n; i++) {
        sep(j);
        hb_printf(j->b, "%lld", (long long)v[i]);
    }
    close_(j, ']');
}

static void reals(js *j, const char *name, const double *v, int n, double scale)
{
    key(j, name);
    open_(j, '[');
    for (int i = 0; i < n; i++) {
        sep(j);
        hb_printf(j->b, "%.9g", v[i] * scale);
    }
    close_(j, ']');
}

static void ids(js *j, const char *name, const int *v, int n)
{
    key(j, name);
    open_(j, '[');
    for (int i = 0; i < n; i++) {
        sep(j);
        hb_printf(j->b, "%d", v[i]);
    }
    close_(j, ']');
}

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
    key(j, "ranks");
    open_(j, '[');
    for (int r = 0; r < c->n_ranks; r++) {
        const cl_machine *m = &c->machine[c->machine_of[r]];
        sep(j);
        open_(j, '{');
        integer(j, "rank", mesh_rank[r]);
        integer(j, "cluster_rank", r);
        text(j, "device", c->cls[c->class_of[r]].name);
        text(j, "machine", m->name);
        text(j, "host", m->host);
        if (mesh_rank[r] >= 0) integer(j, "class", p->mesh->class_of[mesh_rank[r]]);
        real(j, "ratio", mesh_rank[r] < 0 ? 0 : ratio[mesh_rank[r]]);
        flag(j, "dropped", mesh_rank[r] < 0);
        close_(j, '}');
    }
    close_(j, ']');
}

static void put_classes(js *j, const emit_plan *e)
{
    const syn_program *p = e->p;
    key(j, "classes");
    open_(j, '[');
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        sep(j);
        open_(j, '{');
        text(j, "name", k->name);
        integer(j, "capacity_bytes", k->capacity);
        integer(j, "reserve_bytes", k->reserve);
        integer(j, "peak_bytes", p->peak_bytes[c]);
        integer(j, "padded_bytes", p->padded_bytes[c]);
        integer(j, "work_bytes", p->work_bytes[c]);
        integer(j, "local_bytes", p->local_bytes[c]);
        real(j, "compute_ms", e->res->timeline.busy[c] * 1e3);
        real(j, "idle_ms", e->res->timeline.stalled[c] * 1e3);
        flag(j, "emulated", k->emulated);
        flag(j, "plan_only", k->plan_only);
        close_(j, '}');
    }
    close_(j, ']');
}

static void put_cuts(js *j, hb_arena *a, const emit_plan *e)
{
    const syn_mesh *m = e->p->mesh;
    hb_str *names = emit_table_names(a, e->p);
    key(j, "cuts");
    open_(j, '[');
    for (int c = 0; c < m->cuts.n; c++) {
        sep(j);
        open_(j, '{');
        text(j, "table", names[c]);
        text(j, "from", m->cuts.p[c].name);
        integer(j, "axis", m->cuts.p[c].axis);
        integer(j, "size", m->cuts.p[c].size);
        ints(j, "entries", m->cuts.p[c].table, m->cuts.p[c].n);
        close_(j, '}');
    }
    close_(j, ']');
}

static void put_tensors(js *j, hb_arena *a, const emit_plan *e, const emit_lines *where)
{
    static const char *const roles[] = {"value", "home", "input", "const", "scratch"};
    const syn_program *p = e->p;
    hb_str *names = emit_names(a, p);
    key(j, "tensors");
    open_(j, '[');
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        sep(j);
        hb_putc(j->b, '\n');
        open_(j, '{');
        text(j, "id", names[i]);
        if (where) text(j, "c", where->expr[i]);
        text(j, "role", hb_str_c(a, roles[t->role]));
        if (t->value >= 0) {
            const ir_tensor *g = &p->g->tensors.p[t->value];
            hb_buf s = {.arena = a};
            syn_state_print(&s, p->mesh, p->f, t->value, &t->state);
            text(j, "name", g->name);
            ints(j, "shape", g->dim, g->rank);
            text(j, "state", hb_done(&s));
        }
        text(j, "dtype", hb_str_c(a, ir_dtype_name(t->dtype)));
        text(j, "segment", t->sym ? HB_STR("sym") : HB_STR("local"));
        ints(j, "bytes", t->bytes, p->mesh->n_classes);
        ints(j, "offset", t->off, p->mesh->n_classes);
        close_(j, '}');
    }
    close_(j, ']');
}

static void put_overlap(js *j, const syn_program *p, const syn_pair *x)
{
    double busy = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        busy = x->busy[c] > busy ? x->busy[c] : busy;
    key(j, "overlap");
    open_(j, '{');
    integer(j, "length", x->len);
    key(j, "chunks");
    open_(j, '[');
    for (int k = 0; k < x->n_chunks; k++) {
        sep(j);
        hb_printf(j->b, "[%d,%d", x->chunk[k][0], x->chunk[k][1]);
        if (x->chunk[k][2]) hb_printf(j->b, ",%d", x->chunk[k][2]);
        hb_putc(j->b, ']');
    }
    close_(j, ']');
    real(j, "ms", x->total * 1e3);
    real(j, "compute_ms", busy * 1e3);
    real(j, "transfer_ms", x->transfer * 1e3);
    real(j, "hidden_ms", syn_pair_hidden(p, x) * x->transfer * 1e3);
    real(j, "sequential_ms", x->sequential * 1e3);
    close_(j, '}');
}

static void put_instructions(js *j, hb_arena *a, const emit_plan *e, const emit_lines *where)
{
    const syn_program *p = e->p;
    key(j, "instructions");
    open_(j, '[');
    const syn_pair *x = p->pairs.p, *end = x + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        sep(j);
        hb_putc(j->b, '\n');
        open_(j, '{');
        if (where) integer(j, "line", where->line[i]);
        text(j, "call", emit_instr_name(a, p, i));
        text(j, "node", p->g->nodes.p[in->node].name);
        if (in->kind == SYN_WAIT) {
            integer(j, "start", in->start);
        } else {
            ids(j, "out", in->out, in->n_out);
            ids(j, "in", in->in, in->n_in);
            reals(j, "ms", in->sec, in->kind == SYN_START ? 1 : p->mesh->n_classes, 1e3);
        }
        if (in->kind == SYN_START) {
            text(j, "form", hb_str_c(a, cost_form_name(in->form).s));
            integer(j, "axes", in->axes);
            real(j, "bytes", emit_coll_bytes(p, in));
        }
        if (x < end && i == x->first) put_overlap(j, p, x++);
        close_(j, '}');
    }
    close_(j, ']');
}

// Milliseconds that a tenth more of each resource would save.
static void put_what_if(js *j, const emit_plan *e)
{
    static const char *const names[] = {"compute", "memory", "link"};
    key(j, "what_if");
    open_(j, '[');
    for (int i = 0; i < e->res->n_what_if; i++) {
        const struct syn_what_if *w = &e->res->what_if[i];
        sep(j);
        open_(j, '{');
        text(j, "resource", hb_str_c(j->b->arena, names[w->what]));
        if (w->cls >= 0) text(j, "class", e->p->cluster->cls[w->cls].name);
        if (w->axis >= 0) integer(j, "axis", w->axis);
        real(j, "ms", w->gain_sec * 1e3);
        text(j, "by", w->what == SYN_MEMORY ? HB_STR("prices") : HB_STR("simulator"));
        close_(j, '}');
    }
    close_(j, ']');
}

// What was asked for: files, batch, precision, strategy, pins.
static void put_request(js *j, hb_arena *a, const emit_plan *e, const emit_lines *where)
{
    const syn_program *p = e->p;
    text(j, "format", HB_STR("hap.plan"));
    integer(j, "version", 1);
    text(j, "producer", hb_fmt(a, "hapc %.*s", HB_ARG(e->version)));
    text(j, "command", e->command);
    text(j, "graph", p->g->sha);
    text(j, "graph_path", e->graph_path);
    if (where) text(j, "program", where->sha);
    text(j, "cluster", p->cluster->sha);
    text(j, "cluster_path", e->cluster_path);
    text(j, "cluster_name", p->cluster->name);
    flag(j, "emulated", p->cluster->emulated);
    integer(j, "batch", p->g->batch);
    integer(j, "batch_option", e->batch);
    integer(j, "micro_batches", p->g->micro_batches > 1 ? p->g->micro_batches : 1);
    key(j, "recomputed");
    open_(j, '[');
    for (int k = 0; k < p->g->recomputed.n; k++) {
        sep(j);
        hb_printf(j->b, "%d", p->g->recomputed.p[k]);
    }
    close_(j, ']');
    text(j, "precision", hb_str_c(a, ir_precision_name(p->g->precision)));
    text(j, "grad_dtype", hb_str_c(a, ir_dtype_name(p->g->grad_dtype)));
    text(j, "strategy", p->strategy);
    text(j, "strategy_option", e->strategy);
    flag(j, "keep_grads", p->keep_grads);
    flag(j, "pairs", !e->no_pairs);
    key(j, "pins");
    open_(j, '[');
    for (int k = 0; e->pins && k < e->pins->n; k++) {
        sep(j);
        hb_put_json(j->b, e->pins->pin[k].text);
    }
    close_(j, ']');
}

// What was found: mesh, times and bounds, baselines.
static void put_verdict(js *j, const emit_plan *e)
{
    const syn_program *p = e->p;
    const syn_result *r = e->res;
    const cost_timeline *t = &r->timeline;
    key(j, "mesh");
    open_(j, '[');
    for (int x = 0; x < p->mesh->n_axes; x++) {
        sep(j);
        hb_printf(j->b, "%d", p->mesh->size[x]);
    }
    close_(j, ']');
    integer(j, "n_ranks", p->mesh->n_ranks);
    real(j, "predicted_ms", t->total * 1e3);
    real(j, "peak_ms", syn_peak_seconds(p) * 1e3);
    real(j, "communication_ms", t->comm * 1e3);
    real(j, "hidden_ms", t->hidden * 1e3);
    if (r->additive_sec >= 0) real(j, "additive_ms", r->additive_sec * 1e3);
    if (r->additive_bound_sec >= 0) real(j, "additive_bound_ms", r->additive_bound_sec * 1e3);
    if (r->additive_sec >= 0 && r->additive_bound_sec > 0)
        real(j, "gap", r->additive_sec / r->additive_bound_sec - 1);
    if (r->lower_bound_sec >= 0) real(j, "lower_bound_ms", r->lower_bound_sec * 1e3);
    integer(j, "sym_bytes", p->sym_bytes);
    put_what_if(j, e);
    key(j, "baselines");
    open_(j, '{');
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        if (r->baseline_sec[s] >= 0) {
            real(j, syn_strategy_name((syn_strategy)s), r->baseline_sec[s] * 1e3);
        } else {
            key(j, syn_strategy_name((syn_strategy)s));
            hb_puts(j->b, "null");
        }
    }
    close_(j, '}');
    hb_putc(j->b, '\n');
}

void emit_plan_json(hb_buf *out, const emit_plan *e, const emit_lines *where)
{
    hb_arena *a = out->arena;
    js j = {out, true};
    open_(&j, '{');
    put_request(&j, a, e, where);
    put_verdict(&j, e);
    put_classes(&j, e);
    put_ranks(&j, a, e);
    put_cuts(&j, a, e);
    put_tensors(&j, a, e, where);
    put_instructions(&j, a, e, where);
    close_(&j, '}');
    hb_putc(out, '\n');
}
