// The lists of plan.json: classes, cuts, factors, tensors, instructions; of stages one behind the
// other.

#include "emit/plan_lists.h"

#include <string.h>

#include "emit/memory_kinds.h"
#include "emit/page.h"
#include "ir/base/plain.h"
#include "synth/price/pair_cost.h"

void emit_put_rank(js *j, const cl_cluster *c, int r, int rank)
{
    const cl_machine *m = &c->machine[c->machine_of[r]];
    js_integer(j, "rank", rank);
    js_integer(j, "cluster_rank", r);
    js_text(j, "device", c->cls[c->class_of[r]].name);
    js_text(j, "machine", m->name);
    js_text(j, "host", m->host);
    js_flag(j, "dropped", rank < 0);
}

static void put_class_memory(js *j, const plan_part *x, int c)
{
    memory_kinds m = memory_kinds_of(j->b->arena, x->e, x->t, c);
    js_key(j, "memory");
    js_open(j, '{');
    for (int k = 0; k < MEM_N_KINDS; k++)
        js_real(j, memory_kind_name[k], m.peak[k]);
    js_real(j, "gaps", m.gaps);
    js_real(j, "peak_at_ms", m.peak_sec * 1e3);
    js_key(j, "over_step");
    js_open(j, '[');
    for (int b = 0; b < MEM_N_BINS && x->stage < 0; b++) {
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

static void put_classes(js *j, const plan_part *x)
{
    const emit_plan *e = x->e;
    const wording *w = x->w;
    const syn_program *p = e->p;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        js_sep(j);
        js_open(j, '{');
        js_text(j, "name", k->name);
        if (x->stage >= 0) js_integer(j, "stage", x->stage);
        js_integer(j, "capacity_bytes", k->capacity);
        js_integer(j, "reserve_bytes", k->reserve);
        js_integer(j, "peak_bytes", p->peak_bytes[c]);
        js_integer(j, "padded_bytes", p->padded_bytes[c]);
        js_integer(j, "work_bytes", p->work_bytes[c]);
        js_integer(j, "local_bytes", p->local_bytes[c]);
        const class_times *t = &w->t->of[c];
        bool whole = x->stage < 0;
        js_real(j, "compute_ms", (whole ? e->res->timeline.busy[c] : t->compute) * 1e3);
        js_real(j, "idle_ms",
                (whole ? e->res->timeline.stalled[c] : t->exposed + t->waiting) * 1e3);
        js_integer(j, "count", w->n_of[c]);
        js_real(j, "flops", words_peak_flops(p->g, k));
        js_integer(j, "memory_bytes", k->memory);
        js_real(j, "memory_bandwidth", k->memory_bandwidth);
        if (k->slowdown > 0 && k->slowdown != 1) js_real(j, "slowdown", k->slowdown);
        put_class_times(j, &w->t->of[c]);
        put_class_memory(j, x, c);
        js_flag(j, "emulated", k->emulated);
        js_flag(j, "plan_only", k->plan_only);
        if (k->arch > 0) js_integer(j, "arch", k->arch);
        js_close(j, '}');
    }
}

void emit_put_machines(js *j, const cl_cluster *c)
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

static void put_cuts(js *j, const plan_part *x)
{
    const syn_mesh *m = x->p->mesh;
    const wording *w = x->w;
    for (int c = 0; c < m->cuts.n; c++) {
        js_sep(j);
        js_open(j, '{');
        js_text(j, "table", w->table[c]);
        if (x->stage >= 0) js_integer(j, "stage", x->stage);
        js_text(j, "from", m->cuts.p[c].name);
        js_integer(j, "axis", m->cuts.p[c].axis);
        js_integer(j, "size", m->cuts.p[c].size);
        js_int64s(j, "entries", m->cuts.p[c].table, m->cuts.p[c].n);
        put_cut_words(j, w, c);
        js_close(j, '}');
    }
}

// All factors that may be cut: what states of other plans of this graph are said by.
static void put_factors(js *j, const plan_part *x)
{
    const wording *w = x->w;
    const ir_factors *f = x->p->f;
    for (int c = 0; c < f->n_classes; c++) {
        if (f->cls[c].whole) continue;
        js_sep(j);
        js_open(j, '{');
        js_text(j, "letter", hb_str_c(w->a, f->cls[c].letter));
        js_integer(j, "size", f->cls[c].size);
        js_text(j, "word", w->cut_by[c]);
        if (x->stage >= 0) js_integer(j, "stage", x->stage);
        js_close(j, '}');
    }
}

// Of a list by class of the part, one by class of all parts.
static void put_by_class(js *j, const char *key, const plan_parts *all, const plan_part *x,
                         const int64_t *v)
{
    int64_t *of = HB_ARRAY(x->w->a, int64_t, all->n_classes + 1);
    memcpy(of + x->first_class, v, sizeof *v * (size_t)x->p->mesh->n_classes);
    js_int64s(j, key, of, all->n_classes);
}

// As milliseconds; one: of a collective.
static void put_seconds(js *j, const char *key, const plan_parts *all, const plan_part *x,
                        const double *v, bool one)
{
    if (one) {
        js_reals(j, key, v, 1, 1e3);
        return;
    }
    double *of = HB_ARRAY(x->w->a, double, all->n_classes + 1);
    memcpy(of + x->first_class, v, sizeof *v * (size_t)x->p->mesh->n_classes);
    js_reals(j, key, of, all->n_classes, 1e3);
}

static void put_tensors(js *j, const plan_parts *all, const plan_part *x)
{
    static const char *const roles[] = {"value", "home", "input", "const", "scratch"};
    const syn_program *p = x->p;
    const emit_lines *where = x->where;
    hb_arena *a = x->w->a;
    hb_str *names = emit_names(a, p);
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        js_sep(j);
        hb_putc(j->b, '\n');
        js_open(j, '{');
        js_text(j, "id", names[i]);
        if (where) js_text(j, "c", where->expr[i]);
        if (x->stage >= 0) js_integer(j, "stage", x->stage);
        js_text(j, "role", hb_str_c(a, roles[t->role]));
        if (t->value >= 0) {
            const ir_tensor *g = &p->g->tensors.p[t->value];
            hb_buf s = {.arena = a};
            syn_state_print(&s, p->mesh, p->f, t->value, &t->state);
            js_text(j, "name", g->name);
            js_int64s(j, "shape", g->dim, g->rank);
            js_text(j, "state", hb_done(&s));
            int cut[SYN_MAX_AXES];
            for (int k = 0; k < p->mesh->n_axes; k++)
                cut[k] = t->state.ax[k].kind == SYN_S ? x->first_cut + t->state.ax[k].cut : -1;
            js_ints(j, "cuts", cut, p->mesh->n_axes);
        }
        js_text(j, "dtype", hb_str_c(a, ir_dtype_name(t->dtype)));
        js_text(j, "segment", t->sym ? HB_STR("sym") : HB_STR("local"));
        put_by_class(j, "bytes", all, x, t->bytes);
        put_by_class(j, "offset", all, x, t->off);
        js_close(j, '}');
    }
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
    js_flag(j, "stores", x->how & SYN_TILE_STORES);
    js_flag(j, "parts", x->how & SYN_TILE_PARTS);
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
static void put_when(js *j, const plan_parts *all, const plan_part *x, int i)
{
    static const char *const phases[] = {"forward", "backward", "update"};
    const syn_program *p = x->p;
    const cost_timeline *line = &x->e->res->timeline;
    int n = p->mesh->n_classes, block;
    bool sends = p->instr.p[i].kind == SYN_START;
    js_text(j, "phase", hb_str_c(j->b->arena, phases[step_phase(p, i)]));
    (void)page_block(p->g->nodes.p[p->instr.p[i].node].name, &block);
    if (block >= 0) js_integer(j, "block", block);
    if (p->instr.p[i].kind == SYN_WAIT) return;
    put_seconds(j, "begin_ms", all, x, line->begin + i * n, sends);
    put_seconds(j, "end_ms", all, x, line->end + i * n, sends);
    if (sends) js_real(j, "exposed_ms", x->t->exposed[i] * 1e3);
    if (sends && p->instr.p[i].scratch >= 0)
        js_integer(j, "scratch", x->first_tensor + p->instr.p[i].scratch);
}

static void put_buffers(js *j, const char *key, const plan_part *x, const int *v, int n)
{
    int *of = HB_ARRAY(x->w->a, int, n + 1);
    for (int i = 0; i < n; i++)
        of[i] = x->first_tensor + v[i];
    js_ints(j, key, of, n);
}

static void put_instructions(js *j, const plan_parts *all, const plan_part *x)
{
    const syn_program *p = x->p;
    const emit_lines *where = x->where;
    hb_arena *a = x->w->a;
    const syn_pair *pair = p->pairs.p, *end = pair + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        js_sep(j);
        hb_putc(j->b, '\n');
        js_open(j, '{');
        if (where) js_integer(j, "line", where->line[i]);
        js_text(j, "call", emit_instr_name(a, p, i));
        js_text(j, "node", p->g->nodes.p[in->node].name);
        if (x->stage >= 0) js_integer(j, "stage", x->stage);
        if (in->kind == SYN_WAIT) {
            js_integer(j, "start", x->first_instr + in->start);
        } else {
            put_buffers(j, "out", x, in->out, in->n_out);
            put_buffers(j, "in", x, in->in, in->n_in);
            put_seconds(j, "ms", all, x, in->sec, in->kind == SYN_START);
        }
        if (in->kind == SYN_START) {
            js_text(j, "form", hb_str_c(a, cost_form_name(in->form).s));
            js_integer(j, "axes", in->axes);
            js_real(j, "bytes", emit_coll_bytes(p, in));
        }
        if (syn_instr_slots(p, in) > 1) js_integer(j, "times", syn_instr_slots(p, in));
        put_when(j, all, x, i);
        if (pair < end && i == pair->first) put_overlap(j, p, pair++);
        js_close(j, '}');
    }
}

void emit_put_lists(js *j, const plan_parts *all)
{
    static const char *const keys[] = {"classes", "cuts", "factors", "tensors", "instructions"};
    for (int k = 0; k < 5; k++) {
        js_key(j, keys[k]);
        js_open(j, '[');
        for (int i = 0; i < all->n; i++) {
            const plan_part *x = &all->part[i];
            if (k == 0) put_classes(j, x);
            if (k == 1) put_cuts(j, x);
            if (k == 2) put_factors(j, x);
            if (k == 3) put_tensors(j, all, x);
            if (k == 4) put_instructions(j, all, x);
        }
        js_close(j, ']');
    }
}

void emit_put_pins(js *j, const syn_pins *pins)
{
    js_key(j, "pins");
    js_open(j, '[');
    for (int k = 0; pins && k < pins->n; k++) {
        js_sep(j);
        hb_put_json(j->b, pins->pin[k].text);
    }
    js_close(j, ']');
}

void emit_put_verdict(js *j, const verdict *v)
{
    js_key(j, "verdict");
    js_open(j, '{');
    js_text(j, "decided", v->decided);
    js_text(j, "brings", v->brings);
    js_text(j, "limits", v->limits);
    js_close(j, '}');
}
