// Nodes of a graph file: op, operands, attributes, outputs; shapes inferred as they are read.

#include "ir/reader.h"

#include "ir/shapes.h"

#include <string.h>

static void hint_op(ir_reader *r, hb_str name)
{
    const char *names[IR_N_ALL_OPS];
    int n = 0;
    for (int op = 0; op < IR_N_ALL_OPS; op++)
        if (op != IR_N_OPS && (ir_op_of((ir_op)op)->flags & IR_USER))
            names[n++] = ir_op_of((ir_op)op)->name;
    const char *near = hb_nearest(name, names, n);
    if (near) hb_hint(r->d, "did you mean '%s'?", near);
}

static void hint_tensor(ir_reader *r, hb_str name)
{
    const char **names = HB_ARRAY(r->a, const char *, r->g->tensors.n + 1);
    for (int i = 0; i < r->g->tensors.n; i++)
        names[i] = r->g->tensors.p[i].name.p;
    const char *near = hb_nearest(name, names, r->g->tensors.n);
    if (near) hb_hint(r->d, "did you mean '%s'?", near);
}

int rd_tensor(ir_reader *r, const hb_tree *t)
{
    hb_str name;
    if (!rd_text(r, t, &name)) return IR_UNKNOWN;
    int id = hb_map_get(r->tensors, name);
    if (id != IR_UNKNOWN) return id;
    int line = hb_map_get(r->produced_by, name);
    if (line >= 0) {
        rd_error(r, t->at, "tensor '%.*s' is used before it is produced", HB_ARG(name));
        hb_hint(r->d, "it is an output of the node on line %d", line);
    } else {
        rd_error(r, t->at, "unknown tensor '%.*s'", HB_ARG(name));
        hint_tensor(r, name);
    }
    return IR_UNKNOWN;
}

static bool read_op(ir_reader *r, const hb_tree *node, ir_op *op)
{
    const hb_tree *t = rd_need(r, node, "op", "the node", HB_TEXT);
    if (!t) return false;
    int found = ir_op_parse(t->s);
    if (found < 0) {
        rd_error(r, t->at, "unknown op '%.*s'", HB_ARG(t->s));
        hint_op(r, t->s);
        return false;
    }
    *op = (ir_op)found;
    if (!(ir_op_of(*op)->flags & IR_USER)) {
        rd_error(r, t->at, "op '%.*s' is hapc's own and may not stand in a graph file",
                 HB_ARG(t->s));
        return false;
    }
    return true;
}

static bool read_operands(ir_reader *r, const hb_tree *node, ir_node *n)
{
    const ir_op_info *info = ir_op_of(n->op);
    const hb_tree *t = hb_get(node, "in");
    bool good = true;
    if (t && !rd_is(r, t, HB_LIST)) return false;
    int count = t ? t->n : 0;
    if (count < info->min_in || count > info->max_in) {
        hb_pos at = t ? t->at : node->at;
        if (info->min_in == info->max_in)
            rd_error(r, at, "%s takes %d operand%s, not %d", info->name, info->min_in,
                     info->min_in == 1 ? "" : "s", count);
        else
            rd_error(r, at, "%s takes %d to %d operands, not %d", info->name, info->min_in,
                     info->max_in, count);
        return false;
    }
    for (int i = 0; i < count; i++) {
        n->in[i] = rd_tensor(r, t->v[i]);
        good = good && n->in[i] >= 0;
    }
    n->n_in = count;
    return good;
}

static bool read_attrs(ir_reader *r, const hb_tree *node, ir_node *n)
{
    const ir_op_info *info = ir_op_of(n->op);
    const hb_tree *t = hb_get(node, "attrs");
    const char *names[IR_MAX_ATTR];
    bool good = true;
    if (t && !rd_is(r, t, HB_TABLE)) return false;
    for (int i = 0; i < info->n_attr; i++)
        names[i] = info->attr[i].name;
    int before = hb_diag_count(r->d);
    if (t) hb_only_keys(t, names, info->n_attr, r->src, r->d);
    good = hb_diag_count(r->d) == before;
    for (int i = 0; i < info->n_attr; i++) {
        n->attr[i] = info->attr[i].value;
        const hb_tree *v = t ? hb_get(t, names[i]) : NULL;
        if (v) {
            good = rd_attr(r, v, &n->attr[i]) && good;
        } else if (!info->attr[i].has_default) {
            rd_error(r, t ? t->at : node->at, "%s needs the attribute '%s'", info->name, names[i]);
            good = false;
        }
    }
    return good;
}

