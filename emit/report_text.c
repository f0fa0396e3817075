// report.txt, and `hapc … --full`: the verdict, then every table behind it.

#include "emit/words.h"
#include "synth/passes/workspace.h"
#include "synth/price/pair_cost.h"
#include "synth/search/blocks.h"

#include <stdlib.h>
#include <string.h>

static const char *ms(hb_arena *a, double sec)
{
    return hb_fmt(a, sec < 1 ? "%.3g" : "%.0f", sec * 1e3).p;
}

// More of a resource that binds brings this share of the step or more.
static const double BINDS = 5e-3;

static hb_str resource_name(hb_arena *a, const syn_mesh *m, const struct syn_what_if *w)
{
    if (w->what == SYN_LINK)
        return m->n_axes == 1 ? HB_STR("links")
                              : hb_fmt(a, "links %s machines", w->axis == 0 ? "between" : "inside");
    return w->what == SYN_MEMORY ? HB_STR("memory") : HB_STR("compute");
}

// What holds a class up; links hold up all.
static void put_binds(hb_buf *out, const emit_plan *e, int cls)
{
    const syn_result *r = e->res;
    int n = 0;
    for (int i = 0; i < r->n_what_if; i++) {
        const struct syn_what_if *w = &r->what_if[i];
        if ((w->what != SYN_LINK && w->cls != cls) || w->gain_sec < BINDS * r->predicted_sec)
            continue;
        hb_printf(out, "%s%.*s",
                  n++ ? ", " : "  binds: ", HB_ARG(resource_name(out->arena, e->p->mesh, w)));
    }
}

static void put_what_if(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    const syn_result *r = e->res;
    if (r->n_what_if == 0) return;
    hb_puts(out,
            "\nWhat 10 % more would bring (ms of the step; memory: by the prices of the additive "
            "bound, else this plan simulated again)\n");
    for (int i = 0; i < (SYN_LINK + 1) * r->n_what_if; i++) {
        const struct syn_what_if *w = &r->what_if[i % r->n_what_if];
        if ((int)w->what != i / r->n_what_if) continue;
        hb_str name = resource_name(a, e->p->mesh, w);
        if (w->cls >= 0)
            name = hb_fmt(a, "%.*s of %.*s", HB_ARG(name), HB_ARG(e->p->cluster->cls[w->cls].name));
        double gain = w->gain_sec > 0 ? w->gain_sec : 0;
        hb_printf(out, "  %-30.*s %8s ms %5.1f %%\n", HB_ARG(name), ms(a, gain),
                  100 * gain / r->predicted_sec);
    }
}

// What the report says about one rank of the cluster; r: its rank of the mesh, -1 dropped.
static hb_str device_text(hb_arena *a, const emit_plan *e, const cl_class *k, int r, double ratio)
{
    const syn_program *p = e->p;
    const cost_timeline *t = &e->res->timeline;
    hb_buf out = {.arena = a};
    hb_printf(&out, "  %-16.*s", HB_ARG(k->name));
    if (r < 0) {
        hb_puts(&out, "  unused: faster without it");
        return hb_done(&out);
    }
    int c = p->mesh->class_of[r];
    hb_str used = emit_bytes(a, (double)p->peak_bytes[c]);
    hb_str left =
        emit_bytes(a, (double)(k->capacity - p->peak_bytes[c] - syn_workspace_bytes(p, c)));
    hb_printf(&out, "  %5.3f  %8s %8s  %10.*s  %11.*s", ratio, ms(a, t->busy[c]),
              ms(a, t->stalled[c]), HB_ARG(used), HB_ARG(left));
    put_binds(&out, e, p->mesh->cluster_class[c]);
    if (k->emulated) hb_puts(&out, "  emulated");
    if (k->plan_only) hb_puts(&out, "  plan only: not for the installed CUDA");
    return hb_done(&out);
}

