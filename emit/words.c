#include "emit/words.h"
#include "ir/base/plain.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "synth/plan/search_limits.h"

// Three significant figures, no exponent.
static hb_str figures(hb_arena *a, double x)
{
    int digits = x > 0 ? 2 - (int)floor(log10(x) + 1e-9) : 0;
    return hb_fmt(a, "%.*f", digits < 0 ? 0 : digits > 9 ? 9 : digits, x);
}

hb_str say_sec(hb_arena *a, double sec)
{
    if (sec >= 0.9995) return hb_fmt(a, "%.*s s", HB_ARG(figures(a, sec)));
    if (sec >= 0.9995e-3 || sec <= 0)
        return hb_fmt(a, "%.*s ms", HB_ARG(figures(a, sec > 0 ? sec * 1e3 : 0)));
    return hb_fmt(a, "%.*s us", HB_ARG(figures(a, sec * 1e6)));
}

hb_str say_percent(hb_arena *a, double share)
{
    double x = share * 100;
    if (x <= 0) return HB_STR("0 %");
    if (x < 0.1) return HB_STR("under 0.1 %");
    return hb_fmt(a, x < 9.95 ? "%.1f %%" : "%.0f %%", x);
}

hb_str say_times(hb_arena *a, double ratio)
{
    return hb_fmt(a, ratio < 1.995 ? "%.2f x" : ratio < 19.95 ? "%.1f x" : "%.0f x", ratio);
}

hb_str say_count(hb_arena *a, int64_t n)
{
    hb_str digits = hb_fmt(a, "%lld", (long long)n);
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < digits.n; i++) {
        if (i > 0 && (digits.n - i) % 3 == 0) hb_putc(&b, ',');
        hb_putc(&b, digits.p[i]);
    }
    return hb_done(&b);
}

hb_str say_things(hb_arena *a, int64_t n, const char *thing)
{
    size_t last = strlen(thing) - 1;
    const char *more = thing[last] == 'h' ? "es" : "s"; // micro-batches
    return hb_fmt(a, "%.*s %s%s", HB_ARG(say_count(a, n)), thing, n == 1 ? "" : more);
}

hb_str say_list(hb_arena *a, const hb_str *item, int n)
{
    hb_buf b = {.arena = a};
    for (int i = 0; i < n; i++)
        hb_printf(&b, "%s%.*s", i == 0 ? "" : i + 1 == n ? " and " : ", ", HB_ARG(item[i]));
    return hb_done(&b);
}

hb_str say_open(hb_arena *a, const syn_result *r)
{
    static const char *const what[SYN_GAP_PARTS] = {
        [SYN_GAP_SEARCH] = "by a search that was not exact",
        [SYN_GAP_PRICES] = "by prices on memory that were not found",
        [SYN_GAP_CHOICES] = "by choices that no prices lead to, as where equal layers would differ",
        [SYN_GAP_UNCOUNTED] =
            "by memory that plans take and the bound does not count (both ends of "
            "a collective, padded copies, gaps between buffers)"};
    double bound = r->additive_bound_sec, best = r->additive_sec, part[SYN_GAP_PARTS];
    if (best < 0 || bound <= 0 || best <= bound * (1 + SYN_BOUND_WIDE)) return HB_STR("");
    syn_gap_parts(&r->additive_levels, bound, best, part);
    hb_str item[SYN_GAP_PARTS];
    int n = 0;
    for (int i = 0; i < SYN_GAP_PARTS; i++) {
        if (part[i] / bound < SYN_GAP_SAID) continue;
        item[n++] = hb_fmt(a, "%s %s", say_percent(a, part[i] / bound).p, what[i]);
    }
    hb_str all = say_list(a, item, n);
    return hb_fmt(a,
                  "Above the bound: %.*s. Nothing is proved of other cuts, meshes, micro-batches "
                  "and blocks computed again: the best of them were simulated.",
                  HB_ARG(all));
}

hb_str say_name(hb_arena *a, hb_str name)
{
    return hb_plain(a, name);
}

// --- what is cut ---

static hb_str class_word(const ir_class *c)
{
    static const struct {
        char letter;
        const char *word;
    } words[] = {{'t', "positions"},
                 {'s', "key positions"},
                 {'h', "heads"},
                 {'g', "query groups"},
                 {'r', "heads of a query group"},
                 {'v', "vocabulary"},
                 {'e', "head width"},
                 {'d', "head width"}};
    if (c->batch) return HB_STR("samples");
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (c->letter[0] == words[i].letter && (c->letter[0] != 'v' || c->letter[1] == 0))
            return (hb_str){words[i].word, strlen(words[i].word)};
    return (hb_str){"", 0};
}

