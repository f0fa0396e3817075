// program.c: the plan as a C program that a person reads and a compiler runs.

#include "emit/program_text.h"

#include "synth/certify/record.h"
#include "synth/plan/views.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// "gpt2" of examples/gpt2/graph.json.
hb_str pt_model(hb_str graph)
{
    for (size_t i = graph.n; i > 0; i--) {
        if (graph.p[i - 1] != '/') continue;
        hb_str file = {graph.p + i, graph.n - i}, dir = {graph.p, i - 1};
        for (size_t k = dir.n; k > 0; k--)
            if (dir.p[k - 1] == '/') {
                dir = (hb_str){dir.p + k, dir.n - k};
                break;
            }
        return hb_str_is(file, "graph.json") && dir.n > 0 ? dir : file;
    }
    return graph;
}

// "0-3 a100, 4 v100"
static hb_str ranks_text(const pt *t)
{
    const syn_mesh *mesh = t->p->mesh;
    hb_buf b = {.arena = t->a};
    for (int r = 0, end; r < mesh->n_ranks; r = end) {
        for (end = r + 1; end < mesh->n_ranks && mesh->class_of[end] == mesh->class_of[r];)
            end++;
        hb_printf(&b, "%s%d", r ? ", " : "", r);
        if (end > r + 1) hb_printf(&b, "-%d", end - 1);
        hb_printf(&b, " %.*s",
                  HB_ARG(t->p->cluster->cls[mesh->cluster_class[mesh->class_of[r]]].name));
    }
    if (t->p->cluster->emulated) hb_puts(&b, " (emulated)");
    return hb_done(&b);
}

static void header(pt *t)
{
    const syn_program *p = t->p;
    const syn_mesh *mesh = p->mesh;
    const emit_plan *e = t->e;
    const cost_timeline *tl = &e->res->timeline;
    lines *l = &t->l;
    lines_comment(l, 0, 0,
                  hb_fmt(t->a,
                         "One training step of %.*s on %d rank%s, by hapc %.*s. After an edit: "
                         "hapc check",
                         HB_ARG(pt_model(e->graph_path)), mesh->n_ranks,
                         mesh->n_ranks == 1 ? "" : "s", HB_ARG(e->version)));
    lines_text(l, 0, "//");
    lines_comment(l, 0, 4, hb_fmt(t->a, "  %.*s", HB_ARG(e->command)));
    lines_text(l, 0, "//");
    lines_comment(l, 0, 13, hb_fmt(t->a, "  ranks      %.*s", HB_ARG(ranks_text(t))));
    hb_buf w = {.arena = t->a};
    hb_printf(&w,
              "  predicted  %.*s ms a step: %.*s computing or idle, %.*s communication, of it %.*s "
              "hidden",
              HB_ARG(pt_ms(t->a, tl->total)),
              HB_ARG(pt_ms(t->a, tl->total - (tl->comm - tl->hidden))),
              HB_ARG(pt_ms(t->a, tl->comm)), HB_ARG(pt_ms(t->a, tl->hidden)));
    if (e->res->lower_bound_sec >= 0)
        hb_printf(&w, "; at least %.*s", HB_ARG(pt_ms(t->a, e->res->lower_bound_sec)));
    if (e->curves_missing) hb_puts(&w, "; by datasheet formulas");
    lines_comment(l, 0, 13, hb_done(&w));
    hb_buf m = {.arena = t->a};
    for (int c = 0; c < mesh->n_classes; c++)
        hb_printf(&m, "%s%.*s", c ? ", " : "", HB_ARG(emit_bytes(t->a, (double)p->peak_bytes[c])));
    hb_buf who = {.arena = t->a};
    for (int c = 0; c < mesh->n_classes; c++)
        hb_printf(&who, "%s%.*s", c ? ", " : "",
                  HB_ARG(p->cluster->cls[mesh->cluster_class[c]].name));
    lines_comment(l, 0, 13, hb_fmt(t->a, "  memory     %s on {%s}", m.p, who.p));
    lines_comment(l, 0, 13,
                  hb_fmt(t->a, "  input      graph %.*s, cluster %.*s; strategy %.*s",
                         HB_ARG(p->g->sha), (int)(p->cluster->sha.n < 16 ? p->cluster->sha.n : 16),
                         p->cluster->sha.p, HB_ARG(p->strategy)));
    lines_text(l, 0, "//");
    lines_comment(
        l, 0, 0,
        HB_STR("Shapes are global: [8@rows 128] has its first dim cut by the table rows, [8 128] "
               "is whole on every rank. Behind one, + says that every rank holds a part of a sum, "
               "^ of a maximum. Numbers on the right are predicted milliseconds of the slowest "
               "rank. A formula names outputs y, y1 and operands a, b, c (x: the only one) in the "
               "order of the call. buffers.h says where tensors lie and what a block owns."));
    if (mesh->n_axes == 2)
        lines_comment(l, 0, 0,
                      HB_STR("Axis 0 is machines, axis 1 devices of a machine; + and ^ alone are "
                             "over both."));
    lines_blank(l);
    lines_text(l, 0, "#include \"hap/runtime.h\"");
    lines_blank(l);
}