// Memory of classes that hold more than their arena.
static void put_memory(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    for (int c = 0; c < p->mesh->n_classes; c++) {
        const cl_class *k = &p->cluster->cls[p->mesh->cluster_class[c]];
        if (syn_workspace_bytes(p, c) == 0) continue;
        hb_printf(out,
                  "  memory of %.*s: arena %.*s + padded copies %.*s + workspace %.*s + reserve "
                  "%.*s of %.*s\n",
                  HB_ARG(k->name), HB_ARG(emit_bytes(a, (double)p->peak_bytes[c])),
                  HB_ARG(emit_bytes(a, (double)p->padded_bytes[c])),
                  HB_ARG(emit_bytes(a, (double)p->work_bytes[c])),
                  HB_ARG(emit_bytes(a, (double)k->reserve)),
                  HB_ARG(emit_bytes(a, (double)k->memory)));
    }
}

// A line a rank; on large clusters a line for ranks that follow each other and are alike.
static void put_devices(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    enum { LARGE = 16 };
    const syn_program *p = e->p;
    const cl_cluster *cl = p->cluster;
    double *ratio = emit_ratios(a, p);
    int *mesh_rank = HB_ARRAY(a, int, cl->n_ranks);
    for (int r = 0; r < cl->n_ranks; r++)
        mesh_rank[r] = -1;
    for (int r = 0; r < p->mesh->n_ranks; r++)
        mesh_rank[p->mesh->cluster_rank[r]] = r;
    int width = cl->n_ranks > LARGE ? 9 : 4;
    hb_printf(out, "\n%-*s                             ms of the step          memory\n",
              width + 11, "Devices");
    hb_printf(out, "  %*s  device            ratio   compute     idle        used         free\n",
              width, "rank");
    hb_str *text = HB_ARRAY(a, hb_str, cl->n_ranks);
    for (int r = 0; r < cl->n_ranks; r++) {
        int m = mesh_rank[r];
        text[r] = device_text(a, e, &cl->cls[cl->class_of[r]], m, m < 0 ? 0 : ratio[m]);
    }
    for (int r = 0, end; r < cl->n_ranks; r = end) {
        end = r + 1;
        while (cl->n_ranks > LARGE && end < cl->n_ranks && hb_str_eq(text[end], text[r]))
            end++;
        hb_str who = end > r + 1 ? hb_fmt(a, "%d-%d", r, end - 1) : hb_fmt(a, "%d", r);
        hb_printf(out, "  %*.*s%.*s\n", width, HB_ARG(who), HB_ARG(text[r]));
    }
    put_memory(out, a, e);
}

static void put_cuts(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    hb_str *names = emit_table_names(a, p);
    bool *used = HB_ARRAY(a, bool, p->mesh->cuts.n + 1);
    for (int i = 0; i < p->tensors.n; i++)
        for (int x = 0; x < p->mesh->n_axes; x++) {
            const syn_axis_state *s = &p->tensors.p[i].state.ax[x];
            if (x == 0 && syn_joint(p->mesh, &p->tensors.p[i].state)) continue;
            if (p->tensors.p[i].value >= 0 && s->kind == SYN_S) used[s->cut] = true;
        }
    bool any = false;
    for (int c = 0; c < p->mesh->cuts.n; c++) {
        const syn_cut *k = &p->mesh->cuts.p[c];
        bool again = false;
        for (int o = 0; o < c; o++)
            again = again || (used[o] && hb_str_eq(names[o], names[c]));
        if (!used[c] || again) continue;
        if (!any) hb_puts(out, "\nCuts (entries by coordinate of the axis)\n");
        any = true;
        hb_str axis = k->axis == SYN_BOTH ? HB_STR("both axes") : hb_fmt(a, "axis %d", k->axis);
        hb_printf(out, "  %-20.*s %.*s, %lld =", HB_ARG(names[c]), HB_ARG(axis),
                  (long long)k->size);
        emit_table_sum(out, k->table, k->n);
        hb_printf(out, "   (%.*s)\n", HB_ARG(k->name));
    }
}

// One line for all things that print alike.
typedef struct {
    hb_str key;
    int count, first; // tensor, or START instruction
    double bytes, sec, hidden;
} row;

typedef struct {
    hb_arena *a;
    hb_map *at;
    HB_VEC(row) rows;
} rows;