static void find_cut_words(wording *w)
{
    const syn_program *p = w->p;
    w->cut_by = HB_ARRAY(w->a, hb_str, p->f->n_classes + 1);
    for (int c = 0; c < p->f->n_classes; c++)
        w->cut_by[c] = class_word(&p->f->cls[c]);
    for (int i = 0; i < p->g->nodes.n; i++) {
        const ir_node *n = &p->g->nodes.p[i];
        if (n->op != IR_OP_dispatch) continue;
        const ir_dim_factors *experts = &p->f->dim[n->out[0]][0];
        if (experts->n == 1) w->cut_by[experts->cls[0]] = HB_STR("experts");
    }
}

// What one axis cuts of an instruction's computing.
static hb_str cut_of_instr(const wording *w, const syn_instr *in, int axis)
{
    bool partial = false;
    for (int k = 0; k < in->n_out + in->n_in; k++) {
        const syn_tensor *t = &w->p->tensors.p[k < in->n_out ? in->out[k] : in->in[k - in->n_out]];
        const syn_axis_state *s = &t->state.ax[axis];
        if (t->value < 0) continue;
        if (s->kind == SYN_S) {
            hb_str word = w->cut_by[w->p->f->dim[t->value][s->dim].cls[s->pos]];
            return word.n ? word : HB_STR("features");
        }
        partial = partial || s->kind == SYN_P;
    }
    return partial ? HB_STR("parts of sums") : HB_STR("repeated");
}

static void find_shares(wording *w)
{
    enum { MOST = 64 };
    const step_times *t = w->t;
    double total = 0;
    w->share = hb_alloc(w->a, sizeof *w->share * MOST);
    for (int i = 0; i < t->n_spans[t->busiest]; i++) {
        const step_span *s = &t->span[t->busiest][i];
        hb_str by[SYN_MAX_AXES] = {{"", 0}, {"", 0}};
        for (int x = 0; x < w->p->mesh->n_axes; x++)
            by[x] = cut_of_instr(w, &w->p->instr.p[s->instr], x);
        int k = 0;
        while (k < w->n_shares &&
               !(hb_str_eq(w->share[k].by[0], by[0]) && hb_str_eq(w->share[k].by[1], by[1])))
            k++;
        if (k == MOST) continue;
        if (k == w->n_shares) memcpy(w->share[w->n_shares++].by, by, sizeof by);
        w->share[k].share += s->end - s->begin;
        total += s->end - s->begin;
    }
    for (int k = 0; k < w->n_shares; k++) {
        w->share[k].share /= total;
        bool all = true;
        for (int x = 0; x < w->p->mesh->n_axes; x++)
            all = all && hb_str_is(w->share[k].by[x], "repeated");
        if (all)
            w->repeated = w->share[k].share;
        else if (w->p->mesh->n_axes == 2 && hb_str_is(w->share[k].by[0], "repeated"))
            w->same_inside += w->share[k].share;
        for (int i = k; i > 0 && w->share[i].share > w->share[i - 1].share; i--) {
            hb_str by[SYN_MAX_AXES];
            double share = w->share[i].share;
            memcpy(by, w->share[i].by, sizeof by);
            w->share[i] = w->share[i - 1];
            memcpy(w->share[i - 1].by, by, sizeof by);
            w->share[i - 1].share = share;
        }
    }
}

wording *wording_of(hb_arena *a, const emit_plan *e, const step_times *t)
{
    const syn_program *p = e->p;
    wording *w = HB_NEW(a, wording);
    *w = (wording){.a = a, .e = e, .p = p, .t = t, .device = "GPU"};
    for (int c = 0; c < p->cluster->n_classes; c++)
        if (p->cluster->cls[c].kind != CL_GPU) w->device = "device";
    w->n_of = HB_ARRAY(a, int, p->mesh->n_classes + 1);
    for (int r = 0; r < p->mesh->n_ranks; r++)
        w->n_of[p->mesh->class_of[r]]++;
    w->table = emit_table_names(a, p);
    find_cut_words(w);
    find_shares(w);
    return w;
}

hb_str words_both(const wording *w, const hb_str *by)
{
    if (by[1].n == 0 || hb_str_eq(by[0], by[1])) return by[0];
    if (hb_str_is(by[0], "repeated"))
        return hb_fmt(w->a, "%.*s inside each machine", HB_ARG(by[1]));
    if (hb_str_is(by[1], "repeated")) return hb_fmt(w->a, "%.*s across machines", HB_ARG(by[0]));
    return hb_fmt(w->a, "%.*s across machines with %.*s inside them", HB_ARG(by[0]), HB_ARG(by[1]));
}

// --- states ---

// Class of the devices at a coordinate of an axis; -1: of several.
static int class_at(const syn_mesh *m, int axis, int coord)
{
    if (m->n_axes == 1 || axis == SYN_BOTH) return m->class_of[coord];
    int cls = -2;
    for (int r = 0; r < m->n_ranks; r++) {
        int at = axis == 0 ? r / m->size[1] : r % m->size[1];
        if (at != coord) continue;
        cls = cls == -2 || cls == m->class_of[r] ? m->class_of[r] : -1;
    }
    return cls;
}

