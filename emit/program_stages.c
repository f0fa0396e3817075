// program.c of a plan of stages: for each a function with its own mesh, buffers and slots, one
// after the other; before them what goes from stage to stage, behind them main.

#include "emit/plan_parts.h"
#include "emit/program_text.h"

static const char *stage_mark(hb_arena *a, int s)
{
    return hb_fmt(a, "_%d", s).p;
}

// "layers 0-5 on m0, m1": a clause.
hb_str emit_stage_words(hb_arena *a, const syn_staged *p, int s)
{
    const syn_stage *x = &p->stage[s];
    hb_buf b = {.arena = a};
    hb_printf(&b, "layer%s %d", x->n_layers > 1 ? "s" : "", x->first_layer);
    if (x->n_layers > 1) hb_printf(&b, "-%d", x->first_layer + x->n_layers - 1);
    for (int m = 0; m < x->cluster->n_machines; m++)
        hb_printf(&b, "%s%.*s", m ? ", " : " on ", HB_ARG(x->cluster->machine[m].name));
    return hb_done(&b);
}

static void header(lines *l, const syn_staged *p, const emit_plan *e)
{
    hb_arena *a = l->arena;
    lines_comment(l, 0, 0,
                  hb_fmt(a,
                         "One training step of %.*s in %d stages on %d ranks, by hapc %.*s. After "
                         "an edit: hapc check",
                         HB_ARG(pt_model(e->graph_path)), p->n, p->n_ranks, HB_ARG(e->version)));
    lines_text(l, 0, "//");
    lines_comment(l, 0, 4, hb_fmt(a, "  %.*s", HB_ARG(e->command)));
    lines_text(l, 0, "//");
    for (int s = 0; s < p->n; s++) {
        const syn_stage *x = &p->stage[s];
        int n = x->program->mesh->n_ranks;
        hb_str ranks = n > 1 ? hb_fmt(a, "ranks %d-%d", x->first_rank, x->first_rank + n - 1)
                             : hb_fmt(a, "rank %d", x->first_rank);
        lines_comment(l, 0, 13,
                      hb_fmt(a, "  stage %-4d %.*s: %.*s; waits for others %.*s ms", s,
                             HB_ARG(emit_stage_words(a, p, s)), HB_ARG(ranks),
                             HB_ARG(pt_ms(a, x->waits))));
    }
    lines_comment(l, 0, 13,
                  hb_fmt(a, "  predicted  %.*s ms a step, in %d micro-batch%s%s",
                         HB_ARG(pt_ms(a, p->predicted_sec)),
                         p->g->micro_batches > 1 ? p->g->micro_batches : 1,
                         p->g->micro_batches > 1 ? "es" : "",
                         e->curves_missing ? "; by datasheet formulas" : ""));
    lines_comment(l, 0, 13,
                  hb_fmt(a, "  input      graph %.*s, cluster %.*s", HB_ARG(p->g->sha),
                         (int)(p->cluster->sha.n < 16 ? p->cluster->sha.n : 16),
                         p->cluster->sha.p));
    lines_text(l, 0, "//");
    lines_comment(
        l, 0, 0,
        HB_STR("A rank does one stage, with the ranks of that stage. Its slots say which "
               "micro-batch goes forward and which backward next, and where that waits for time, "
               "which has its weight gradients made. op_send hands a value to a port, "
               "op_recv waits for one. What they leave for each other lies in a "
               "ring, one place for each micro-batch under way. Shapes are global: [8@rows 128] "
               "has its first dim cut by the table rows of its stage, [8 128] is whole on every "
               "rank of it. Behind one, + says that every rank holds a part of a sum, ^ of a "
               "maximum. Numbers on the right are predicted milliseconds of the slowest rank. A "
               "formula names outputs y, y1 and operands a, b, c (x: the only one) in the order of "
               "the call."));
    lines_blank(l);
    lines_text(l, 0, "#include \"hap/runtime.h\"");
    lines_blank(l);
}

// The buffer that a port's end reads or writes.
static int end_buffer(const syn_program *p, int node, bool send)
{
    for (int i = 0; i < p->instr.n; i++)
        if (p->instr.p[i].kind == SYN_OP && p->instr.p[i].node == node)
            return send ? p->instr.p[i].in[0] : p->instr.p[i].out[0];
    hb_assert(!"a plan has all nodes of its graph");
    return -1;
}

