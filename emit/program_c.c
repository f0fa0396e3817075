// program.c: the plan as a C program that a person reads and a compiler runs.

#include "emit/program_text.h"

#include "synth/certify/record.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

hb_str pt_quote(hb_arena *a, hb_str s)
{
    hb_buf b = {.arena = a};
    hb_putc(&b, '"');
    for (size_t i = 0; i < s.n; i++) {
        unsigned char c = (unsigned char)s.p[i];
        if (c == '"' || c == '\\' || c == '?') // "??/" is a trigraph
            hb_printf(&b, "\\%c", c);
        else if (c < 32 || c >= 127)
            hb_printf(&b, "\\%03o", c);
        else
            hb_putc(&b, (char)c);
    }
    hb_putc(&b, '"');
    return hb_done(&b);
}

hb_str pt_number(hb_arena *a, double x)
{
    if (isinf(x)) return x > 0 ? HB_STR("1.0 / 0.0") : HB_STR("-1.0 / 0.0");
    if (isnan(x)) return HB_STR("0.0 / 0.0");
    if (x == floor(x) && fabs(x) < 1e9) return hb_fmt(a, "%.0f", x + 0.0);
    hb_str s = {0};
    for (int digits = 1; digits <= 17; digits++) {
        s = hb_fmt(a, "%.*g", digits, x);
        if (strtod(s.p, NULL) == x) break;
    }
    if (!strpbrk(s.p, ".e") && fabs(x) > 2e9) s = hb_fmt(a, "%s.0", s.p); // no int literal
    return s;
}

hb_str pt_ms(hb_arena *a, double sec)
{
    return hb_fmt(a, sec < 1 ? "%.3g ms" : "%.0f ms", sec * 1e3);
}

static void header(pt *t)
{
    const syn_program *p = t->p;
    const syn_mesh *mesh = p->mesh;
    const emit_plan *e = t->e;
    const cost_timeline *tl = &e->res->timeline;
    lines *l = &t->l;
    hb_str graph = e->graph_path;
    for (size_t i = graph.n; i > 0; i--) { // examples/mlp/graph.json -> mlp
        if (graph.p[i - 1] != '/') continue;
        hb_str file = {graph.p + i, graph.n - i}, dir = {graph.p, i - 1};
        for (size_t k = dir.n; k > 0; k--)
            if (dir.p[k - 1] == '/') {
                dir = (hb_str){dir.p + k, dir.n - k};
                break;
            }
        graph = hb_str_is(file, "graph.json") && dir.n > 0 ? dir : file;
        break;
    }
    lines_comment(
        l, 0, 0,
        hb_fmt(t->a,
               "program.c: one training step of %.*s on %d rank%s, by hapc %.*s. After an "
               "edit: `hapc check`.",
               HB_ARG(graph), mesh->n_ranks, mesh->n_ranks == 1 ? "" : "s", HB_ARG(e->version)));
    lines_text(l, 0, "//");
    lines_comment(l, 0, 4, hb_fmt(t->a, "  %.*s", HB_ARG(e->command)));
    lines_text(l, 0, "//");
    hb_buf b = {.arena = t->a};
    for (int c = 0; c < mesh->n_classes; c++) {
        hb_printf(&b, "%s%.*s {", c ? "  " : "",
                  HB_ARG(p->cluster->cls[mesh->cluster_class[c]].name));
        bool any = false;
        for (int r = 0; r < mesh->n_ranks; r++) {
            if (mesh->class_of[r] != c) continue;
            int end = r;
            while (end + 1 < mesh->n_ranks && mesh->class_of[end + 1] == c)
                end++;
            hb_printf(&b,
                      end > r + 1 ? "%s%d-%d"
                      : end > r   ? "%s%d %d"
                                  : "%s%d",
                      any ? " " : "", r, end);
            any = true;
            r = end;
        }
        hb_putc(&b, '}');
    }
    if (p->cluster->emulated) hb_puts(&b, "  (emulated)");
    lines_comment(l, 0, 14, hb_fmt(t->a, "  classes     %s", b.p));
    double shown = tl->comm - tl->hidden;
    hb_buf w = {.arena = t->a};
    hb_printf(&w,
              "  predicted   %.*s/step = %.*s compute and idle + %.*s communication - %.*s hidden",
              HB_ARG(pt_ms(t->a, tl->total)), HB_ARG(pt_ms(t->a, tl->total - shown)),
              HB_ARG(pt_ms(t->a, tl->comm)), HB_ARG(pt_ms(t->a, tl->hidden)));
    if (e->res->lower_bound_sec >= 0)
        hb_printf(&w, "; bound %.*s", HB_ARG(pt_ms(t->a, e->res->lower_bound_sec)));
    if (e->curves_missing) hb_puts(&w, "; by datasheet formulas");
    lines_comment(l, 0, 14, hb_done(&w));
    hb_buf m = {.arena = t->a};
    for (int c = 0; c < mesh->n_classes; c++)
        hb_printf(&m, "%s%.*s", c ? " / " : "", HB_ARG(emit_bytes(t->a, (double)p->peak_bytes[c])));
    lines_comment(l, 0, 14,
                  hb_fmt(t->a, "  memory      %s    graph %.*s    cluster %.*s", m.p,
                         HB_ARG(p->g->sha), (int)(p->cluster->sha.n < 16 ? p->cluster->sha.n : 16),
                         p->cluster->sha.p));
    lines_comment(l, 0, 14, hb_fmt(t->a, "  strategy    %.*s", HB_ARG(p->strategy)));
    lines_blank(l);
    lines_text(l, 0, "#include \"hap/runtime.h\"");
    lines_blank(l);
}