static bool printed_before(const pt *t, int cut)
{
    for (int k = 0; k < cut; k++)
        if (hb_str_eq(t->table[k], t->table[cut])) return true;
    return false;
}

static hb_str axis_text(const syn_cut *cut)
{
    return cut->axis == SYN_BOTH ? HB_STR("HAP_BOTH") : cut->axis ? HB_STR("1") : HB_STR("0");
}

// How dims are cut: entries of each coordinate, aligned where a table fits a line.
void pt_cuts(pt *t)
{
    const syn_mesh *mesh = t->p->mesh;
    hb_arena *a = t->a;
    int width[4] = {0}; // name, axis, size, entry
    bool any = false;
    for (int c = 0; c < mesh->cuts.n; c++) {
        if (t->table[c].n == 0 || printed_before(t, c)) continue;
        any = true;
        const int n[3] = {(int)t->table[c].n, (int)axis_text(&mesh->cuts.p[c]).n,
                          snprintf(NULL, 0, "%lld", (long long)mesh->cuts.p[c].size)};
        for (int k = 0; k < 3; k++)
            if (n[k] > width[k]) width[k] = n[k];
        for (int r = 0; r < mesh->cuts.p[c].n; r++) {
            int w = snprintf(NULL, 0, "%lld", (long long)mesh->cuts.p[c].table[r]);
            if (w > width[3]) width[3] = w;
        }
    }
    if (!t->stage[0] || strcmp(t->stage, "_0") == 0) // said once
        lines_comment(&t->l, 0, 0,
                      HB_STR("Cuts: axis of the mesh, size, entries of each coordinate; and who "
                             "chose them."));
    lines_text(&t->l, 0, "static const hap_cuts cuts%s[] = {", t->stage);
    for (int c = 0; c < mesh->cuts.n; c++) {
        const syn_cut *cut = &mesh->cuts.p[c];
        if (t->table[c].n == 0 || printed_before(t, c)) continue;
        hb_str *item = HB_ARRAY(a, hb_str, cut->n + 3);
        int n = 0;
        item[n++] = hb_fmt(a, "\"%.*s\"", HB_ARG(t->table[c]));
        item[n++] =
            hb_fmt(a, "%*s%.*s", width[0] - (int)t->table[c].n + width[1] - (int)axis_text(cut).n,
                   "", HB_ARG(axis_text(cut)));
        item[n++] = hb_fmt(a, "%*lld", width[2], (long long)cut->size);
        int entries = emit_table_items(a, cut->table, cut->n, item + n);
        for (int k = 0; k < entries; k++)
            item[n + k] = hb_fmt(a, "%*s", width[3], item[n + k].p);
        lines_note note = {.text = {cut->name}};
        lines_fill(&t->l, 4, HB_STR("HAP_CUT("), item, n + entries, "),", &note);
    }
    if (!any) lines_text(&t->l, 4, "HAP_CUT(\"\", 0, 0, 0), // none");
    lines_text(&t->l, 0, "};");
    lines_blank(&t->l);
}

