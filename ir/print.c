// The graph as text (`hapc -d g`): one line a tensor that is not computed, one a node.

#include "ir/graph.h"

#include "ir/shapes.h"

static void print_form(hb_buf *out, const ir_tensor *t)
{
    hb_printf(out, "%s[", ir_dtype_name(t->dtype));
    for (int i = 0; i < t->rank; i++)
        hb_printf(out, "%s%lld", i ? " " : "", (long long)t->dim[i]);
    hb_putc(out, ']');
}

static void print_init(hb_buf *out, const ir_init *i)
{
    switch (i->kind) {
    case IR_INIT_CONST:
        hb_printf(out, " = %.9g", i->a);
        break;
    case IR_INIT_NORMAL:
        hb_printf(out, " = normal %.9g", i->a);
        break;
    case IR_INIT_UNIFORM:
        hb_printf(out, " = uniform %.9g %.9g", i->a, i->b);
        break;
    case IR_INIT_IOTA:
        hb_printf(out, " = iota %.9g %.9g", i->a, i->b);
        break;
    case IR_INIT_STORED:
        hb_printf(out, " = %.*s", HB_ARG(i->stored));
        break;
    }
}

static void print_attr(hb_buf *out, const char *name, const ir_attr *a)
{
    hb_printf(out, " %s=", name);
    switch (a->kind) {
    case IR_ATTR_INT:
        hb_printf(out, "%lld", (long long)a->i);
        break;
    case IR_ATTR_REAL:
        hb_printf(out, "%.9g", a->f);
        break;
    case IR_ATTR_BOOL:
        hb_puts(out, a->i ? "true" : "false");
        break;
    case IR_ATTR_DTYPE:
        hb_puts(out, ir_dtype_name((ir_dtype)a->i));
        break;
    case IR_ATTR_INTS:
        hb_putc(out, '[');
        for (int i = 0; i < a->n; i++)
            hb_printf(out, "%s%lld", i ? " " : "", (long long)a->v[i]);
        hb_putc(out, ']');
        break;
    }
}

static void print_node(hb_buf *out, const ir_graph *g, const ir_node *n)
{
    const ir_op_info *r = ir_op_of(n->op);
    hb_puts(out, "  ");
    for (int i = 0; i < n->n_out; i++)
        hb_printf(out, "%s%.*s", i ? ", " : "", HB_ARG(g->tensors.p[n->out[i]].name));
    hb_printf(out, " = %s(", r->name);
    for (int i = 0; i < n->n_in; i++)
        hb_printf(out, "%s%.*s", i ? ", " : "", HB_ARG(g->tensors.p[n->in[i]].name));
    hb_putc(out, ')');
    for (int i = 0; i < r->n_attr; i++)
        print_attr(out, r->attr[i].name, &n->attr[i]);
    hb_puts(out, "  ");
    for (int i = 0; i < n->n_out; i++) {
        hb_puts(out, i ? ", " : "");
        print_form(out, &g->tensors.p[n->out[i]]);
    }
    hb_putc(out, '\n');
}

void ir_print(hb_buf *out, const ir_graph *g)
{
    static const char *const kinds[] = {"input", "param", "state", "buffer", "const", "value"};
    static const char *const phases[] = {"forward", "backward", "update"};
    for (int i = 0; i < g->tensors.n; i++) {
        const ir_tensor *t = &g->tensors.p[i];
        if (t->kind == IR_VALUE) continue;
        hb_printf(out, "%-6s %.*s ", kinds[t->kind], HB_ARG(t->name));
        print_form(out, t);
        if (t->kind == IR_INPUT && t->batch >= 0) hb_printf(out, " batch %d", t->batch);
        if (t->kind != IR_INPUT && t->kind != IR_STATE) print_init(out, &t->init);
        hb_putc(out, '\n');
    }
    int phase = -1;
    for (int i = 0; i < g->nodes.n; i++) {
        if ((int)g->nodes.p[i].phase != phase) {
            phase = (int)g->nodes.p[i].phase;
            hb_printf(out, "%s\n", phases[phase]);
        }
        print_node(out, g, &g->nodes.p[i]);
    }
    if (g->loss >= 0) hb_printf(out, "loss %.*s\n", HB_ARG(g->tensors.p[g->loss].name));
    for (int i = 0; i < g->updates.n; i++)
        hb_printf(out, "next %.*s = %.*s\n", HB_ARG(g->tensors.p[g->updates.p[i].tensor].name),
                  HB_ARG(g->tensors.p[g->updates.p[i].next].name));
    for (int i = 0; i < g->n_alias; i++)
        hb_printf(out, "alias %.*s = %.*s\n", HB_ARG(g->alias[i].name),
                  HB_ARG(g->tensors.p[g->alias[i].tensor].name));
}