// Negative dims count from the end.
static void count_from_end(const ir_graph *g, ir_node *n)
{
    int64_t rank = n->n_in > 0 ? g->tensors.p[n->in[0]].rank : 0;
    const ir_op_info *info = ir_op_of(n->op);
    for (int i = 0; i < info->n_attr; i++) {
        const char *name = info->attr[i].name;
        if (strcmp(name, "dim") == 0 && n->attr[i].i < 0) n->attr[i].i += rank;
        if (strcmp(name, "dims") == 0 || strcmp(name, "perm") == 0)
            for (int k = 0; k < n->attr[i].n; k++)
                if (n->attr[i].v[k] < 0) n->attr[i].v[k] += rank;
    }
}

// dropout and sdpa: the node's place in the file makes its random numbers its own, under every
// plan.
static void give_key(ir_node *n, int index)
{
    if (!(ir_op_of(n->op)->flags & IR_RANDOM)) return;
    double p = n->attr[ir_attr_index(n->op, n->op == IR_OP_dropout ? "p" : "dropout")].f;
    int64_t *key = &n->attr[ir_attr_index(n->op, "key")].i;
    if (p > 0 && *key == 0) *key = index + 1;
}

static void declare_output(ir_reader *r, const hb_tree *t, hb_str name, ir_node *n, int i,
                           ir_tensor form, hb_pos at)
{
    ir_graph *g = r->g;
    int id = hb_map_get(r->tensors, name);
    if (id >= 0) { // declared under "tensors" with kind value
        ir_tensor *have = &g->tensors.p[id];
        bool same = have->dtype == form.dtype && have->rank == form.rank &&
                    memcmp(have->dim, form.dim, sizeof(int64_t) * (size_t)form.rank) == 0;
        if (!same)
            rd_error(r, t->at, "'%.*s' is %s %.*s here but declared as %s %.*s", HB_ARG(name),
                     ir_dtype_name(form.dtype), HB_ARG(ir_shape_text(r->a, form.rank, form.dim)),
                     ir_dtype_name(have->dtype),
                     HB_ARG(ir_shape_text(r->a, have->rank, have->dim)));
    } else {
        id = ir_add_tensor(g, name, IR_VALUE, form.dtype, form.rank, form.dim);
        hb_map_put(r->tensors, name, id);
    }
    g->tensors.p[id].producer = g->nodes.n;
    g->tensors.p[id].out = i;
    g->tensors.p[id].at = at;
    n->out[i] = id;
    rd_size_ok(r, at, &g->tensors.p[id]);
}

// Names of the outputs; false if they clash with something.
static bool read_outputs(ir_reader *r, const hb_tree *node, const hb_tree **outs)
{
    const hb_tree *t = rd_need(r, node, "out", "the node", HB_LIST);
    bool good = true;
    *outs = t;
    if (!t) return false;
    for (int i = 0; i < t->n; i++) {
        hb_str name;
        if (!rd_text(r, t->v[i], &name)) {
            good = false;
            continue;
        }
        int id = hb_map_get(r->tensors, name);
        bool twice = id == IR_POISONED;
        if (id >= 0) {
            const ir_tensor *have = &r->g->tensors.p[id];
            twice = have->kind != IR_VALUE || have->producer >= 0;
        }
        for (int k = 0; k < i; k++)
            twice = twice || (t->v[k]->kind == HB_TEXT && hb_str_eq(t->v[k]->s, name));
        if (twice) {
            rd_error(r, t->v[i]->at, "tensor '%.*s' has a value already", HB_ARG(name));
            good = false;
        }
    }
    return good;
}