static void int_table(pt *t, const char *head, const int64_t *v, int n)
{
    hb_str *item = HB_ARRAY(t->a, hb_str, n + 1);
    lines_fill(&t->l, 4, hb_str_c(t->a, head), item, emit_table_items(t->a, v, n, item), "};",
               NULL);
}

// Where ranks run, if a GPU is not the one of its rank's place on the host, or something is
// emulated. A stage does not know who else is on its hosts: its GPUs are always named.
static void print_places(pt *t)
{
    bool staged = t->stage[0] != 0;
    const syn_mesh *mesh = t->p->mesh;
    const cl_cluster *c = t->p->cluster;
    enum { DEVICE, SMS, HOST, N };
    static const char *const name[N] = {"hap_device", "hap_sms", "hap_host"};
    int64_t *v[N];
    bool any[N] = {false};
    for (int k = 0; k < N; k++)
        v[k] = HB_ARRAY(t->a, int64_t, mesh->n_ranks);
    const cl_machine *before = NULL;
    for (int r = 0, place = 0; r < mesh->n_ranks; r++) {
        const cl_machine *m = &c->machine[c->machine_of[mesh->cluster_rank[r]]];
        const cl_class *k = &c->cls[c->class_of[mesh->cluster_rank[r]]];
        bool here = before && before->first_of_host == m->first_of_host;
        place = here ? place + 1 : 0;
        v[DEVICE][r] = c->number_of[mesh->cluster_rank[r]];
        v[SMS][r] = k->sms;
        v[HOST][r] = m->emulated_host < 0 ? c->n_machines + m->first_of_host : m->emulated_host;
        any[DEVICE] |= k->kind == CL_GPU && (staged || v[DEVICE][r] != place);
        any[SMS] |= k->sms > 0;
        any[HOST] |=
            staged ? m->emulated_host >= 0 : here && m->emulated_host != before->emulated_host;
        before = m;
    }
    if (!any[DEVICE] && !any[SMS] && !any[HOST]) return;
    for (int k = 0; k < N; k++) {
        hb_str head = hb_fmt(t->a, "static const int %s[] = {", name[k]);
        if (any[k]) int_table(t, head.p, v[k], mesh->n_ranks);
    }
    lines_text(&t->l, 4, "hap_places(r, %s, %s, %s);%s", any[DEVICE] ? name[DEVICE] : "NULL",
               any[SMS] ? name[SMS] : "NULL", any[HOST] ? name[HOST] : "NULL",
               any[SMS] || any[HOST] ? " // emulated" : "");
}

static void print_schedule(pt *t)
{
    const ir_graph *g = t->p->g;
    if (g->opt.name.n == 0) return;
    hb_buf lr = {.arena = t->a};
    double num[IR_SCHEDULE];
    ir_schedule(&g->opt, num);
    hb_printf(&lr, "(hap_lr){.lr = %.*s", HB_ARG(pt_number(t->a, num[0])));
    for (int i = 1; i < IR_SCHEDULE; i++)
        if (num[i] != 0)
            hb_printf(&lr, ", .%s = %.*s", ir_schedule_names[i], HB_ARG(pt_number(t->a, num[i])));
    lines_text(&t->l, 4, "hap_schedule(r, %s});", lr.p);
}

