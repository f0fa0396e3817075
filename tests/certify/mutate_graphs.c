// Faults of the graphs that a step was cut into.

#include <math.h>
#include <string.h>

#include "tests/certify/mutate_stages_parts.h"

static const ir_graph *graph(const sf *x, int s)
{
    return x->was->cut->graph[s];
}

static bool ends(const ir_node *n, unsigned end)
{
    return (ir_op_of(n->op)->flags & IR_PORT & end) != 0;
}

static bool same_sizes(const ir_tensor *x, const ir_tensor *y)
{
    return x->dtype == y->dtype && x->rank == y->rank &&
           memcmp(x->dim, y->dim, sizeof *x->dim * (size_t)x->rank) == 0;
}

// --- nodes ---

// Another value of the same sizes that is there before node k: not what was sent of this one.
static int other_value(const ir_graph *g, int k, int t)
{
    for (int o = g->tensors.n - 1; o >= 0; o--) {
        const ir_tensor *v = &g->tensors.p[o];
        if (o == t || v->producer >= k || !same_sizes(v, &g->tensors.p[t])) continue;
        if (v->producer >= 0 && ends(&g->nodes.p[v->producer], IR_SEND)) continue;
        return o;
    }
    return -1;
}

// received: operands that come from another stage, or those that do not.
static bool operand(sf *x, bool received)
{
    for (int s = 0; s < x->was->n; s++)
        for (int k = 0; k < graph(x, s)->nodes.n; k++) {
            const ir_node *n = &graph(x, s)->nodes.p[k];
            for (int i = 0; i < n->n_in; i++) {
                int by = graph(x, s)->tensors.p[n->in[i]].producer;
                bool comes = by >= 0 && ends(&graph(x, s)->nodes.p[by], IR_RECV);
                int o = comes == received ? other_value(graph(x, s), k, n->in[i]) : -1;
                if (o < 0 || !sf_here(x, s)) continue;
                sf_graph(x, s)->nodes.p[k].in[i] = o;
                return true;
            }
        }
    return false;
}

bool sf_graph_operand(sf *x)
{
    return operand(x, false);
}

bool sf_graph_own_value(sf *x)
{
    return operand(x, true);
}

bool sf_graph_attribute(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int k = 0; k < graph(x, s)->nodes.n; k++) {
            const ir_node *n = &graph(x, s)->nodes.p[k];
            const ir_op_info *op = ir_op_of(n->op);
            for (int q = 0; q < op->n_attr && !ends(n, IR_PORT); q++) {
                // Keys are not used where nothing is dropped.
                if (strcmp(op->attr[q].name, "key") == 0 || !sf_here(x, s)) continue;
                ir_attr *v = &sf_graph(x, s)->nodes.p[k].attr[q];
                if (op->attr[q].kind == IR_ATTR_REAL) v->f = nextafter(v->f, 1e30);
                if (op->attr[q].kind == IR_ATTR_BOOL) v->i = !v->i;
                if (op->attr[q].kind == IR_ATTR_INT || op->attr[q].kind == IR_ATTR_DTYPE) v->i++;
                if (op->attr[q].kind == IR_ATTR_INTS) v->v[0]++, v->n += v->n == 0;
                return true;
            }
        }
    return false;
}

bool sf_graph_not_added(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int k = 0; k < graph(x, s)->nodes.n; k++) {
            if (!graph(x, s)->nodes.p[k].adds || !sf_here(x, s)) continue;
            sf_graph(x, s)->nodes.p[k].adds = false;
            return true;
        }
    return false;
}

bool sf_graph_once(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int k = 0; k < graph(x, s)->nodes.n; k++) {
            const ir_node *n = &graph(x, s)->nodes.p[k];
            if (!ir_in_slot(n->turn) || ends(n, IR_PORT) || !sf_here(x, s)) continue;
            sf_graph(x, s)->nodes.p[k].turn = IR_BEFORE;
            return true;
        }
    return false;
}

// --- homes ---

bool sf_graph_kept(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int u = 0; u < graph(x, s)->updates.n; u++) {
            if (!sf_here(x, s)) continue;
            ir_update *w = &sf_graph(x, s)->updates.p[u];
            w->next = w->tensor;
            return true;
        }
    return false;
}