int cut_runs(const wording *w, int cut, part_run *run)
{
    const syn_cut *k = &w->p->mesh->cuts.p[cut];
    int n = 0;
    for (int i = 0; i < k->n; i++) {
        int cls = class_at(w->p->mesh, k->axis, i);
        if (n > 0 && run[n - 1].cls == cls && run[n - 1].entries == k->table[i])
            run[n - 1].count++;
        else
            run[n++] = (part_run){cls, k->table[i], 1};
    }
    return n;
}

// "5 / 4 / 2 / 1", "4 equal parts of 3,072", "A100 5, V100 2 each".
static hb_str say_table(const wording *w, int cut)
{
    enum { FEW = 8, EQUAL_FROM = 100, RUNS = 6 };
    hb_arena *a = w->a;
    const syn_cut *k = &w->p->mesh->cuts.p[cut];
    int64_t least = k->table[0], most = k->table[0];
    for (int i = 1; i < k->n; i++) {
        least = k->table[i] < least ? k->table[i] : least;
        most = k->table[i] > most ? k->table[i] : most;
    }
    if (most == least || (most - least == 1 && least >= EQUAL_FROM))
        return hb_fmt(a, "%d equal parts of %.*s", k->n, HB_ARG(say_count(a, most)));
    hb_buf b = {.arena = a};
    for (int i = 0; k->n <= FEW && i < k->n; i++)
        hb_printf(&b, "%s%.*s", i ? " / " : "", HB_ARG(say_count(a, k->table[i])));
    if (k->n <= FEW) return hb_done(&b);
    part_run *run = HB_ARRAY(a, part_run, k->n);
    int n = cut_runs(w, cut, run);
    if (n > RUNS)
        return hb_fmt(a, "%d parts of %.*s to %.*s", k->n, HB_ARG(say_count(a, least)),
                      HB_ARG(say_count(a, most)));
    for (int i = 0; i < n; i++)
        hb_printf(&b, "%s%d x %.*s", i ? ", " : "", run[i].count,
                  HB_ARG(say_count(a, run[i].entries)));
    return hb_done(&b);
}

static const char *where_words(const wording *w, int axis)
{
    if (w->p->mesh->n_axes == 1) return "";
    return axis == SYN_BOTH ? " across all devices"
           : axis == 0      ? " across machines"
                            : " inside each machine";
}

hb_str say_state(const wording *w, int tensor, const syn_state *s)
{
    const syn_mesh *m = w->p->mesh;
    hb_buf b = {.arena = w->a};
    bool whole = true, joint = syn_joint(m, s);
    for (int x = 0; x < m->n_axes; x++)
        whole = whole && s->ax[x].kind == SYN_R;
    if (whole) return HB_STR("whole on every device");
    for (int x = 0; x < m->n_axes; x++) {
        const syn_axis_state *k = &s->ax[x];
        if (joint && x == 0) continue;
        if (b.n > 0) hb_puts(&b, "; ");
        const char *where = where_words(w, joint ? SYN_BOTH : x);
        if (k->kind == SYN_S) {
            hb_str by = w->cut_by[w->p->f->dim[tensor][k->dim].cls[k->pos]];
            if (by.n)
                hb_printf(&b, "cut by %.*s%s: ", HB_ARG(by), where);
            else
                hb_printf(&b, "cut along its %.*s%s: ",
                          HB_ARG(say_count(w->a, w->p->g->tensors.p[tensor].dim[k->dim])), where);
            hb_str table = say_table(w, k->cut);
            hb_putn(&b, table.p, table.n);
        } else if (k->kind == SYN_P) {
            hb_printf(&b, "partial%s: every device holds %s", where,
                      k->reducer == 'm' ? "its own maximum" : "a part of the sum");
        } else {
            hb_printf(&b, "the same%s", where);
        }
    }
    return hb_done(&b);
}

double words_peak_flops(const ir_graph *g, const cl_class *k)
{
    double fast = g->precision == IR_PRECISION_BF16   ? k->bf16
                  : g->precision == IR_PRECISION_TF32 ? k->tf32
                                                      : k->f32;
    return fast > 0 ? fast : k->f32;
}

hb_str say_cut_short(void)
{
    return HB_STR("The search reached its limit of work: not all micro-batches, recomputation and "
                  "sets of devices that may be faster were tried. --effort 10 tries more.");
}

hb_str say_not_run(void)
{
    return HB_STR("The certificate is of the calls alone: sizes cannot be made small, so values "
                  "were not run modulo 2^61-1.");
}

