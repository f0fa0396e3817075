// Value numbering of the graph, and the lookup from a call to the nodes it may stand for.
//
// The key of a node is its op, the values of its operands and its attributes, as bytes; equal keys
// mean equal results (random rows carry their own `key` attribute). Keys are looked up in a hash
// table, so the whole walk is linear in the number of calls.

#include "synth/certify/check_model.h"

#include <math.h>
#include <string.h>

static double canonical(double f) // -0 is 0, every NaN is one
{
    return isnan(f) ? (double)NAN : f + 0.0;
}

bool chk_attr_eq(const ir_attr *a, const ir_attr *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case IR_ATTR_INT:
    case IR_ATTR_DTYPE:
        return a->i == b->i;
    case IR_ATTR_BOOL:
        return (a->i != 0) == (b->i != 0);
    case IR_ATTR_REAL:
        return (isnan(a->f) && isnan(b->f)) ||
               !(a->f < b->f || a->f > b->f || isnan(a->f) || isnan(b->f));
    case IR_ATTR_INTS:
        return a->n == b->n && (a->n == 0 || memcmp(a->v, b->v, (size_t)a->n * sizeof *a->v) == 0);
    }
    return false;
}

static void put(hb_buf *b, const void *p, size_t n)
{
    hb_putn(b, p, n);
}

static hb_str key_of(hb_arena *a, int op, int n_in, const int *in, const ir_attr *attr)
{
    const ir_op_info *row = ir_op_of((ir_op)op);
    hb_buf b = {.arena = a};
    put(&b, &op, sizeof op);
    put(&b, &n_in, sizeof n_in);
    put(&b, in, (size_t)n_in * sizeof *in);
    for (int k = 0; k < row->n_attr; k++) {
        int64_t i = attr[k].i;
        double f;
        switch (row->attr[k].kind) {
        case IR_ATTR_BOOL:
            i = i != 0;
            put(&b, &i, sizeof i);
            break;
        case IR_ATTR_INT:
        case IR_ATTR_DTYPE:
            put(&b, &i, sizeof i);
            break;
        case IR_ATTR_REAL:
            f = canonical(attr[k].f);
            put(&b, &f, sizeof f);
            break;
        case IR_ATTR_INTS:
            put(&b, &attr[k].n, sizeof attr[k].n);
            put(&b, attr[k].v, (size_t)attr[k].n * sizeof *attr[k].v);
            break;
        }
    }
    return hb_done(&b);
}

static void chain_equal(chk *c)
{
    int *last = HB_ARRAY(c->a, int, c->n_values + 1);
    for (int v = 0; v < c->n_values; v++)
        last[v] = -1;
    for (int t = 0; t < c->g->tensors.n; t++) {
        int v = c->value_of[t];
        c->equal_next[t] = -1;
        if (last[v] >= 0)
            c->equal_next[last[v]] = t;
        else
            c->tensor_of[v] = t;
        last[v] = t;
    }
}

void chk_number(chk *c)
{
    const ir_graph *g = c->g;
    int n_t = g->tensors.n, n_n = g->nodes.n;
    c->value_of = HB_ARRAY(c->a, int, n_t + 1);
    c->tensor_of = HB_ARRAY(c->a, int, n_t + 1);
    c->alike_first = HB_ARRAY(c->a, int, n_n + 1);
    c->alike_next = HB_ARRAY(c->a, int, n_n + 1);
    c->equal_next = HB_ARRAY(c->a, int, n_t + 1);
    int *tail = HB_ARRAY(c->a, int, n_n + 1);
    c->alike = hb_map_new(c->a);
    for (int t = 0; t < n_t; t++) {
        c->value_of[t] = -1;
        if (g->tensors.p[t].producer < 0) {
            c->tensor_of[c->n_values] = t;
            c->value_of[t] = c->n_values++;
        }
    }
    int n_alike = 0;
    for (int n = 0; n < n_n; n++) {
        const ir_node *v = &g->nodes.p[n];
        int in[IR_MAX_IN];
        for (int i = 0; i < v->n_in; i++)
            in[i] = c->value_of[v->in[i]];
        hb_str key = key_of(c->a, v->op, v->n_in, in, v->attr);
        int alike = hb_map_get(c->alike, key);
        c->alike_next[n] = -1;
        if (alike >= 0) {
            const ir_node *first = &g->nodes.p[c->alike_first[alike]];
            c->alike_next[tail[alike]] = n;
            tail[alike] = n;
            for (int o = 0; o < v->n_out && o < first->n_out; o++)
                c->value_of[v->out[o]] = c->value_of[first->out[o]];
            continue;
        }
        hb_map_put(c->alike, key, n_alike);
        c->alike_first[n_alike] = tail[n_alike] = n;
        n_alike++;
        for (int o = 0; o < v->n_out; o++) {
            c->tensor_of[c->n_values] = v->out[o];
            c->value_of[v->out[o]] = c->n_values++;
        }
    }
    chain_equal(c);
}