static void poison(ir_reader *r, const hb_tree *outs)
{
    for (int i = 0; outs && outs->kind == HB_LIST && i < outs->n; i++)
        if (outs->v[i]->kind == HB_TEXT && hb_map_get(r->tensors, outs->v[i]->s) == IR_UNKNOWN)
            hb_map_put(r->tensors, outs->v[i]->s, IR_POISONED);
}

static bool read_name(ir_reader *r, const hb_tree *node, ir_node *n)
{
    const hb_tree *t = rd_need(r, node, "name", "the node", HB_TEXT);
    if (!t || !rd_text(r, t, &n->name)) return false;
    if (hb_map_get(r->nodes, n->name) >= 0) {
        rd_error(r, t->at, "node '%.*s' stands twice", HB_ARG(n->name));
        return false;
    }
    hb_map_put(r->nodes, n->name, 1);
    return true;
}

// A name for an output the file does not name: FIRST.i, or the first such name that is free.
static hb_str rest_name(ir_reader *r, hb_str first, int i)
{
    hb_str name = hb_fmt(r->a, "%.*s.%d", HB_ARG(first), i);
    while (hb_map_get(r->tensors, name) != IR_UNKNOWN || hb_map_get(r->produced_by, name) >= 0)
        name = hb_fmt(r->a, "%.*s_", HB_ARG(name));
    return name;
}

static void read_node(ir_reader *r, const hb_tree *node, int index)
{
    static const char *const keys[] = {"name", "op", "in", "out", "attrs", "from"};
    ir_graph *g = r->g;
    ir_node n = {.phase = IR_FORWARD, .at = node->at, .forward = g->nodes.n};
    if (!rd_is(r, node, HB_TABLE)) return;
    const hb_tree *outs = NULL;
    hb_only_keys(node, keys, 6, r->src, r->d);
    bool good = read_name(r, node, &n);
    const hb_tree *from = hb_get(node, "from");
    if (from && rd_is(r, from, HB_TEXT)) n.from = from->s;
    good = read_op(r, node, &n.op) && good;
    if (good) {
        good = read_operands(r, node, &n);
        good = read_attrs(r, node, &n) && good;
    }
    good = read_outputs(r, node, &outs) && good;
    if (!good) {
        poison(r, outs);
        return;
    }
    n.at = hb_get(node, "name")->at;
    count_from_end(g, &n);
    give_key(&n, index);
    ir_tensor form[IR_MAX_OUT] = {0};
    hb_str why = {0};
    if (!ir_infer(g, &n, form, r->a, &why)) {
        rd_error(r, hb_get(node, "op")->at, "%.*s", HB_ARG(why));
        poison(r, outs);
        return;
    }
    n.n_out = ir_node_outs(&n);
    if (outs->n < 1 || outs->n > n.n_out) {
        rd_error(r, outs->at, "%s has %d output%s, not %d", ir_op_of(n.op)->name, n.n_out,
                 n.n_out == 1 ? "" : "s", outs->n);
        poison(r, outs);
        return;
    }
    for (int i = 0; i < n.n_out; i++) {
        bool named = i < outs->n;
        hb_str name = named ? outs->v[i]->s : rest_name(r, outs->v[0]->s, i);
        declare_output(r, named ? outs->v[i] : outs, name, &n, i, form[i],
                       named ? outs->v[i]->at : outs->at);
    }
    HB_PUSH(r->a, &g->nodes, n);
}

void rd_nodes(ir_reader *r, const hb_tree *nodes)
{
    for (int i = 0; i < nodes->n; i++) {
        const hb_tree *outs = hb_get(nodes->v[i], "out");
        for (int k = 0; outs && outs->kind == HB_LIST && k < outs->n; k++)
            if (outs->v[k]->kind == HB_TEXT)
                hb_map_put(r->produced_by, outs->v[k]->s, nodes->v[i]->at.line);
    }
    for (int i = 0; i < nodes->n; i++)
        read_node(r, nodes->v[i], i);
}