static void mark_used(pt *t)
{
    const syn_program *p = t->p;
    t->used_buffer = HB_ARRAY(t->a, bool, p->tensors.n + 1);
    for (int i = 0; i < p->instr.n; i++) {
        const syn_instr *in = &p->instr.p[i];
        for (int k = 0; k < in->n_in; k++)
            t->used_buffer[in->in[k]] = true;
        for (int k = 0; k < in->n_out; k++)
            t->used_buffer[in->out[k]] = true;
        if (in->kind == SYN_START && in->scratch >= 0) t->used_buffer[in->scratch] = true;
    }
    for (int g = 0; g < p->g->tensors.n; g++) {
        if (p->home[g] >= 0) t->used_buffer[p->home[g]] = true;
        if (p->keep_grads && p->grad[g] >= 0) t->used_buffer[p->grad[g]] = true;
    }
    if (p->loss >= 0) t->used_buffer[p->loss] = true;
}

// Where ranks run, if a GPU is not the one of its rank's place on the host, or something is
// emulated.
static void print_places(pt *t)
{
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
        v[DEVICE][r] = mesh->cluster_rank[r] - m->first_of_host;
        v[SMS][r] = k->sms;
        v[HOST][r] = m->emulated_host < 0 ? c->n_machines + m->first_of_host : m->emulated_host;
        any[DEVICE] |= k->kind == CL_GPU && v[DEVICE][r] != place;
        any[SMS] |= k->sms > 0;
        any[HOST] |= here && m->emulated_host != before->emulated_host;
        before = m;
    }
    if (!any[DEVICE] && !any[SMS] && !any[HOST]) return;
    for (int k = 0; k < N; k++) {
        hb_str head = hb_fmt(t->a, "static const int %s[] = ", name[k]);
        if (any[k]) pt_number_table(t, 4, head, v[k], mesh->n_ranks, "};");
    }
    lines_text(&t->l, 4, "hap_places(r, %s, %s, %s);%s", any[DEVICE] ? name[DEVICE] : "NULL",
               any[SMS] ? name[SMS] : "NULL", any[HOST] ? name[HOST] : "NULL",
               any[SMS] || any[HOST] ? " // emulated" : "");
}