void pt_declare(pt *t)
{
    const syn_program *p = t->p;
    const syn_mesh *mesh = p->mesh;
    lines *l = &t->l;
    hb_buf sizes = {.arena = t->a};
    int64_t *classes = HB_ARRAY(t->a, int64_t, mesh->n_ranks);
    for (int x = 0; x < mesh->n_axes; x++)
        hb_printf(&sizes, "%s%d", x ? ", " : "", mesh->size[x]);
    for (int r = 0; r < mesh->n_ranks; r++)
        classes[r] = mesh->class_of[r];
    if (p->g->precision == IR_PRECISION_TF32) lines_text(l, 4, "hap_math(r, HAP_MATH_TF32);");
    print_places(t);
    lines_text(l, 4, "hap_mesh(r, %d, (const int[]){%s});", mesh->n_axes, sizes.p);
    hb_str *item = HB_ARRAY(t->a, hb_str, mesh->n_ranks + 1);
    lines_fill(l, 4, HB_STR("hap_classes(r, (const int[]){"), item,
               emit_table_items(t->a, classes, mesh->n_ranks, item), "});", NULL);
    lines_text(l, 4, "hap_batch(r, %lld, %lld);", (long long)p->g->batch,
               (long long)rec_tokens_per_row(p->g));
    print_schedule(t);
    lines_text(l, 4, "declare_buffers%s(r); // buffers.h", t->stage);
    lines_blank(l);
}

static void print_main(pt *t)
{
    lines *l = &t->l;
    lines_text(l, 0, "int main(int argc, char **argv)");
    lines_text(l, 0, "{");
    lines_text(l, 4, "hap_rank *r = hap_init(&argc, &argv, %.*s, %d);",
               HB_ARG(pt_quote(t->a, t->p->g->sha)), t->p->mesh->n_ranks);
    pt_declare(t);
    lines_text(l, 4, "while (hap_next_step(r)) {");
    pt_loop_body(t);
    lines_text(l, 4, "}");
    lines_text(l, 4, "return hap_finish(r);");
    lines_text(l, 0, "}");
    lines_blank(l);
}

pt pt_new(hb_arena *a, const emit_plan *e, hb_buf *out, hb_map *used, const char *stage)
{
    const syn_program *p = e->p;
    pt t = {.a = a, .e = e, .p = p, .l = {.arena = a, .out = out}, .used = used, .stage = stage};
    t.table = emit_table_names(a, p);
    t.names = emit_names(a, p);
    t.view = syn_views(a, p);
    t.endings = syn_endings_of(a, p);
    for (int i = 0; i < p->tensors.n; i++)
        t.names[i] = emit_unique(a, used, t.names[i]);
    t.line = HB_ARRAY(a, int, p->instr.n + 1);
    pt_find_parts(&t);
    t.b = pb_find(a, p, t.used, t.names, t.loop_of, t.part_of);
    return t;
}

void emit_program_c(hb_buf *out, hb_buf *buffers, const emit_plan *e, emit_lines *where)
{
    hb_arena *a = out->arena;
    pt t = pt_new(a, e, out, hb_map_new(a), "");
    header(&t);
    pt_cuts(&t);
    lines_text(&t.l, 0, "#include \"buffers.h\"");
    lines_blank(&t.l);
    pt_prototypes(&t);
    lines_blank(&t.l);
    print_main(&t);
    pt_functions(&t);
    while (out->n > 1 && out->p[out->n - 2] == '\n') { // the file ends with its last line
        out->p[--out->n] = 0;
        t.l.n--;
    }
    pt_buffers_head(&t, buffers);
    pt_buffers(&t, buffers);
    if (where) {
        where->line = t.line;
        where->expr = t.b->id;
        where->n_lines = t.l.n;
    }
}

bool emit_supported(hb_arena *a, const ir_graph *g, hb_str *why)
{
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *t = &g->tensors.p[i];
        if ((t->kind == IR_PARAM || t->kind == IR_BUFFER) && t->init.kind == IR_INIT_STORED) {
            *why = hb_fmt(
                a,
                "not supported: '%.*s' takes its first values from a file; give it a fill in the "
                "graph and the values with `hapc run --init`",
                HB_ARG(t->name));
            return false;
        }
    }
    return true;
}