hb_str say_rate(hb_arena *a, double rate, const char *unit)
{
    static const struct {
        double size;
        const char *prefix;
    } scale[] = {{1e15, "P"}, {1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1, ""}};
    int k = 0;
    while (rate < scale[k].size && scale[k].size > 1)
        k++;
    return hb_fmt(a, "%.3g %s%s", rate / scale[k].size, scale[k].prefix, unit);
}

const char *words_not_in(const ir_graph *g, const cl_class *k)
{
    if (g->precision == IR_PRECISION_BF16 && !(k->bf16 > 0)) return "bf16";
    if (g->precision == IR_PRECISION_TF32 && !(k->tf32 > 0)) return "tf32";
    return NULL;
}

// The network between machines, if none of the class's is one of the plan's; else 0.
static double network_to(hb_arena *a, const syn_program *p, int cls)
{
    const cl_cluster *c = p->cluster;
    bool *used = HB_ARRAY(a, bool, c->n_machines + 1);
    for (int r = 0; r < p->mesh->n_ranks; r++)
        used[c->machine_of[p->mesh->cluster_rank[r]]] = true;
    for (int r = 0; r < c->n_ranks; r++)
        if (c->class_of[r] == cls && used[c->machine_of[r]]) return 0;
    return c->n_machines > 1 ? c->network_bandwidth : 0;
}

hb_str words_unused(hb_arena *a, const syn_program *p, int cls)
{
    const double MUCH = 0.8; // of the fastest device's speed
    const cl_cluster *c = p->cluster;
    const cl_class *own = &c->cls[cls], *best = NULL;
    for (int k = 0; k < p->mesh->n_classes; k++) {
        const cl_class *x = &c->cls[p->mesh->cluster_class[k]];
        if (!best || words_peak_flops(p->g, x) > words_peak_flops(p->g, best)) best = x;
    }
    double mine = words_peak_flops(p->g, own), theirs = words_peak_flops(p->g, best);
    double network = network_to(a, p, cls);
    const char *lacks = words_not_in(p->g, own);
    hb_buf b = {.arena = a};
    if (mine < MUCH * theirs) {
        hb_printf(&b, "computes at %.*s", HB_ARG(say_rate(a, mine, "FLOP/s")));
        if (lacks) hb_printf(&b, " (it has no %s)", lacks);
        hb_printf(&b, ", %.*s at %.*s", HB_ARG(say_name(a, best->name)),
                  HB_ARG(say_rate(a, theirs, "FLOP/s")));
    }
    if (network > 0)
        hb_printf(&b, "%s a network of %.*s", b.n ? ", and is joined by" : "is joined by",
                  HB_ARG(say_rate(a, network, "B/s")));
    return b.n ? hb_done(&b) : HB_STR("");
}

hb_str say_op(hb_arena *a, const syn_program *p, int instr)
{
    static const struct {
        const char *call, *word;
    } words[] = {{"linear", "matrix multiply"},
                 {"matmul", "matrix multiply"},
                 {"linear_dw", "weight gradient"},
                 {"sdpa", "attention"},
                 {"sdpa_bwd", "attention, backward"},
                 {"norm_apply", "normalize"},
                 {"row_m2", "normalize: variance"},
                 {"norm_bwd", "normalize, backward"},
                 {"norm_bwd_stats", "normalize, backward: sums"},
                 {"norm_bwd_params", "normalize: parameter gradients"},
                 {"adam", "optimizer"},
                 {"sgd", "optimizer"},
                 {"momentum", "optimizer"},
                 {"sumsq", "gradient norm"},
                 {"embedding_bwd", "embedding gradient"},
                 {"gather_bwd", "gather, backward"},
                 {"ce_bwd", "loss, backward"},
                 {"dispatch", "dispatch to experts"},
                 {"combine", "combine from experts"},
                 {"hap_cut", "take own part (copy)"},
                 {"hap_partial", "begin a partial sum"},
                 {"all_gather", "all-gather"},
                 {"reduce_scatter", "reduce-scatter"},
                 {"all_reduce", "all-reduce"},
                 {"all_reduce_max", "all-reduce of a maximum"},
                 {"all_to_all", "all-to-all"},
                 {"reshard", "reshard"}};
    hb_str call = emit_instr_name(a, p, instr);
    if (p->instr.p[instr].kind == SYN_START)
        call = hb_str_n(a, call.p + strlen("coll_"), call.n - strlen("coll__start"));
    else if (p->instr.p[instr].kind == SYN_OP)
        call = hb_str_n(a, call.p + strlen("op_"), call.n - strlen("op_"));
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (hb_str_is(call, words[i].call)) return (hb_str){words[i].word, strlen(words[i].word)};
    hb_buf b = {.arena = a};
    for (size_t i = 0; i < call.n; i++)
        hb_putc(&b, call.p[i] == '_' ? ' ' : call.p[i]);
    return hb_done(&b);
}