static void print_main(pt *t)
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
    lines_text(l, 0, "int main(int argc, char **argv)");
    lines_text(l, 0, "{");
    lines_text(l, 4, "hap_rank *r = hap_init(&argc, &argv, %.*s, %d);",
               HB_ARG(pt_quote(t->a, p->g->sha)), mesh->n_ranks);
    if (p->g->precision == IR_PRECISION_TF32) lines_text(l, 4, "hap_math(r, HAP_MATH_TF32);");
    print_places(t);
    lines_text(l, 4, "hap_mesh(r, %d, (const int[]){%s});", mesh->n_axes, sizes.p);
    pt_number_table(t, 4, HB_STR("hap_classes(r, (const int[])"), classes, mesh->n_ranks, "});");
    lines_text(l, 4, "hap_segments(r, sym_bytes, local_bytes);");
    lines_blank(l);
    pt_declare(t);
    const ir_graph *g = p->g;
    lines_text(l, 4, "hap_batch(r, %lld, %lld);", (long long)g->batch,
               (long long)rec_tokens_per_row(g));
    if (g->opt.name.n > 0) {
        hb_buf lr = {.arena = t->a};
        hb_printf(&lr, "(hap_lr){.lr = %.*s", HB_ARG(pt_number(t->a, g->opt.lr)));
        if (g->opt.warmup) hb_printf(&lr, ", .warmup = %lld", (long long)g->opt.warmup);
        if (g->opt.cosine) hb_printf(&lr, ", .cosine = %lld", (long long)g->opt.cosine);
        if (g->opt.min_lr != 0)
            hb_printf(&lr, ", .min_lr = %.*s", HB_ARG(pt_number(t->a, g->opt.min_lr)));
        lines_text(l, 4, "hap_schedule(r, %s});", lr.p);
    }
    lines_blank(l);
    lines_text(l, 4, "while (hap_next_step(r)) {");
    pt_step(t);
    lines_text(l, 4, "}");
    lines_text(l, 4, "return hap_finish(r);");
    lines_text(l, 0, "}");
}

void emit_program_c(hb_buf *out, const emit_plan *e, emit_lines *where)
{
    hb_arena *a = out->arena;
    const syn_program *p = e->p;
    pt t = {.a = a, .e = e, .p = p, .l = {.arena = a, .out = out}};
    t.table = emit_table_names(a, p);
    t.names = emit_names(a, p);
    t.used = hb_map_new(a);
    for (int c = 0; c < p->mesh->cuts.n; c++)
        hb_map_put(t.used, t.table[c], 1);
    for (int i = 0; i < p->tensors.n; i++)
        hb_map_put(t.used, t.names[i], 1);
    t.b = pb_find(a, p, t.used, t.names);
    t.line = HB_ARRAY(a, int, p->instr.n + 1);
    pt_find_shapes(&t);
    mark_used(&t);
    header(&t);
    pt_tables(&t);
    pt_block_types(&t);
    for (int l = 0; l < p->loops.n; l++)
        pt_function(&t, l);
    print_main(&t);
    lines_flush(&t.l);
    if (where) {
        where->line = t.line;
        where->expr = t.b->id;
        where->n_lines = t.l.n;
    }
}

bool emit_supported(hb_arena *a, const syn_program *p, hb_str *why)
{
    for (int i = 0; i < p->tensors.n; i++) {
        const syn_tensor *t = &p->tensors.p[i];
        if (t->value < 0) continue;
        const ir_tensor *g = &p->g->tensors.p[t->value];
        if ((g->kind == IR_PARAM || g->kind == IR_BUFFER) && g->init.kind == IR_INIT_STORED) {
            *why = hb_fmt(
                a,
                "not supported: '%.*s' takes its first values from a file; give it a fill in the "
                "graph and the values with `hapc run --init`",
                HB_ARG(g->name));
            return false;
        }
    }
    return true;
}