static void tables(lines *l, const syn_staged *p, pt *t)
{
    hb_arena *a = l->arena;
    lines_comment(l, 0, 0, HB_STR("Stages: their first rank, mesh and cuts."));
    lines_text(l, 0, "static const hap_stage stages[] = {");
    for (int s = 0; s < p->n; s++) {
        const syn_mesh *m = p->stage[s].program->mesh;
        lines_text(l, 4, "{%d, %d, {%d, %d}, HAP_N(cuts_%d), cuts_%d},", p->stage[s].first_rank,
                   m->n_axes, m->size[0], m->n_axes > 1 ? m->size[1] : 1, s, s);
    }
    lines_text(l, 0, "};");
    lines_blank(l);
    lines_comment(l, 0, 0,
                  HB_STR("Ports: a value, the stage that sends it and how it lies there, the stage "
                         "that gets it and how it lies there."));
    lines_text(l, 0, "static const hap_port ports[] = {");
    for (int i = 0; i < p->cut->ports.n; i++) {
        const ir_port *x = &p->cut->ports.p[i];
        int from = end_buffer(p->stage[x->from].program, x->send, true),
            to = end_buffer(p->stage[x->to].program, x->recv, false);
        hb_str item[5] = {hb_fmt(a, "{%.*s", HB_ARG(pt_quote(a, x->name))),
                          hb_fmt(a, "%d", x->from), pt_shape(&t[x->from], from),
                          hb_fmt(a, "%d", x->to), pt_shape(&t[x->to], to)};
        lines_fill(l, 4, (hb_str){0}, item, 5, "},", NULL);
    }
    if (p->cut->ports.n == 0) lines_text(l, 4, "{0}, // none");
    lines_text(l, 0, "};");
    lines_blank(l);
}

static void slots(pt *t)
{
    const syn_program *p = t->p;
    static const char *const words[] = {"", "HAP_FORWARD", "HAP_BACK", "HAP_WEIGHTS"};
    if (p->order.n == 0) return;
    hb_str *item = HB_ARRAY(t->a, hb_str, p->order.n);
    for (int i = 0; i < p->order.n; i++)
        item[i] = hb_fmt(t->a, "%s(%d)", words[p->order.p[i].turn], p->order.p[i].m);
    lines_comment(&t->l, 0, 0,
                  hb_fmt(t->a, "Its slots, %d micro-batch%s under way at most.", p->g->depth,
                         p->g->depth > 1 ? "es" : ""));
    lines_fill(&t->l, 0, hb_fmt(t->a, "static const hap_slot slots%s[] = {", t->stage), item,
               p->order.n, "};", NULL);
    lines_blank(&t->l);
}

static void stage_text(pt *t, const syn_staged *p, int s)
{
    lines_comment(&t->l, 0, 0,
                  hb_fmt(t->a, "--- stage %d: %.*s ---", s, HB_ARG(emit_stage_words(t->a, p, s))));
    lines_blank(&t->l);
    pt_prototypes(t);
    lines_blank(&t->l);
    slots(t);
    lines_text(&t->l, 0, "static void stage%s(hap_rank *r)", t->stage);
    lines_text(&t->l, 0, "{");
    pt_declare(t);
    lines_text(&t->l, 4, "while (hap_next_step(r)) {");
    pt_loop_body(t);
    lines_text(&t->l, 4, "}");
    lines_text(&t->l, 0, "}");
    lines_blank(&t->l);
    pt_functions(t);
}

static void print_main(lines *l, const syn_staged *p)
{
    lines_text(l, 0, "int main(int argc, char **argv)");
    lines_text(l, 0, "{");
    lines_text(l, 4, "hap_rank *r = hap_init(&argc, &argv, %.*s, %d);",
               HB_ARG(pt_quote(l->arena, p->g->sha)), p->n_ranks);
    lines_text(l, 4, "switch (hap_stages(r, HAP_N(stages), stages, %s, ports)) {",
               p->cut->ports.n > 0 ? "HAP_N(ports)" : "0");
    for (int s = 0; s < p->n; s++) {
        lines_text(l, 4, "case %d:", s);
        lines_text(l, 8, "stage_%d(r);", s);
        lines_text(l, 8, "break;");
    }
    lines_text(l, 4, "}");
    lines_text(l, 4, "return hap_finish(r);");
    lines_text(l, 0, "}");
}

void emit_stages_program(hb_buf *out, hb_buf *buffers, const syn_staged *p, const emit_plan *about,
                         emit_lines *where)
{
    hb_arena *a = out->arena;
    hb_map *used = hb_map_new(a);
    lines l = {.arena = a, .out = out};
    pt *t = hb_alloc(a, sizeof *t * (size_t)p->n);
    emit_plan *e = emit_stage_plans(a, p, about);
    header(&l, p, about);
    for (int s = 0; s < p->n; s++) {
        t[s] = pt_new(a, &e[s], out, used, stage_mark(a, s));
        t[s].l = l;
        pt_cuts(&t[s]);
        l = t[s].l;
    }
    tables(&l, p, t);
    lines_text(&l, 0, "#include \"buffers.h\"");
    lines_blank(&l);
    pt_buffers_head(&t[0], buffers);
    for (int s = 0; s < p->n; s++) {
        t[s].l = l;
        stage_text(&t[s], p, s);
        l = t[s].l;
        hb_printf(buffers, "%s// --- stage %d ---\n\n", s ? "\n" : "", s);
        pt_buffers(&t[s], buffers);
    }
    print_main(&l, p);
    for (int s = 0; s < p->n; s++)
        where[s] = (emit_lines){.line = t[s].line, .expr = t[s].b->id, .n_lines = l.n};
}
