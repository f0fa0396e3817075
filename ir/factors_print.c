// Factors as text (`hapc -d f`): classes, then every tensor with its dims, then every node's rule.

#include "ir/factors.h"

// h12; h2:12 where the letter itself ends in a digit
static void print_class(hb_buf *out, const ir_class *c)
{
    if (c->size == 1)
        hb_putc(out, '1');
    else
        hb_printf(out, "%s%s%lld", c->letter, c->letter[1] ? ":" : "", (long long)c->size);
}

static void print_dim(hb_buf *out, const ir_factors *f, const ir_dim_factors *d)
{
    for (int i = 0; i < d->n; i++) {
        if (i) hb_putc(out, '.');
        print_class(out, &f->cls[d->cls[i]]);
    }
}

static void print_rule_dims(hb_buf *out, const ir_rule_dim *dims, int rank)
{
    for (int d = 0; d < rank; d++) {
        hb_puts(out, d ? " " : "");
        for (int i = 0; i < dims[d].n; i++)
            if (dims[d].f[i] < 0)
                hb_printf(out, "%s1", i ? "." : "");
            else
                hb_printf(out, "%s%d", i ? "." : "", dims[d].f[i]);
    }
}

static void print_rule(hb_buf *out, const ir_graph *g, const ir_factors *f, int node)
{
    const ir_node *n = &g->nodes.p[node];
    const ir_rule *r = f->rule[node];
    hb_printf(out, "%.*s: %s  ", HB_ARG(n->name), ir_op_of(n->op)->name);
    for (int i = 0; i < n->n_in; i++) {
        if (i) hb_puts(out, r->term[i] != r->term[i - 1] ? " + " : ", ");
        print_rule_dims(out, r->in[i], g->tensors.p[n->in[i]].rank);
    }
    hb_puts(out, " -> ");
    for (int i = 0; i < n->n_out; i++) {
        hb_puts(out, i ? ", " : "");
        print_rule_dims(out, r->out[i], g->tensors.p[n->out[i]].rank);
    }
    hb_puts(out, "  with");
    for (int k = 0; k < r->n_factors; k++) {
        hb_printf(out, " %d=", k);
        print_class(out, &f->cls[r->factor[k].cls]);
        if (r->factor[k].whole) hb_putc(out, '!');
    }
    hb_putc(out, '\n');
}

void ir_factors_print(hb_buf *out, const ir_graph *g, const ir_factors *f)
{
    for (int c = 0; c < f->n_classes; c++)
        hb_printf(out, "class %d %s size %lld%s%s\n", c, f->cls[c].letter,
                  (long long)f->cls[c].size, f->cls[c].whole ? " whole" : "",
                  f->cls[c].batch ? " batch" : "");
    for (int t = 0; t < g->tensors.n; t++) {
        hb_printf(out, "%.*s [", HB_ARG(g->tensors.p[t].name));
        for (int d = 0; d < g->tensors.p[t].rank; d++) {
            hb_puts(out, d ? " " : "");
            print_dim(out, f, &f->dim[t][d]);
        }
        hb_puts(out, "]\n");
    }
    for (int i = 0; i < g->nodes.n; i++)
        print_rule(out, g, f, i);
}