static row *row_of(rows *r, hb_str key, int first)
{
    int i = hb_map_get(r->at, key);
    if (i < 0) {
        i = r->rows.n;
        hb_map_put(r->at, key, i);
        HB_PUSH(r->a, &r->rows, (row){.key = key, .first = first});
    }
    return &r->rows.p[i];
}

static double largest_part(const syn_program *p, const syn_tensor *t)
{
    double most = 0;
    for (int c = 0; c < p->mesh->n_classes; c++)
        if ((double)t->bytes[c] > most) most = (double)t->bytes[c];
    return most;
}

static void put_tensors(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    static const struct {
        syn_role role;
        const char *title;
    } chunks[] = {{SYN_ROLE_HOME, "Parameters and their state"},
                  {SYN_ROLE_INPUT, "Inputs"},
                  {SYN_ROLE_CONST, "Constants"},
                  {SYN_ROLE_VALUE, "Values of the step"}};
    const syn_program *p = e->p;
    hb_str *names = emit_table_names(a, p);
    for (size_t g = 0; g < sizeof chunks / sizeof *chunks; g++) {
        rows r = {.a = a, .at = hb_map_new(a)};
        for (int i = 0; i < p->tensors.n; i++) {
            const syn_tensor *t = &p->tensors.p[i];
            if (t->role != chunks[g].role || t->value < 0) continue;
            hb_str key =
                hb_fmt(a, "%-50.*s %.*s", HB_ARG(emit_pattern(a, p->g->tensors.p[t->value].name)),
                       HB_ARG(emit_shape(a, p, i, names)));
            row *w = row_of(&r, key, i);
            w->count++;
            w->bytes += largest_part(p, t);
        }
        if (r.rows.n == 0) continue;
        hb_printf(
            out,
            "\n%s (number, name, shape with @cut and + for partial sums, bytes on the largest part)\n",
            chunks[g].title);
        for (int i = 0; i < r.rows.n; i++)
            hb_printf(out, "  %4d  %-84.*s %10.*s\n", r.rows.p[i].count, HB_ARG(r.rows.p[i].key),
                      HB_ARG(emit_bytes(a, r.rows.p[i].bytes)));
    }
}

// Whom a collective joins: "4 ranks", on two axes "2 machines", "2 devices", "2 x 2".
static hb_str chunk_text(hb_arena *a, const syn_mesh *m, unsigned axes)
{
    if (m->n_axes == 1) return hb_fmt(a, "%d ranks", m->n_ranks);
    if (axes == 3) return hb_fmt(a, "%d x %d", m->size[0], m->size[1]);
    return axes == 1 ? hb_fmt(a, "%d machines", m->size[0]) : hb_fmt(a, "%d devices", m->size[1]);
}

static rows collective_rows(hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    hb_str *names = emit_table_names(a, p);
    rows r = {.a = a, .at = hb_map_new(a)};
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *w = &p->instr.p[i];
        if (w->kind != SYN_WAIT) continue;
        const syn_instr *s = &p->instr.p[w->start];
        hb_str what = emit_pattern(a, p->g->tensors.p[p->tensors.p[s->in[0]].value].name);
        if (s->n_in > 1) what = hb_fmt(a, "%.*s and %d more", HB_ARG(what), s->n_in - 1);
        hb_str call = emit_instr_name(a, p, w->start); // coll_X_start
        hb_str key = hb_fmt(
            a, "%-15.*s %-9s %-12.*s %-44.*s %.*s -> %.*s", (int)call.n - 11, call.p + 5,
            cost_form_name(s->form).s, HB_ARG(chunk_text(a, p->mesh, s->axes)), HB_ARG(what),
            HB_ARG(emit_shape(a, p, s->in[0], names)), HB_ARG(emit_shape(a, p, s->out[0], names)));
        row *k = row_of(&r, key, w->start);
        k->count += syn_instr_slots(p, s);
        k->bytes += syn_instr_slots(p, s) * emit_coll_bytes(p, s);
        k->sec += s->sec[0];
        k->hidden += emit_hidden(e, w->start, i) * s->sec[0];
    }
    return r;
}