static hb_str attr_text(hb_arena *a, const ir_attr *v)
{
    hb_buf b = {.arena = a};
    switch (v->kind) {
    case IR_ATTR_INT:
        hb_printf(&b, "%lld", (long long)v->i);
        break;
    case IR_ATTR_BOOL:
        hb_puts(&b, v->i ? "true" : "false");
        break;
    case IR_ATTR_DTYPE:
        hb_puts(&b, v->i >= 0 && v->i < IR_N_DTYPES ? ir_dtype_name((ir_dtype)v->i) : "?");
        break;
    case IR_ATTR_REAL:
        hb_printf(&b, "%.17g", v->f);
        break;
    case IR_ATTR_INTS:
        for (int i = 0; i < v->n; i++)
            hb_printf(&b, "%s%lld", i ? "," : "", (long long)v->v[i]);
        break;
    }
    return hb_done(&b);
}

// How node n differs from the call: a score (higher is nearer) and the first difference in words.
static int distance(chk *c, int n, const rec_call *call, const int *in, hb_str *what)
{
    const ir_node *v = &c->g->nodes.p[n];
    const ir_op_info *row = ir_op_of(v->op);
    int score = 0;
    bool said = false;
    for (int i = 0; i < v->n_in && i < call->n_in; i++) {
        int need = c->value_of[v->in[i]];
        if (need == in[i]) {
            score += 2;
        } else if (!said) {
            said = true;
            *what = hb_fmt(c->a, "operand %d holds %.*s, node %.*s reads %.*s", i,
                           HB_ARG(chk_name(c, in[i])), HB_ARG(v->name), HB_ARG(chk_name(c, need)));
        }
    }
    if (v->n_in != call->n_in && !said) {
        said = true;
        *what = hb_fmt(c->a, "%d operands, node %.*s has %d", call->n_in, HB_ARG(v->name), v->n_in);
    }
    for (int k = 0; k < row->n_attr; k++) {
        if (chk_attr_eq(&v->attr[k], &call->attr[k])) {
            score++;
        } else if (!said) {
            said = true;
            *what = hb_fmt(c->a, "attribute %s is %.*s, node %.*s has %.*s", row->attr[k].name,
                           HB_ARG(attr_text(c->a, &call->attr[k])), HB_ARG(v->name),
                           HB_ARG(attr_text(c->a, &v->attr[k])));
        }
    }
    return score;
}

int chk_find(chk *c, const rec_call *call, const int *in_values, hb_str *why_not)
{
    int alike = hb_map_get(c->alike, key_of(c->a, call->op, call->n_in, in_values, call->attr));
    if (alike >= 0) return c->alike_first[alike];
    int best = -1;
    *why_not = HB_STR("the graph has no such node");
    for (int n = 0; n < c->g->nodes.n; n++) {
        if ((int)c->g->nodes.p[n].op != call->op) continue;
        hb_str what = HB_STR("");
        int score = distance(c, n, call, in_values, &what);
        if (score > best && what.n > 0) {
            best = score;
            *why_not = what;
        }
    }
    return -1;
}
