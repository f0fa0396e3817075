// A program as text, one instruction a line: what `hapc -d p` dumps and plan goldens hold. No
// times.

#include "synth/plan/program_print.h"

static void print_tensor(hb_buf *out, const syn_program *p, int i)
{
    const syn_tensor *t = &p->tensors.p[i];
    hb_printf(out, " %.*s", HB_ARG(t->name));
    if (t->value < 0) return;
    hb_putc(out, ':');
    syn_state_print(out, p->mesh, p->f, t->value, &t->state);
}

static void print_list(hb_buf *out, const syn_program *p, const int *v, int n)
{
    for (int i = 0; i < n; i++)
        print_tensor(out, p, v[i]);
}

static void print_instr(hb_buf *out, const syn_program *p, const syn_instr *in)
{
    const char *name = in->kind == SYN_OP        ? ir_op_of(p->g->nodes.p[in->node].op)->name
                       : in->kind == SYN_SLICE   ? "cut"
                       : in->kind == SYN_PARTIAL ? "partial"
                       : in->kind == SYN_START   ? cost_coll_name(in->coll)
                                                 : "wait";
    hb_puts(out, name);
    if (in->kind == SYN_WAIT) {
        const syn_instr *start = &p->instr.p[in->start];
        print_list(out, p, start->out, start->n_out);
        hb_putc(out, '\n');
        return;
    }
    if (in->kind == SYN_START)
        hb_printf(out, "/%s%s axes %u", cost_form_name(in->form).s, in->reduce_max ? "/max" : "",
                  in->axes);
    print_list(out, p, in->out, in->n_out);
    hb_puts(out, " <-");
    print_list(out, p, in->in, in->n_in);
    hb_putc(out, '\n');
}

static void print_pair(hb_buf *out, const syn_pair *x)
{
    hb_puts(out, "pair");
    for (int k = 0; k < x->n_chunks; k++)
        hb_printf(out, " %d:%d", x->chunk[k][0], x->chunk[k][1]);
    if (x->tiles.n_chunks)
        hb_printf(out, " | %dx%d %u", x->tiles.rows, x->tiles.cols, x->tiles.how);
    for (int k = 0; k < x->tiles.n_chunks; k++)
        hb_printf(out, " %d:%d", x->tiles.chunk[k][0], x->tiles.chunk[k][1]);
    hb_putc(out, '\n');
}

void syn_print(hb_buf *out, const syn_program *p)
{
    const syn_mesh *m = p->mesh;
    hb_printf(out, "program %.*s, mesh", HB_ARG(p->strategy));
    for (int a = 0; a < m->n_axes; a++)
        hb_printf(out, "%s%d", a ? " x " : " ", m->size[a]);
    hb_putc(out, '\n');
    bool *used = HB_ARRAY(p->arena, bool, m->cuts.n + 1);
    for (int t = 0; t < p->tensors.n; t++)
        for (int a = 0; a < m->n_axes; a++)
            if (p->tensors.p[t].value >= 0 && p->tensors.p[t].state.ax[a].kind == SYN_S)
                used[p->tensors.p[t].state.ax[a].cut] = true;
    for (int i = 0; i < m->cuts.n; i++) {
        if (!used[i]) continue;
        const syn_cut *c = &m->cuts.p[i];
        hb_printf(out, "cut %.*s of %lld:", HB_ARG(c->name), (long long)c->size);
        for (int k = 0; k < c->n; k++)
            hb_printf(out, " %lld", (long long)c->table[k]);
        hb_putc(out, '\n');
    }
    for (int c = 0; c < m->n_classes; c++)
        hb_printf(out, "class %d: local %lld, symmetric %lld bytes\n", c,
                  (long long)p->local_bytes[c], (long long)p->sym_bytes);
    int loop = 0;
    const syn_pair *x = p->pairs.p, *end = x + p->pairs.n;
    for (int i = 0; i < p->instr.n; i++) {
        if (loop < p->loops.n && p->loops.p[loop].first == i)
            hb_printf(out, "loop %.*s: %d x %d\n", HB_ARG(p->loops.p[loop].name),
                      p->loops.p[loop].count, p->loops.p[loop].len);
        if (x < end && i == x->first) print_pair(out, x);
        print_instr(out, p, &p->instr.p[i]);
        if (x < end && i == x->first + x->len - 1) {
            hb_puts(out, "paired\n");
            x++;
        }
        if (loop < p->loops.n &&
            i + 1 == p->loops.p[loop].first + p->loops.p[loop].len * p->loops.p[loop].count) {
            hb_puts(out, "end\n");
            loop++;
        }
    }
}