void emit_price_moves(hb_arena *a, emit_plan *e)
{
    enum { LONGEST = 8, LARGE = 1500 }; // rows; nodes
    if (e->p->g->nodes.n > LARGE) return;
    rows r = collective_rows(a, e);
    syn_alternative *instead = HB_ARRAY(a, syn_alternative, e->p->instr.n + 1);
    e->instead = instead;
    bool *done = HB_ARRAY(a, bool, r.rows.n + 1);
    struct ms_warm *warm = NULL;
    for (int k = 0; k < LONGEST && k < r.rows.n; k++) {
        int at = -1;
        for (int i = 0; i < r.rows.n; i++)
            if (!done[i] && (at < 0 || r.rows.p[i].sec > r.rows.p[at].sec)) at = i;
        done[at] = true;
        syn_alternative *x = &instead[r.rows.p[at].first];
        if (!syn_explain_move(a, e->res, r.rows.p[at].first, &warm, x)) *x = (syn_alternative){0};
    }
}

// Under a collective: from what to what, and what would be best without it.
static void put_instead(hb_buf *out, const emit_plan *e, const row *k)
{
    const syn_program *p = e->p;
    const syn_instr *in = &p->instr.p[k->first];
    const syn_tensor *from = &p->tensors.p[in->in[0]], *to = &p->tensors.p[in->out[0]];
    const syn_alternative *x = e->instead ? &e->instead[k->first] : NULL;
    if (!x || (x->what.n == 0 && x->delta_sec == 0)) return;
    hb_puts(out, "        ");
    syn_state_print(out, p->mesh, p->f, from->value, &from->state);
    hb_puts(out, " -> ");
    syn_state_print(out, p->mesh, p->f, to->value, &to->state);
    if (x->what.n == 0)
        hb_puts(out, "; no plan of the space does without\n");
    else
        hb_printf(out, "; without%s, %s ms more: %.*s\n", k->count > 1 ? " the first" : "",
                  ms(out->arena, x->delta_sec), HB_ARG(x->what));
}

static void put_collectives(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    rows r = collective_rows(a, e);
    if (r.rows.n == 0) {
        hb_puts(out, "\nCollectives: none\n");
        return;
    }
    hb_puts(
        out,
        "\nCollectives (number, kind, form, among whom, tensor; bytes and ms of all of them, share hidden)\n");
    if (e->instead)
        hb_puts(out, "  (below the longest: states, and what the best plan without this move costs "
                     "more on these cuts: made -> kept -> read)\n");
    for (int i = 0; i < r.rows.n; i++) {
        const row *k = &r.rows.p[i];
        hb_printf(out, "  %4d  %-124.*s %10.*s %8s ms %4.0f %%\n", k->count, HB_ARG(k->key),
                  HB_ARG(emit_bytes(a, k->bytes)), ms(a, k->sec),
                  k->sec > 0 ? 100 * k->hidden / k->sec : 0);
        put_instead(out, e, k);
    }
}

static void put_chunks(hb_buf *b, int (*chunk)[3], int n)
{
    for (int k = 0; k < n; k++) {
        bool next = k == 0 || chunk[k][0] != chunk[k - 1][0];
        int w = chunk[k][1];
        if (next) hb_printf(b, "%s%d:", w < 0 ? "+" : k ? " " : "", chunk[k][0]);
        hb_printf(b, "%s%d", next ? "" : w < 0 ? "+" : ",", w < 0 ? -w : w);
        if (chunk[k][2]) hb_printf(b, "/%d", chunk[k][2]);
    }
}