bool sf_graph_updates(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int u = 1; u < graph(x, s)->updates.n; u++) {
            if (!sf_here(x, s)) continue;
            ir_update *w = &sf_graph(x, s)->updates.p[u];
            int next = w->next;
            w->next = w[-1].next;
            w[-1].next = next;
            return true;
        }
    return false;
}

bool sf_graph_no_home(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int u = 0; u < graph(x, s)->updates.n; u++) {
            if (!sf_here(x, s)) continue;
            ir_graph *g = sf_graph(x, s);
            g->updates.p[u] = g->updates.p[--g->updates.n];
            return true;
        }
    return false;
}

bool sf_graph_two_homes(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int u = 0; u < graph(x, s)->updates.n; u++) {
            if (!sf_here(x, s)) continue;
            ir_update again = graph(x, s)->updates.p[u];
            HB_PUSH(x->a, &sf_graph(x, s)->updates, again);
            return true;
        }
    return false;
}

// --- what the step declares ---

static bool is_leaf(const ir_tensor *t)
{
    return t->kind != IR_VALUE;
}

// Trades names with the one before it of its kind and sizes.
bool sf_graph_names(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int t = 0; t < graph(x, s)->tensors.n; t++) {
            const ir_tensor *v = graph(x, s)->tensors.p;
            int o = is_leaf(&v[t]) && v[t].kind != IR_CONST ? t - 1 : -1;
            while (o >= 0 && (v[o].kind != v[t].kind || !same_sizes(&v[o], &v[t])))
                o--;
            if (o < 0 || !sf_here(x, s)) continue;
            ir_tensor *to = sf_graph(x, s)->tensors.p;
            hb_str name = to[t].name;
            to[t].name = to[o].name;
            to[o].name = name;
            return true;
        }
    return false;
}

static ir_tensor *leaf(sf *x, bool filled)
{
    for (int s = 0; s < x->was->n; s++)
        for (int t = 0; t < graph(x, s)->tensors.n; t++) {
            const ir_tensor *v = &graph(x, s)->tensors.p[t];
            bool has = v->kind == IR_PARAM || v->kind == IR_BUFFER || v->kind == IR_CONST;
            if (!is_leaf(v) || (filled && !has) || !sf_here(x, s)) continue;
            return &sf_graph(x, s)->tensors.p[t];
        }
    return NULL;
}

bool sf_graph_init(sf *x)
{
    ir_tensor *t = leaf(x, true);
    if (!t) return false;
    if (t->init.kind == IR_INIT_STORED)
        t->init.stored = hb_fmt(x->a, "%.*s'", HB_ARG(t->init.stored));
    else
        t->init.a += 1;
    return true;
}

bool sf_graph_size(sf *x)
{
    ir_tensor *t = leaf(x, false);
    if (!t) return false;
    if (t->rank == 0)
        t->dim[t->rank++] = 2;
    else
        t->dim[t->rank - 1]++;
    return true;
}

bool sf_graph_type(sf *x)
{
    ir_tensor *t = leaf(x, false);
    if (!t) return false;
    t->dtype = (ir_dtype)((t->dtype + 1) % IR_N_DTYPES);
    return true;
}

bool sf_graph_rate(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        if (graph(x, s)->opt.name.n == 0 || !sf_here(x, s)) continue;
        sf_graph(x, s)->opt.lr *= 2;
        return true;
    }
    return false;
}

bool sf_graph_precision(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        if (!sf_here(x, s)) continue;
        ir_graph *g = sf_graph(x, s);
        g->precision = g->precision == IR_PRECISION_TF32 ? IR_PRECISION_FP32 : IR_PRECISION_TF32;
        return true;
    }
    return false;
}

bool sf_graph_batch(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        if (!sf_here(x, s)) continue;
        sf_graph(x, s)->batch++;
        return true;
    }
    return false;
}

bool sf_graph_micro(sf *x)
{
    for (int s = 0; s < x->was->n; s++) {
        if (graph(x, s)->micro_batches < 2 || !sf_here(x, s)) continue;
        sf_graph(x, s)->micro_batches--;
        return true;
    }
    return false;
}