// The way that is planned, then the other one with what it would take.
static hb_str ways_text(hb_arena *a, const syn_pair *x)
{
    const syn_tiles *t = &x->tiles;
    hb_buf chunks = {.arena = a}, list = {.arena = a};
    put_chunks(&chunks, x->chunk, x->n_chunks);
    if (t->n_chunks == 0) return hb_done(&chunks);
    hb_printf(
        &list, "tiles %dx%d%s%s%s%s%s ", t->rows, t->cols,
        t->how & SYN_TILE_TURNS ? " in turns" : "", t->how & SYN_TILE_SUMS ? " with sums" : "",
        t->how & SYN_TILE_BY_ROWS ? " by rows" : "", t->how & SYN_TILE_STORES ? " by stores" : "",
        t->how & SYN_TILE_PARTS ? " in parts" : "");
    put_chunks(&list, t->chunk, t->n_chunks);
    if (t->how & SYN_TILE_FIRST)
        return hb_fmt(a, "%.*s; chunks %.*s %s", HB_ARG(hb_done(&list)), HB_ARG(hb_done(&chunks)),
                      ms(a, x->chunked));
    return hb_fmt(a, "%.*s; %.*s %s", HB_ARG(hb_done(&chunks)), HB_ARG(hb_done(&list)),
                  ms(a, t->total));
}

// A line for pairs that print alike.
static void put_pairs(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    const syn_program *p = e->p;
    rows r = {.a = a, .at = hb_map_new(a)};
    for (int i = 0; i < p->pairs.n; i++) {
        const syn_pair *x = &p->pairs.p[i];
        const syn_instr *s = &p->instr.p[syn_pair_start(p, x)];
        bool consumer = syn_is_consumer(p, x);
        double busy = 0;
        for (int c = 0; c < p->mesh->n_classes; c++)
            busy = x->busy[c] > busy ? x->busy[c] : busy;
        hb_str node =
            emit_pattern(a, p->g->nodes.p[p->instr.p[x->first + (consumer ? 2 : 0)].node].name);
        hb_str ops =
            consumer && x->len > 3 ? hb_fmt(a, "%.*s and %d more", HB_ARG(node), x->len - 3) : node;
        hb_str key = hb_fmt(a, "%s %-14s %-9s %-44.*s %8s %8s %8s %8s ms %4.0f %%   %.*s",
                            consumer ? "behind" : "before", cost_coll_name(s->coll),
                            cost_form_name(s->form).s, HB_ARG(ops), ms(a, busy), ms(a, x->transfer),
                            ms(a, x->total), ms(a, x->sequential), 100 * syn_pair_hidden(p, x),
                            HB_ARG(ways_text(a, x)));
        row_of(&r, key, i)->count++;
    }
    if (r.rows.n == 0) return;
    hb_puts(out,
            "\nPairs (number, matmul before or behind which collective, form; each: ms of "
            "matmuls, transfer, both together, one after the other, share of the transfer "
            "hidden; chunks as distance:weights, + joins; behind ; the other way and its ms)\n");
    for (int i = 0; i < r.rows.n; i++)
        hb_printf(out, "  %4d  %.*s\n", r.rows.p[i].count, HB_ARG(r.rows.p[i].key));
}

static void put_baselines(hb_buf *out, hb_arena *a, const emit_plan *e)
{
    const syn_result *r = e->res;
    bool any = false;
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++)
        any = any || r->baseline_sec[s] >= 0;
    if (!any) return;
    hb_puts(out, "\nOther strategies on the same simulator\n");
    for (int s = SYN_AUTO + 1; s < syn_n_strategies; s++) {
        hb_printf(out, "  %-10s", syn_strategy_name((syn_strategy)s));
        if (r->baseline_sec[s] >= 0)
            hb_printf(out, "%10s ms   %.2f x\n", ms(a, r->baseline_sec[s]),
                      r->baseline_sec[s] / r->predicted_sec);
        else
            hb_puts(out, "       no plan that fits\n");
    }
}

// "blocks 0-2, 5 of 12 computed again for the backward pass: 1.2 ms of work, 3 GiB less held"
static void put_recomputed(hb_buf *out, const syn_program *p)
{
    hb_arena *a = out->arena;
    const ir_graph *g = p->g;
    ir_again parts = ir_again_of(a, g);
    syn_blocks b = syn_blocks_of(a, p, &parts);
    double sec = 0, most = 0;
    for (int c = 0; c < b.n_classes; c++) {
        double bytes = 0;
        for (int i = 0; i < g->recomputed.n; i++)
            bytes += b.bytes[g->recomputed.p[i] * b.n_classes + c];
        most = bytes > most ? bytes : most;
    }
    hb_puts(out, g->recomputed.n == 1 ? "block" : "blocks");
    for (int i = 0, k; i < g->recomputed.n; i = k + 1) {
        const int *v = g->recomputed.p;
        for (k = i; k + 1 < g->recomputed.n && v[k + 1] == v[k] + 1; k++) {}
        hb_printf(out, k > i ? "%s %d-%d" : "%s %d", i ? "," : "", v[i], v[k]);
    }
    for (int i = 0; i < g->recomputed.n; i++)
        sec += b.sec[g->recomputed.p[i]];
    hb_printf(out, " of %d computed again for the backward pass: %s ms of work, %.*s less held\n",
              g->n_blocks, ms(a, sec), HB_ARG(emit_bytes(a, most)));
}

static void put_tables(hb_buf *out, const emit_plan *e)
{
    hb_arena *a = out->arena;
    const syn_program *p = e->p;
    const syn_result *r = e->res;
    const cost_timeline *t = &r->timeline;
    hb_printf(out, "%.*s\n", HB_ARG(e->command));
    hb_printf(out, "graph %.*s, batch %lld; cluster %.*s, %d of %d ranks; strategy %.*s%s\n",
              HB_ARG(p->g->sha), (long long)p->g->batch, HB_ARG(p->cluster->name), p->mesh->n_ranks,
              p->cluster->n_ranks, HB_ARG(p->strategy),
              p->cluster->emulated ? "; emulated devices" : "");
    const ir_graph *g = p->g;
    if (g->micro_batches > 1)
        hb_printf(out, "%d micro-batches of %lld\n", g->micro_batches,
                  (long long)(g->batch / g->micro_batches));
    if (g->recomputed.n > 0) put_recomputed(out, p);
    double shown = t->comm - t->hidden;
    hb_printf(
        out, "\nPredicted %s ms a step = %s compute and idle + %s communication - %s hidden\n",
        ms(a, r->predicted_sec), ms(a, r->predicted_sec - shown), ms(a, t->comm), ms(a, t->hidden));
    if (r->additive_sec >= 0 && r->additive_bound_sec > 0)
        hb_printf(
            out,
            "Search: of costs added up without overlap, which are no predicted times, the best "
            "that fits has %s ms and none on these cuts is below %s ms (gap %.2f %%)\n",
            ms(a, r->additive_sec), ms(a, r->additive_bound_sec),
            100 * (r->additive_sec / r->additive_bound_sec - 1));
    hb_str open = say_open(a, r);
    if (open.n) hb_printf(out, "  %.*s\n", HB_ARG(open));
    if (r->lower_bound_sec >= 0)
        hb_printf(out, "No plan of this graph on this cluster is below %s ms, communication free\n",
                  ms(a, r->lower_bound_sec));
    if (r->cut_short) hb_printf(out, "%.*s\n", HB_ARG(say_cut_short()));
    if (!e->p->values_run) hb_printf(out, "%.*s\n", HB_ARG(say_not_run()));
    if (e->curves_missing)
        hb_puts(out, "Times are datasheet formulas: no measured curves for this cluster\n");
    else if (e->unmeasured.n)
        hb_printf(out, "Times are measured curves, but for datasheet formulas of %.*s\n",
                  HB_ARG(e->unmeasured));
    else
        hb_puts(out, "Times are measured curves\n");
    put_devices(out, a, e);
    put_what_if(out, a, e);
    put_cuts(out, a, e);
    put_baselines(out, a, e);
    put_collectives(out, a, e);
    put_pairs(out, a, e);
    put_tensors(out, a, e);
}

void emit_report_text(hb_buf *out, const emit_plan *e)
{
    hb_buf tables = {.arena = out->arena};
    put_tables(&tables, e);
    emit_verdict_text(out, e, NULL);
    hb_puts(out, "\n---\n\n");
    for (size_t i = 0, end; i < tables.n; i = end + 1) {
        for (end = i; end < tables.n && tables.p[end] != '\n'; end++) {}
        hb_str line = say_name(out->arena, (hb_str){tables.p + i, end - i});
        hb_printf(out, "%.*s\n", HB_ARG(line));
    }
}