// A parameter but this one; -1.
static int other_parameter(const ir_graph *g, int t)
{
    for (int o = 0; o < g->tensors.n; o++)
        if (o != t && g->tensors.p[o].kind == IR_PARAM) return o;
    return -1;
}

// It is left out, or names another parameter.
bool sf_graph_alias(sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        for (int i = 0; i < graph(x, s)->n_alias; i++)
            for (int left_out = 0; left_out < 2; left_out++) {
                int o = other_parameter(graph(x, s), graph(x, s)->alias[i].tensor);
                if ((!left_out && o < 0) || !sf_here(x, s)) continue;
                ir_graph *g = sf_graph(x, s);
                g->alias = hb_copy(x->a, g->alias, sizeof *g->alias * (size_t)g->n_alias);
                if (left_out)
                    g->alias[i] = g->alias[--g->n_alias];
                else
                    g->alias[i].tensor = o;
                return true;
            }
    return false;
}

// --- losses ---

// The stage with the loss.
static int with_loss(const sf *x)
{
    for (int s = 0; s < x->was->n; s++)
        if (graph(x, s)->loss >= 0) return s;
    return -1;
}

bool sf_graph_no_loss(sf *x)
{
    int s = with_loss(x);
    if (s < 0 || !sf_here(x, s)) return false;
    sf_graph(x, s)->loss = -1;
    return true;
}

bool sf_graph_other_loss(sf *x)
{
    int s = with_loss(x);
    for (int t = 0; s >= 0 && t < graph(x, s)->tensors.n; t++) {
        const ir_tensor *v = &graph(x, s)->tensors.p[t];
        if (t == graph(x, s)->loss || v->rank > 0 ||
            (v->producer >= 0 && ends(&graph(x, s)->nodes.p[v->producer], IR_SEND)) ||
            !sf_here(x, s))
            continue;
        sf_graph(x, s)->loss = t;
        return true;
    }
    return false;
}

bool sf_graph_two_losses(sf *x)
{
    for (int s = 0; s < x->was->n && with_loss(x) >= 0; s++) {
        if (graph(x, s)->loss >= 0 || !sf_here(x, s)) continue;
        sf_graph(x, s)->loss = graph(x, s)->tensors.n - 1;
        return true;
    }
    return false;
}

// --- ports ---

static ir_node *an_end(sf *x)
{
    for (int i = 0; i < x->was->cut->ports.n; i++)
        for (int end = 0; end < 2; end++) {
            const ir_port *q = &x->was->cut->ports.p[i];
            int s = end ? q->to : q->from;
            if (sf_here(x, s)) return &sf_graph(x, s)->nodes.p[end ? q->recv : q->send];
        }
    return NULL;
}

bool sf_graph_port(sf *x)
{
    ir_node *n = an_end(x);
    if (n) n->attr[ir_attr_index(n->op, "port")].i++;
    return n != NULL;
}

bool sf_graph_message(sf *x)
{
    ir_node *n = an_end(x);
    if (n) n->attr[ir_attr_index(n->op, "first")].i++;
    return n != NULL;
}

bool sf_graph_step(sf *x)
{
    ir_node *n = an_end(x);
    if (n) n->step = !n->step;
    return n != NULL;
}

bool sf_graph_turn(sf *x)
{
    ir_node *n = an_end(x);
    if (n) n->turn = n->turn == IR_SLOT ? IR_SLOT_BACK : IR_SLOT;
    return n != NULL;
}

bool sf_graph_crossed(sf *x)
{
    const ir_port *q = x->was->cut->ports.p;
    for (int i = 0; i < x->was->cut->ports.n; i++)
        for (int j = 0; j < i; j++) {
            if (q[i].to != q[j].to || q[i].turn != q[j].turn || !sf_here(x, q[i].to)) continue;
            ir_node *n = sf_graph(x, q[i].to)->nodes.p;
            ir_port *p = x->p->cut->ports.p;
            n[q[i].recv].attr[ir_attr_index(IR_OP_recv, "port")].i = j;
            n[q[j].recv].attr[ir_attr_index(IR_OP_recv, "port")].i = i;
            p[i].recv = q[j].recv;
            p[j].recv = q[i].recv;
            return true;
        }
    return false;
}
